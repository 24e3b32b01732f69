"""Errors of runs in the trees of versions: they name the version, and a remedy that `compare` and `bisect` have."""

from __future__ import annotations

from pathlib import Path

from perfcore_collect_kit import exit_status
from perfcore_executor_local.unbuilt import build_hint

from perfcore.errors import PerfError
from perfcore.model import Build, Job


def named_error(name: str, error: PerfError, hint: str | None = None) -> PerfError:
    """The error with the name of its program or version."""
    renamed = PerfError(f"{name}: {error}" if name else str(error), hint=hint or error.hint)
    renamed.exit_code = error.exit_code
    return renamed


def run_error(name: str, error: PerfError, job: Job, tree: Path | None, building: Build) -> PerfError:
    """The error of a run in the tree of a version; `tree` is None for the working tree."""
    hint = None if tree is None else build_hint(error, job, tree, building)
    return named_error(name, error, hint or _as_configuration(error.hint, job))


def _as_configuration(hint: str | None, job: Job) -> str | None:
    """A hint about an option of the collector as the configuration key: `compare` and `bisect` lack the option."""
    for name, value in exit_status.OPTIONS if hint else ():
        assert hint is not None
        setting = f"perf config set collector.{job.collector.name}.{name} {value or 'VALUE'}"
        hint = hint.replace(exit_status.option(name, value), setting)
    return hint
