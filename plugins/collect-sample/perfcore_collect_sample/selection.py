"""The choice of the tool that samples a command."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore_collect_kit import command

from perfcore_collect_sample.kernel import KernelPerf
from perfcore_collect_sample.pyspy import PySpy

if TYPE_CHECKING:
    from perfcore.model import Job
    from perfcore_collect_sample.collector import SampleSettings
    from perfcore_collect_sample.tools import Tool

# `uv` is no Python itself: `uv run` starts one, which py-spy finds among the children.
_PYTHON = re.compile(r"(python|pypy)[0-9.]*(-dbg|d)?|uv|pytest")


def choose(job: Job, settings: SampleSettings) -> Tool:
    """The tool for a command; PluginError says why there is none."""
    program = command.spec(job).path
    tool_name = settings.tool
    if tool_name == "auto":
        tool_name = "py-spy" if not job.shell and _is_python(Path(os.fsdecode(program))) else "perf"
    return PySpy.find(settings) if tool_name == "py-spy" else KernelPerf.find(settings)


def _is_python(program: Path) -> bool:
    """Whether a program is an interpreter of Python, or a script for one."""
    if _PYTHON.fullmatch(program.name) or _PYTHON.fullmatch(program.resolve().name):
        return True
    with contextlib.suppress(OSError), program.open("rb") as file:
        first = file.readline(256)
        return first.startswith(b"#!") and b"python" in first
    return False
