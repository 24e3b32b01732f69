"""The calls of the library that measure; `perfcore.library.History` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.measure import matrix as matrices
from perfcore.measure.collect_result import CollectResult
from perfcore.measure.collection import collect
from perfcore.measure.host import Host
from perfcore.measure.request import MeasureRequest, configured_build, select_versions, working_directory
from perfcore.measure.schedule import split_options
from perfcore.model import Job, Step
from perfcore.model.listener import Listener, SilentListener
from perfcore.repository.repository import Repository

if TYPE_CHECKING:
    from perfcore.measure.comparison.result import ComparisonResult

Command = str | Sequence[str]
Revisions = str | Sequence[str] | None


class MeasureCalls:
    """Collect, run and compare in `repository`."""

    repository: Repository

    def collect(
        self,
        collector: str,
        *commands: Command,
        workload: str | Sequence[str] = "",
        version: Revisions = None,
        since: str | None = None,
        every: bool = False,
        missing: bool = False,
        register: bool = False,
        build: bool = True,
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
        argument; of several each in turn. A `version`, or several, those after `since`, or `every` one of the branch
        are measured in clean trees of their own, built as the configuration says; without one, the working tree. With
        `missing`, versions that have such a profile are left out; with `register`, profiles are registered at once.
        `resume` adds the missing runs to incomplete profiles; `executor` names what measures. `cwd` is a directory
        below the root of the tree. The other options are those of the schedule and the collector: `repeat=5`.

        The result is a sequence of saved profiles. Without `strict`, it has the `failures` as well; otherwise they are
        raised as one error when everything else is measured.
        """
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
                attrs.evolve(command_job(command, load, shell), **common) for command in commands for load in workloads
            ),
            versions=self._versions(version, since, every),
            schedule=schedule,
            building=configured_build(self.repository, skip=not build),
            register=register,
            missing=missing,
            resume=resume,
            executor=executor,
        )
        return self._run(request, strict, listener)

    def run(
        self,
        matrix: str | Path | Mapping[str, Any] | None = None,
        *,
        version: Revisions = None,
        since: str | None = None,
        every: bool = False,
        missing: bool = False,
        register: bool = False,
        build: bool = True,
        resume: bool = False,
        executor: str | None = None,
        strict: bool = True,
        listener: Listener | None = None,
        **schedule: Any,
    ) -> CollectResult:
        """Measure every job of a matrix: a file, a mapping such as `{"bins": ["./sort"], "workloads": ["a", "b"]}`, or
        the configuration, as `perf run matrix` does. The other options are those of `collect` and of the schedule."""
        from perfcore.measure import matrix_request

        jobs = matrix_request.load_matrix(self.repository, Path(matrix) if isinstance(matrix, str) else matrix)
        request = matrix_request.matrix_request(
            self.repository,
            jobs,
            cwd=Path() if matrix is None else working_directory(self.repository),
            versions=self._versions(version, since, every),
            schedule=schedule,
            register=register,
            missing=missing,
            build=build,
            resume=resume,
            executor=executor,
        )
        return self._run(request, strict, listener)

    def compare(
        self,
        first: Command | None = None,
        second: Command | None = None,
        *,
        versions: tuple[str | None, str | None] = (None, None),
        collector: str = "time",
        metric: str | None = None,
        threshold: float | None = None,
        max_pairs: int = 200,
        budget: float = 60.0,
        inputs: Sequence[str] = (),
        build: bool = True,
        again: bool = False,
        save: bool = False,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        listener: Listener | None = None,
    ) -> ComparisonResult:
        """Whether one program is slower than another, as `perf compare` measures it: interleaved, until it is decided
        or `max_pairs` or `budget` seconds are spent.

        Two commands are compared in the working tree; one command, in two `versions` (None: the working tree). Without
        a command, the versions are names of stored profiles, and nothing is measured.
        """
        from perfcore.measure.comparison import engine

        host, listener = Host.of(self.repository), listener or SilentListener()
        if first is None:
            names = str(versions[0]), str(versions[1])
            refs = self.repository.find(names[0]), self.repository.find(names[1])
            return engine.compare_profiles(
                host, self.repository, names, refs, listener, metric=metric, threshold=threshold
            )
        directory = working_directory(self.repository, None if cwd is None else Path(cwd))
        common: dict[str, Any] = {"env": dict(env or {}), "cwd": directory, "collector": Step(name=collector)}
        jobs = [attrs.evolve(command_job(command, "", shell), **common) for command in (first, second or first)]
        first_program, second_program = (
            engine.program(self.repository, job, revision) for job, revision in zip(jobs, versions, strict=True)
        )
        request = engine.CompareRequest(
            programs=(first_program, second_program),
            metric=metric,
            threshold=threshold,
            budget=engine.Budget(pairs=max_pairs, seconds=budget),
            inputs=tuple(inputs),
            build=build,
            again=again,
            save=save,
        )
        return engine.compare(host, request, listener)

    def _run(self, request: MeasureRequest, strict: bool, listener: Listener | None) -> CollectResult:
        result = collect(self.repository, request, listener or SilentListener())
        error = result.error()
        if strict and error is not None:
            raise error
        return result

    def _versions(self, version: Revisions, since: str | None, every: bool) -> tuple[str, ...] | None:
        revisions = [version] if isinstance(version, str) else version or ()
        return select_versions(self.repository, revisions, since, every)


def command_job(command: Command, workload: str, shell: bool) -> Job:
    """A command of the library: a list of words, or a text that is split as a shell would."""
    words = matrices.split(workload, "workload")
    if isinstance(command, str):
        return matrices.command([command] if shell else matrices.split(command, "command"), workload=words, shell=shell)
    return matrices.command(list(command), workload=words, shell=shell)
