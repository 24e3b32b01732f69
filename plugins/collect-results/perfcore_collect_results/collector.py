"""The collector: options, and the steps of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from perfcore.errors import CommandFailedError, FormatError, UsageError
from perfcore.profile.recording import Session
from perfcore.profile.table import ColumnSpec, Value
from perfcore.settings import on_failure_option, option, timeout_option
from perfcore.text import plural, printable

if TYPE_CHECKING:
    from perfcore.model import Job
    from perfcore.profile.recording import Outcome, Run
    from perfcore_collect_results.execution import Ended
    from perfcore_collect_results.output import Output
    from perfcore_collect_results.reading import Reader, Suite

NAME = ColumnSpec("benchmark", "str", role="benchmark")


@attrs.frozen
class ResultsSettings:
    """The command is that of the harness. Repeats and order belong to the schedule."""

    format: str | None = option(
        None, help="The format of the results, such as hyperfine. Default: the one that recognises them."
    )
    output: str | None = option(
        None,
        help="The file or folder of the results, relative to the command's folder. Default: standard output, or "
        "`{output}` in the command, a fresh path for each run.",
        metavar="PATH",
    )
    timeout: float | None = timeout_option()
    on_failure: str = on_failure_option()


@attrs.define(kw_only=True)
class _State:
    """What a session needs between its runs. `specs` are the columns so far; `statuses` the worst status of each
    benchmark, by the texts that name it."""

    reader: Reader | None = None
    specs: dict[str, ColumnSpec] = attrs.field(factory=lambda: {NAME.name: NAME})
    statuses: dict[tuple[tuple[str, Value], ...], tuple[str, str | None]] = attrs.field(factory=dict)
    failures: int = 0
    harness: Mapping[str, str] = attrs.field(factory=dict)


class ResultsCollector:
    """Runs another harness once for each run and keeps its results, each benchmark as a series of its own: hyperfine,
    pytest-benchmark, Google Benchmark and whatever an installed format reads. A run is a process."""

    Settings = ResultsSettings
    contract = "perfcore_collect_results.contract:ResultsContract"
    schedule = {"warmup": 0}  # noqa: RUF012  (harnesses warm up themselves)

    def __init__(self, settings: ResultsSettings | None = None) -> None:
        self.settings = settings or ResultsSettings()

    def before(self, job: Job) -> Session:
        """Finds the command and the format. The benchmarks and their metrics are known after the first run."""
        from perfcore_collect_kit import command

        from perfcore_collect_results import output

        command.check(job)
        command.spec(job)
        output.check(job, self.settings.output)
        session = Session(job, columns=[NAME])
        session.state = _State()
        return session

    def collect(self, session: Session, run: Run) -> None:
        """One run of the harness; its results are the rows."""
        from perfcore_collect_results import output
        from perfcore_collect_results.execution import execute

        state: _State = session.state
        state.reader = state.reader or self._reader(session)
        assert session.workspace is not None
        prepared = output.prepare(session.job, self.settings.output, session.workspace)
        ended = execute(
            prepared.job, session.workspace, prepared.path if prepared.is_stdout else None, self.settings.timeout
        )
        self._check_end(session.job, run, ended)
        suite = _suite(state.reader, session, prepared, ended)
        _declare(session, run, suite)
        run.rows.extend(suite.rows)
        run.exitcode = ended.exitcode
        if not run.warmup:
            state.failures += ended.exitcode != 0
            _note_statuses(state, suite)
            state.harness = {"harness": suite.harness.name, "harness_version": suite.harness.version}
            for note in suite.notes:
                session.note(note)

    def _reader(self, session: Session) -> Reader:
        """Reads by the formats of the command that measures; by those installed where no command does."""
        from perfcore.plugins.registry import Plugins
        from perfcore_collect_results.reading import Reader

        return Reader(session.plugins or Plugins(warn=session.note), self.settings.format)

    def after(self, session: Session, outcome: Outcome) -> None:
        """Says what became of each benchmark, and which harness measured them."""
        state: _State = session.state
        names = [spec for spec in state.specs.values() if spec.role == "benchmark"]
        status_columns = [*names, ColumnSpec("status", "str"), ColumnSpec("message", "str")]
        table = session.table("benchmarks", status_columns)
        for words, (status, message) in sorted(state.statuses.items(), key=repr):
            table.add(**dict(words), status=status, message=message)
        if state.reader is not None and state.reader.format is not None:
            session.sampling["format"] = state.reader.format[0].name
        session.sampling.update({key: word for key, word in state.harness.items() if word})
        if state.failures:
            session.note(f"{state.failures} of {plural(outcome.runs, 'run')} failed and count all the same")

    def _check_end(self, job: Job, run: Run, ended: Ended) -> None:
        from perfcore_collect_kit import exit_status
        from perfcore_collect_kit.command import shown

        if ended.timed_out:
            raise exit_status.too_long(shown(job.argv), run, self.settings.timeout)
        if ended.exitcode and self.settings.on_failure == "fail":
            raise exit_status.failed(shown(job.argv), run, ended.exitcode, ended.last_words, shell=job.shell)


def _suite(reader: Reader, session: Session, output: Output, ended: Ended) -> Suite:
    """The results of a run. CommandFailedError with the end of what the harness wrote if there are none."""
    from perfcore_collect_kit.command import shown

    assert session.workspace is not None
    command = shown(session.job.argv)
    path = output.results(session.workspace)
    if path is None or (path.is_file() and not path.stat().st_size):
        raise CommandFailedError(
            f"{command} wrote no results to {printable(output.name)}{_last_words(ended)}", hint=_hint(output)
        )
    try:
        return reader.read(path)
    except FormatError as error:
        reason = error.message.removeprefix(f"{printable(str(path))}: ")
        raise CommandFailedError(
            f"the results of {command} in {printable(output.name)} cannot be read: {reason}{_last_words(ended)}",
            hint=error.hint,
        ) from error


def _hint(output: Output) -> str | None:
    if output.is_stdout:
        return "for a harness that writes a file, put {output} in the place of its path, or name it by --output PATH"
    return None


def _last_words(ended: Ended) -> str:
    from perfcore_collect_kit.exit_status import last_words

    return last_words(ended.last_words)


def _declare(session: Session, run: Run, suite: Suite) -> None:
    """Add the columns that these results have first. A metric has one unit and one direction in all runs."""
    state: _State = session.state
    for spec in suite.specs:
        earlier = state.specs.get(spec.name)
        if earlier is None:
            state.specs[spec.name] = spec
            session.tables["resources"].declare(spec)
        elif (earlier.role, earlier.unit, earlier.better) != (spec.role, spec.unit, spec.better):
            raise UsageError(
                f"run {run.index + 1} has another {printable(spec.name)} than the runs before: "
                f"{spec.role} in {spec.unit or 'no unit'}, not {earlier.role} in {earlier.unit or 'no unit'}"
            )


def _note_statuses(state: _State, suite: Suite) -> None:
    """A benchmark that was lost in one run keeps that status; its other runs keep their rows."""
    for row in suite.statuses:
        words = tuple((name, word) for name, word in row.items() if name not in ("status", "message"))
        status, message = str(row["status"]), row["message"]
        if state.statuses.get(words, ("measured", None))[0] == "measured":
            state.statuses[words] = (status, None if message is None else str(message))
