"""The configuration of a job: the properties that make two profiles comparable before postprocessing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore import environment
from perfcore.errors import UsageError

if TYPE_CHECKING:
    from perfcore.model import Job


def job_config_id(job: Job, identity: Mapping[str, Any], type: str) -> str:
    """The id of the configuration before postprocessing: command, workload by content, collector, and the
    type that the collector gave the profile, where it makes several."""
    collector = job.collector.name.rpartition(":")[2]  # the full name of a plugin is no other configuration
    type_key = {} if type == collector else {"type": type}
    return environment.config_id(
        {
            "argv": list(job.argv),
            "shell": job.shell,
            "env": dict(job.env),
            "workload": _workload_content(job),
            "collector": collector,
            "params": dict(identity),
            **type_key,
        }
    )


def _workload_content(job: Job) -> list[str]:
    """The words of a workload; one that is a file of the tree by its content, not its name. So is a generated one."""
    if job.workload_file is not None:
        content = _content(job.workload_file)
        if content is None:
            raise UsageError(f"the generated workload {job.workload} is not on this machine")
        return [content]
    import shlex

    try:
        words = shlex.split(job.workload)
    except ValueError:
        words = [job.workload]
    return [_content(job.cwd / word) or word for word in words]


def _content(path: Path) -> str | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return "sha1:" + hashlib.file_digest(file, "sha1").hexdigest()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the workload {path}: {error}") from error
