"""The calls of the library that measure; `perfcore.library.History` has them. What measures is imported by them: most
verbs only read a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.model import Job, Step

if TYPE_CHECKING:
    from perfcore.measure.collect_result import CollectResult
    from perfcore.model.listener import Listener
    from perfcore.repository.repository import Repository

Command = str | Sequence[str]


class MeasureCalls:
    """Collect in `repository`."""

    repository: Repository

    def collect(
        self,
        collector: str,
        *commands: Command,
        workload: str | Sequence[str] = "",
        version: str | Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        tags: str | None = None,
        every: bool = False,
        last: int | None = None,
        step: int = 1,
        missing: bool = False,
        register: bool = False,
        build: bool = True,
        rebuild: bool = False,
        postprocess: Sequence[str] = (),
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        resume: bool = False,
        executor: str | None = None,
        strict: bool = True,
        listener: Listener | None = None,
        **options: Any,
    ) -> CollectResult:
        """Measure commands, interleaved, and save a pending profile of each, as `perf collect` does.

        A command is a list of words, or a text that is split into words as a shell would. `workload` is the last
        argument; of several each in turn. A `version`, a range `A..B`, or several, those after `since` and up to
        `until` (revisions or dates), those whose tag matches `tags`, or `every` one of the branch, of these the `last`
        and every `step`th, are measured in clean trees of their own, built as the configuration says; without one, the
        working tree. With `missing`, versions that have such a profile are left out; with `register`, profiles are
        registered at once. `resume` adds the missing runs to incomplete profiles; `executor` names what measures. `cwd`
        is a directory below the root of the tree. The other options are those of the schedule and the collector.

        The result is a sequence of saved profiles. Without `strict`, it has the `failures` as well; otherwise they are
        raised as one error when everything else is measured.
        """
        from perfcore.measure.collection import collect
        from perfcore.measure.request import MeasureRequest, configured_build, select_versions, working_directory
        from perfcore.measure.schedule import split_options
        from perfcore.model.listener import SilentListener
        from perfcore.model.record import replace

        schedule, params = split_options(options)
        common: dict[str, Any] = {
            "env": dict(env or {}),
            "cwd": working_directory(self.repository, None if cwd is None else Path(cwd)),
            "collector": Step(name=collector, params=params),
            "postprocessors": tuple(Step(name=name) for name in postprocess),
        }
        workloads = [workload] if isinstance(workload, str) else workload
        request = MeasureRequest(
            jobs=tuple(
                replace(command_job(command, load, shell), **common) for command in commands for load in workloads
            ),
            versions=select_versions(self.repository, version, since, every, until, tags, last=last, step=step),
            schedule=schedule,
            building=configured_build(self.repository, skip=not build, rebuild=rebuild),
            register=register,
            missing=missing,
            resume=resume,
            executor=executor,
        )
        result = collect(self.repository, request, listener or SilentListener())
        if strict and (error := result.error()):
            raise error
        return result


def command_job(command: Command, workload: str, shell: bool) -> Job:
    """A command of the library: a list of words, or a text that is split as a shell would."""
    from perfcore.measure import commands

    words = commands.split(workload, "workload")
    if isinstance(command, str):
        return commands.job([command] if shell else commands.split(command, "command"), workload=words, shell=shell)
    return commands.job(list(command), workload=words, shell=shell)
