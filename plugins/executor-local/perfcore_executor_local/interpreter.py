"""The interpreter of Python that measures: that of the command, or of the environment of its version."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfcore.model import Job

_PYTHON = r"(python|pypy)[0-9.]*"
_FACTS = (
    "import json,os,platform,sys;print(json.dumps({'path':sys.executable,'real_path':os.path.realpath(sys.executable),"
    "'version':platform.python_version(),'implementation':platform.python_implementation()}))"
)
_TIMEOUT = 10  # seconds: an interpreter starts in some hundredths of one; a program that only has its name may hang


def interpreter_of(job: Job) -> Mapping[str, str] | None:
    """Path, version and implementation; None where no Python runs."""
    path = job.variables.get("PATH", os.environ.get("PATH", os.defpath))
    program = job.argv[0] if job.argv and not job.shell else ""
    if not re.fullmatch(_PYTHON, os.path.basename(program)):
        if not job.activation:
            return None
        own = path.partition(os.pathsep)[0]  # of the environment, not whatever Python the machine has
        program, path = "python", own
    named = str(job.cwd / program) if "/" in program else shutil.which(program, path=path)
    if named is None:
        return None
    try:
        done = subprocess.run(
            [named, "-I", "-S", "-c", _FACTS],
            env={**os.environ, **job.variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=True,
        )
        return {str(name): str(fact) for name, fact in json.loads(done.stdout).items()}
    except (OSError, subprocess.SubprocessError, ValueError, AttributeError):
        return None  # no Python, whatever its name is
