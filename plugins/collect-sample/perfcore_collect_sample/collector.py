"""The collector: options, the choice of the tool, and the steps of one run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import attrs
from perfcore_sample_kit.samples import POSITION, THREAD

from perfcore.errors import PluginError
from perfcore.profile.recording import Session
from perfcore.profile.table import ColumnSpec
from perfcore.settings import on_failure_option, option, timeout_option
from perfcore.text import plural

if TYPE_CHECKING:
    from perfcore.model import Job
    from perfcore.profile.recording import Outcome, Run
    from perfcore_collect_sample.tools import Ended, Sampled, Tool

COLUMNS = (ColumnSpec("stack", "i64"), ColumnSpec("samples", "i64", "", "value"))
ORDER = (ColumnSpec(POSITION, "i64", role="order"), ColumnSpec(THREAD, "str"))
_FEW = 100  # samples: with fewer, a share of one half has a standard error above 5 % (binomial, sqrt(0.25 / n))
# Of the CPU time: py-spy sees a program from about a tenth of a second after its start (README.md), which is normal and
# little of a long run; a note about the rest is for runs of which more is missing.
_MOST = 0.8


@attrs.frozen
class SampleSettings:
    """The event to sample, and the tool. Repeats and order belong to the schedule."""

    rate: int = option(100, help="Samples a second.", unit="Hz", minimum=1, identity=True)
    tool: str = option(
        "auto",
        help="`py-spy` for Python programs; `perf`, the kernel's tool, for native ones. `auto` decides by the program.",
        choices=("auto", "py-spy", "perf"),
        identity=True,
    )
    threads: bool = option(False, help="Distinguish threads by name (py-spy).", identity=True)
    idle: bool = option(False, help="Sample threads that wait, too (py-spy).", identity=True)
    native: bool = option(False, help="Include native frames of Python programs (py-spy).", identity=True)
    event: str = option("cpu-clock", help="The event to sample (perf).", identity=True, metavar="EVENT")
    call_graph: str = option(
        "fp",
        help="How stacks are unwound: frame pointers, debug information (dwarf), or the processor's records (perf).",
        choices=("fp", "dwarf", "lbr"),
        identity=True,
    )
    ordered: bool = option(
        False, help="Keep the order of the samples of each thread, so that a flame graph shows phases."
    )
    timeout: float | None = timeout_option()
    on_failure: str = on_failure_option()


@attrs.define(kw_only=True)
class _State:
    tool: Tool
    samples: int = 0
    position: int = 0  # of the next row in the order of time, over all runs
    failed: int = 0
    cpu: float = 0.0


class SampleCollector:
    """Samples the call stacks of a command: Python programs by py-spy, native ones by the kernel's perf. On Linux."""

    Settings = SampleSettings
    schedule = {"repeat": 1, "warmup": 0}  # noqa: RUF012  (the specification's form)

    def __init__(self, settings: SampleSettings | None = None) -> None:
        self.settings = settings or SampleSettings()

    def before(self, job: Job) -> Session:
        """Finds the command, and the tool that can look into it."""
        if sys.platform != "linux":
            raise PluginError("it samples on Linux only", hint="import what another tool recorded: perf import folded")
        from perfcore_collect_kit import command

        from perfcore_collect_sample.selection import choose

        command.check(job)
        columns = (*COLUMNS, *ORDER) if self.settings.ordered else COLUMNS
        return Session(job, columns=columns, state=_State(tool=choose(job, self.settings)))

    def collect(self, session: Session, run: Run) -> None:
        """One run of the command under the tool; a row for each stack that was seen, or one with 0 samples."""
        from perfcore_collect_sample import tools

        state: _State = session.state
        assert session.workspace is not None
        ended = tools.record(state.tool, session.job, session.workspace, self.settings.timeout)
        run.exitcode = self._checked(ended, state.tool, session.job, run)
        sampled = state.tool.read(session.workspace, session.job)
        rows = _in_order(sampled, session, state) if self.settings.ordered else _by_stack(sampled, session)
        if not run.warmup:
            state.samples += sum(rows["samples"])
            state.failed += ended.missed
            state.cpu += ended.cpu or 0.0
        if rows["stack"]:
            run.rows.extend(rows)
        else:
            run.rows.add(samples=0)

    def after(self, session: Session, outcome: Outcome) -> None:
        """Notes the tool, its rate, and how far the samples cover the run."""
        state: _State = session.state
        session.sampling.update(tool=state.tool.name, version=state.tool.version, rate=self.settings.rate)
        if outcome.status == "ok" and state.samples < _FEW:
            session.note(_too_few(state.samples, state.tool.name))
        sampled_seconds = state.samples / self.settings.rate
        if not self.settings.idle and self._counts_time and sampled_seconds < _MOST * state.cpu:
            session.note(
                f"{state.tool.name} saw {sampled_seconds:.2f} s of the {state.cpu:.2f} s of CPU time that the command "
                "took: the rest, mostly its start, is not in the profile"
            )
        if state.failed:
            session.note(f"{plural(state.failed, 'sample')} could not be read by {state.tool.name}")

    @property
    def _counts_time(self) -> bool:
        """Whether a sample stands for a share of CPU time."""
        return self.settings.tool != "perf" or self.settings.event == "cpu-clock"

    def _checked(self, ended: Ended, tool: Tool, job: Job, run: Run) -> int:
        """The command's exit code, unless the tool failed or the command did and may not."""
        from perfcore_collect_kit import exit_status
        from perfcore_collect_kit.command import shown

        command = shown(job.argv)
        if ended.timed_out:
            raise exit_status.too_long(command, run, self.settings.timeout)
        if ended.exitcode is None:
            raise tool.failure(ended.complaint)
        if ended.exitcode and self.settings.on_failure == "fail":
            raise exit_status.failed(command, run, ended.exitcode, ended.words, shell=job.shell)
        return ended.exitcode


def _by_stack(sampled: Sampled, session: Session) -> dict[str, list[Any]]:
    """A row for each stack and not for each sample: a run of a minute has 6,000 samples of few stacks."""
    counts: dict[int, int] = {}
    for frames, _ in sampled:
        stack = session.stacks.add(frames)
        counts[stack] = counts.get(stack, 0) + 1
    return {"stack": list(counts), "samples": list(counts.values())}


def _in_order(sampled: Sampled, session: Session, state: _State) -> dict[str, list[Any]]:
    """A row for samples that follow each other in one stack of a thread."""
    rows: dict[str, list[Any]] = {"stack": [], "samples": [], POSITION: [], THREAD: []}
    last: tuple[int, str] | None = None
    for frames, thread in sampled:
        sample = session.stacks.add(frames), thread
        if sample == last:
            rows["samples"][-1] += 1
            continue
        last = sample
        for name, value in zip(rows, (sample[0], 1, state.position, thread), strict=True):
            rows[name].append(value)
        state.position += 1
    return rows


def _too_few(samples: int, tool: str) -> str:
    if not samples and tool == "py-spy":
        return "no samples: the run was too short, or this is no Python program: --tool perf sees native ones"
    return f"only {samples} samples: take more with a higher --rate, a longer run, or --repeat"
