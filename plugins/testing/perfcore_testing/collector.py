"""The contract of collectors. Inherit from it in your tests:

    class TestWall(CollectorContract):
        @pytest.fixture
        def driver(self):
            return Wall()

The jobs run Python with a line of code; where the collector measures other programs only, override `job`. Each
law is tried with real processes, led through a session by `Measuring` as perfcore leads them.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from perfcore.config.settings import to_params
from perfcore.errors import CommandFailedError, PerfError
from perfcore.model import Header, Job, Profile, Tool
from perfcore.model.record import replace
from perfcore.profile.recording import RUN, RUNS, Outcome, Run, Session
from perfcore.profile.table import TableBuilder
from perfcore_testing import hostile
from perfcore_testing.kinds import misfits
from perfcore_testing.transforming import survives_storing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from perfcore.hookspecs import Collector
    from perfcore.profile.table import Table

TRACE = "import sys; print(*sys.argv[1:], file=open('trace', 'a'))"
ECHO = (
    "import json, os, sys; words = [os.fsencode(word).decode('latin-1') for word in sys.argv[1:]]; "
    "json.dump([words, os.getcwd(), dict(os.environ)], open('told', 'w'))"
)
LOOK = (
    "import json, os; links = []\n"
    "for name in os.listdir('/proc/self/fd'):\n"
    "    try: links.append(os.readlink('/proc/self/fd/' + name))\n"
    "    except OSError: pass\n"
    "json.dump({'status': open('/proc/self/status').read(), 'files': links}, open('told', 'w'))"
)
# A code that neither shells nor Python use for anything.
FAIL = "raise SystemExit(41)"
SECOND_FAILS = "import os, sys; os.path.exists('once') and sys.exit(41); open('once', 'w').close()"


_SHELL_FD = 10  # where dash and others keep a file that they put aside


@contextlib.contextmanager
def _unusual_process(folder: Path, *, altered: bool) -> Iterator[None]:
    """This process with a file open that children would inherit, SIGPIPE ignored as Python does, and other signals
    ignored and blocked if they are to be `altered`."""
    ignored = (signal.SIGPIPE, *((signal.SIGHUP, signal.SIGUSR1) if altered else ()))
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGTERM] if altered else [])
    import fcntl  # not on Windows

    descriptor = os.open(folder, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 50)
    try:
        yield
    finally:
        os.close(high)
        os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)


class Measuring:
    """A session as perfcore leads it: `before`, a workspace, runs, `after` in any case.

    with Measuring(driver, job) as session:
        session.run(warmup=True)
        session.run()
    assert session.rows == [{"run": 1, "wall": 8123}]
    """

    def __init__(self, driver: Collector, job: Job) -> None:
        self.driver = driver
        self.job = job
        self.runs: list[Run] = []
        self._workspace = tempfile.TemporaryDirectory(prefix="perfcore-")

    def __enter__(self) -> Measuring:
        try:
            self.session = self.driver.before(self.job)
        except BaseException:
            self._workspace.cleanup()
            raise
        self.session.workspace = Path(self._workspace.name)
        self.declared = self.resources.names
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        counted = sum(not run.warmup for run in self.runs)
        status: Any = "ok" if error is None else "failed" if isinstance(error, Exception) else "interrupted"
        try:
            self.driver.after(self.session, Outcome(status=status, runs=counted, error=error))
        finally:
            self._workspace.cleanup()

    def run(self, *, warmup: bool = False, following: int = 0) -> Run:
        """Take one run, and those that are taken along with it. One that raises is no run."""
        run = self._run(len(self.runs), warmup=warmup)
        run.following = following
        self.driver.collect(self.session, run)
        self.runs.append(run)
        for started, disturbed in zip(*run.along, strict=True):
            also = self._run(started)
            also.disturbed, also.exitcode = disturbed, run.exitcode
            self.runs.append(also)
        return run

    def take(self, count: int) -> list[Run]:
        """So many runs with nothing between them."""
        first = len(self.runs)
        while left := first + count - len(self.runs):
            self.run(following=left - 1)
        return self.runs[first:]

    def _run(self, started: int, *, warmup: bool = False) -> Run:
        number = len(self.runs)
        return Run(self.session, index=number, block=number, position=0, started=started, warmup=warmup)

    @property
    def resources(self) -> Table:
        return self.session.tables["resources"].build()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows that were written until now."""
        return list(self.resources.iter_rows())

    @property
    def profile(self) -> Profile:
        """What perfcore would make of the session."""
        runs_table = TableBuilder("runs", RUNS)
        for run in self.runs:
            runs_table.add(run=run.index, warmup=run.warmup, disturbed=run.disturbed, exit=run.exitcode)
        tables = self.session.build_tables()
        settings = getattr(self.driver, "settings", None)
        return Profile(
            header=Header(type=self.session.profile_type, argv=self.job.argv, cmd=self.job.cmd, shell=self.job.shell),
            created=1,
            collector=Tool(
                name=self.job.collector.name,
                params=to_params(settings) if attrs.has(type(settings)) else {},
                sampling=dict(self.session.sampling),
            ),
            notes=tuple(self.session.notes),
            tables={**tables, "runs": runs_table.build()},
        )


_OF_PROGRAMS = (
    "test_the_command_runs_once_for_each_run",
    "test_no_more_runs_are_taken_along_than_follow",
    "test_the_command_gets_its_words_unchanged",
    "test_the_command_runs_in_its_folder",
    "test_the_command_gets_its_variables",
    "test_what_is_measured_inherits_nothing_of_the_caller",
    "test_the_command_inherits_no_signals_and_files",
    "test_a_job_of_the_shell_is_run_by_one",
    "test_sessions_do_not_mix",
    "test_a_failing_command_is_an_error",
    "test_a_run_that_fails_takes_no_other_with_it",
    "test_a_command_that_is_killed_is_an_error",
    "test_a_command_that_is_not_there_is_an_error",
    "test_a_folder_that_is_not_there_is_an_error",
    "test_a_word_that_no_command_can_get_is_an_error",
    "test_the_driver_outlives_its_sessions",
    "test_nothing_stays_behind",
)
"""Laws whose job is a program that leaves traces, or fails."""


class CollectorContract:
    """What every collector keeps. Override `driver`.

    `runs_programs` is False for a collector whose words are no program, such as paths of a service: override `job`
    then, which gives one that can be measured. Laws of programs do not apply to it.
    `runs_shells` is False for a collector that refuses jobs of the shell; it then does so with a PerfError.
    `resets_signals` is True for one whose commands inherit nothing of what perf's caller ignores or blocks, either,
    as `nohup` does; `subprocess` resets only what Python ignores.
    """

    runs_programs = True
    runs_shells = True
    resets_signals = False

    @pytest.fixture(autouse=True)
    def _law_of_programs(self, request: pytest.FixtureRequest) -> None:
        if not self.runs_programs and request.function.__name__ in _OF_PROGRAMS:
            pytest.skip("the collector runs no program")

    @pytest.fixture
    def driver(self) -> Collector:
        raise NotImplementedError("override the fixture `driver` and return a collector")

    def job(self, folder: Path, code: str, *words: str, **changes: Any) -> Job:
        """A job that runs this line of Python in the folder, with these words in `sys.argv[1:]`."""
        # `-I` and `-S`: what the tester's environment and site-packages start is no part of what is measured.
        argv = (sys.executable, "-I", "-S", "-c", code, *words)
        return replace(Job(argv=argv, cmd="python", args=code, cwd=folder), **changes)

    def test_it_fits_the_kind(self, driver: Collector) -> None:
        """Its methods have the specification's arguments, its options say what they are for and survive being
        stored."""
        assert misfits("collector", driver) == []

    def test_before_gives_a_session_of_the_job(self, driver: Collector, tmp_path: Path) -> None:
        """With the columns that are going to be written, at least one of them a value of a number type."""
        job = self.job(tmp_path, "pass")
        with Measuring(driver, job) as measuring:
            assert isinstance(measuring.session, Session)
            assert measuring.session.job is job
            values = [column for column in measuring.resources.columns if column.role == "value"]
            assert values
            assert all(column.dtype in ("i64", "u64", "f64") for column in values)

    def test_the_command_runs_once_for_each_run(self, driver: Collector, tmp_path: Path) -> None:
        """Neither before the first nor after the last, a warm-up like any other."""
        trace = tmp_path / "trace"
        with Measuring(driver, self.job(tmp_path, TRACE, "x")) as measuring:
            assert not trace.exists()
            for count, warmup in enumerate((True, False, False), 1):
                measuring.run(warmup=warmup)
                assert trace.read_text().split() == ["x"] * count
        assert trace.read_text().split() == ["x"] * 3

    def test_no_more_runs_are_taken_along_than_follow(self, driver: Collector, tmp_path: Path) -> None:
        """Each is a run of its own, that began after the one before, whether it is asked for or not."""
        with Measuring(driver, self.job(tmp_path, TRACE, "x")) as measuring:
            measuring.run()
            measuring.take(4)
            assert sorted({row["run"] for row in measuring.rows}) == [0, 1, 2, 3, 4]
        assert (tmp_path / "trace").read_text().split() == ["x"] * 5
        started = [run.started for run in measuring.runs]
        assert started == sorted(set(started))

    def test_each_run_writes_rows_of_its_own(self, driver: Collector, tmp_path: Path) -> None:
        """At least one, under the run's number; rows of earlier runs stay as they are until `after`."""
        with Measuring(driver, self.job(tmp_path, "pass")) as measuring:
            for run_number in range(3):
                previous_rows = measuring.rows
                measuring.run()
                new = measuring.rows[len(previous_rows) :]
                assert measuring.rows[: len(previous_rows)] == previous_rows
                assert new
                assert {row["run"] for row in new} == {run_number}

    def test_a_warm_up_writes_nothing(self, driver: Collector, tmp_path: Path) -> None:
        """Its rows are dropped by `run.rows`: whoever writes around it writes rows that count."""
        with Measuring(driver, self.job(tmp_path, "pass")) as measuring:
            measuring.run(warmup=True)
            assert measuring.rows == []
            measuring.run()
        assert {row["run"] for row in measuring.rows} == {1}

    def test_only_declared_columns_are_written(self, driver: Collector, tmp_path: Path) -> None:
        """Name, unit and role of a column are known before the first value; so is the order."""
        with Measuring(driver, self.job(tmp_path, "pass")) as measuring:
            measuring.run()
        assert RUN.name in measuring.declared
        assert measuring.resources.names == measuring.declared

    def test_amounts_are_there_or_missing(self, driver: Collector, tmp_path: Path) -> None:
        """No amount is negative or NaN, and a run has at least one; what cannot be had is missing."""
        with Measuring(driver, self.job(tmp_path, "pass")) as measuring:
            measuring.run()
        values = [column.name for column in measuring.resources.columns if column.role == "value"]
        amounts = [row[name] for row in measuring.rows for name in values if row[name] is not None]
        assert amounts
        assert all(float(amount) >= 0 for amount in amounts if amount is not None)

    def test_what_was_collected_can_be_stored(self, driver: Collector, tmp_path: Path) -> None:
        """Tables, options and `sampling` survive; notes are single lines that a terminal can show."""
        name = "\x1b[2J\n<script>"
        with Measuring(driver, self.job(tmp_path, "pass", name, cmd=name)) as measuring:
            measuring.run()
        session = measuring.session
        assert survives_storing(measuring.profile)
        assert json.loads(json.dumps(session.sampling)) == session.sampling
        assert all("\n" not in note and hostile.unsafe(note) == set() for note in session.notes)

    def test_exit_codes_are_told(self, driver: Collector, tmp_path: Path) -> None:
        """`run.exitcode` is set when the run is over."""
        with Measuring(driver, self.job(tmp_path, "pass")) as measuring:
            assert measuring.run().exitcode == 0

    def test_the_command_gets_its_words_unchanged(self, driver: Collector, tmp_path: Path) -> None:
        """Empty words, blanks, quotes, newlines, and bytes that are no text."""
        words = [*(name for name in hostile.NAMES if "\0" not in name), "$HOME `id` * ;", os.fsdecode(b"\xff\xfe")]
        received, _, _ = self._told(driver, self.job(tmp_path, ECHO, *words))
        assert received == [os.fsencode(word).decode("latin-1") for word in words]

    def test_the_command_runs_in_its_folder(self, driver: Collector, tmp_path: Path) -> None:
        """Whatever the folder of the collecting process, and whatever its name."""
        folder = tmp_path / "a folder; with 'quotes' and ü"
        folder.mkdir()
        _, cwd, _ = self._told(driver, self.job(folder, ECHO))
        assert os.path.samefile(cwd, folder)

    def test_the_command_gets_its_variables(
        self, driver: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The job's, on top of those of the collecting process; nothing else, or the command is another one."""
        monkeypatch.setenv("PERFCORE_INHERITED", "as it was")
        monkeypatch.setenv("PERFCORE_REPLACED", "old")
        replaced = {"PERFCORE_REPLACED": "new", "PERFCORE_ADDED": "a=b\n'c'"}
        inherited = set(os.environ)
        _, _, variables = self._told(driver, self.job(tmp_path, ECHO, env=replaced))
        assert {name: variables.get(name) for name in replaced} == replaced
        assert variables["PERFCORE_INHERITED"] == "as it was"
        python = {"LC_CTYPE"}  # set by Python itself where there is no locale
        assert set(variables) - python == (inherited | set(replaced)) - python

    @pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="signals and files are looked up in /proc")
    def test_what_is_measured_inherits_nothing_of_the_caller(self, driver: Collector, tmp_path: Path) -> None:
        """Python as well: no file that the caller has open, no signal that it blocks or ignores but for those two
        that every Python ignores."""
        with (
            _unusual_process(tmp_path, altered=self.resets_signals),
            Measuring(driver, self.job(tmp_path, LOOK)) as measuring,
        ):
            measuring.run()
        told = json.loads((tmp_path / "told").read_text())
        ours = set() if self.resets_signals else set(signal.valid_signals())
        pythons = {int(signal.SIGPIPE), int(signal.SIGXFSZ), 32, 33}
        for name in ("SigIgn", "SigBlk"):
            assert _signals(told["status"], name) - ours - (pythons if name == "SigIgn" else set()) == set()
        assert str(tmp_path) not in told["files"]

    @pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="signals and files are looked up in /proc")
    def test_the_command_inherits_no_signals_and_files(self, driver: Collector, tmp_path: Path) -> None:
        """It starts as from a plain shell, whatever Python ignores and has open: else a program would behave
        differently when it is measured, as one whose SIGPIPE is ignored."""
        if not self.runs_shells:
            pytest.skip("the collector runs no shell")
        # Builtins of the shell, which open nothing while they look.
        script = 'while read -r line; do echo "$line"; done < /proc/self/status > status; echo /proc/self/fd/* > files'
        job = Job(argv=(script,), cmd="look", shell=True, cwd=tmp_path)
        with _unusual_process(tmp_path, altered=self.resets_signals), Measuring(driver, job) as measuring:
            assert measuring.run().exitcode == 0
        status = (tmp_path / "status").read_text()
        # glibc's posix_spawn leaves the two signals ignored that it keeps for itself. What the caller of this test
        # ignores or blocks is inherited, unless signals are reset.
        ours = set() if self.resets_signals else set(signal.valid_signals()) - {signal.SIGPIPE, signal.SIGXFSZ}
        for name in ("SigIgn", "SigBlk"):
            assert _signals(status, name) - {32, 33} - ours == set()
        numbers = {int(path.rpartition("/")[2]) for path in (tmp_path / "files").read_text().split()}
        assert numbers - {_SHELL_FD, 3} <= {0, 1, 2}  # 3 is the folder that the shell lists

    def test_a_job_of_the_shell_is_run_by_one(self, driver: Collector, tmp_path: Path) -> None:
        """The job has one word then, which the shell takes apart."""
        job = Job(argv=("printf '%s' one > trace && printf two >> trace",), cmd="printf", shell=True, cwd=tmp_path)
        if not self.runs_shells:
            with pytest.raises(PerfError), Measuring(driver, job) as measuring:
                measuring.run()
            return
        with Measuring(driver, job) as measuring:
            measuring.run()
        assert (tmp_path / "trace").read_text() == "onetwo"

    def test_sessions_do_not_mix(self, driver: Collector, tmp_path: Path) -> None:
        """Runs of two jobs alternate, and each keeps its own rows; the end of one does not end the other."""
        folders = [tmp_path / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir()
        with Measuring(driver, self.job(folders[0], TRACE, "one")) as first:
            with Measuring(driver, self.job(folders[1], TRACE, "two")) as second:
                for measuring in (first, second, second, first):
                    measuring.run()
            assert {row["run"] for row in second.rows} == {0, 1}
            first.run()
        assert {row["run"] for row in first.rows} == {0, 1, 2}
        assert [(folder / "trace").read_text().split() for folder in folders] == [["one"] * 3, ["two"] * 2]

    def test_a_failing_command_is_an_error(self, driver: Collector, tmp_path: Path) -> None:
        """CommandFailedError tells the exit code and no row is written; the session can be ended as ever."""
        with pytest.raises(CommandFailedError, match="41"), Measuring(driver, self.job(tmp_path, FAIL)) as measuring:
            measuring.run()
        assert measuring.rows == []

    def test_a_run_that_fails_takes_no_other_with_it(self, driver: Collector, tmp_path: Path) -> None:
        """Rows of the runs before stay."""
        with Measuring(driver, self.job(tmp_path, SECOND_FAILS)) as measuring:
            measuring.run()
            with pytest.raises(CommandFailedError):
                measuring.run()
        assert {row["run"] for row in measuring.rows} == {0}

    def test_a_command_that_is_killed_is_an_error(self, driver: Collector, tmp_path: Path) -> None:
        """As is any other that does not end by itself."""
        code = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
        with pytest.raises(CommandFailedError), Measuring(driver, self.job(tmp_path, code)) as measuring:
            measuring.run()
        assert measuring.rows == []

    def test_a_command_that_is_not_there_is_an_error(self, driver: Collector, tmp_path: Path) -> None:
        """In `before` or in the first run, with the name of the command, written harmlessly."""
        name = "no-such-program-\x1b[31m"
        with (
            pytest.raises(PerfError, match="no-such-program") as caught,
            Measuring(driver, Job(argv=(name, "word"), cmd=name, cwd=tmp_path)) as measuring,
        ):
            measuring.run()
        assert hostile.unsafe(str(caught.value) + (caught.value.hint or "")) == set()

    def test_a_folder_that_is_not_there_is_an_error(self, driver: Collector, tmp_path: Path) -> None:
        """A PerfError that names it."""
        with (
            pytest.raises(PerfError, match="gone"),
            Measuring(driver, self.job(tmp_path / "gone", "pass")) as measuring,
        ):
            measuring.run()

    def test_a_word_that_no_command_can_get_is_an_error(self, driver: Collector, tmp_path: Path) -> None:
        """A NUL byte ends a word in every system; nothing is cut off silently."""
        with pytest.raises(PerfError), Measuring(driver, self.job(tmp_path, "pass", "a\0b")) as measuring:
            measuring.run()

    def test_a_session_may_end_before_its_first_run(self, driver: Collector, tmp_path: Path) -> None:
        """`after` is called whenever `before` returned."""
        for error in (None, PerfError("another job failed"), KeyboardInterrupt()):
            measuring = Measuring(driver, self.job(tmp_path, TRACE, "x"))
            measuring.__enter__()
            measuring.__exit__(type(error) if error else None, error, None)
            assert measuring.rows == []
        assert not (tmp_path / "trace").exists()

    def test_the_driver_outlives_its_sessions(self, driver: Collector, tmp_path: Path) -> None:
        """After one that failed too."""
        with pytest.raises(CommandFailedError), Measuring(driver, self.job(tmp_path, FAIL)) as measuring:
            measuring.run()
        with Measuring(driver, self.job(tmp_path, "pass")) as measuring:
            measuring.run()
        assert measuring.rows

    def test_nothing_stays_behind(self, driver: Collector, tmp_path: Path) -> None:
        """Folder, variables, signal handlers, threads, open files and child processes are after a session what
        they were before it; so are they after one that failed."""

        def lead() -> None:
            with Measuring(driver, self.job(tmp_path, "pass")) as measuring:
                measuring.run()
            with pytest.raises(CommandFailedError), Measuring(driver, self.job(tmp_path, FAIL)) as measuring:
                measuring.run()

        lead()  # what is imported or cached for good by the first one may stay
        before = _surroundings()
        lead()
        assert _surroundings() == before

    def _told(self, driver: Collector, job: Job) -> tuple[list[str], str, dict[str, str]]:
        """What a command that runs ECHO got: words (bytes as latin-1), folder, variables."""
        with Measuring(driver, job) as measuring:
            measuring.run()
        words, cwd, variables = json.loads((job.cwd / "told").read_text())
        return words, cwd, variables


def _signals(status: str, name: str) -> set[int]:
    """The signals of a set in the text of /proc/PID/status."""
    (digits,) = (line.partition(":")[2] for line in status.splitlines() if line.startswith(f"{name}:"))
    return {number for number in range(1, 65) if int(digits, 16) >> number - 1 & 1}


def _surroundings() -> dict[str, Any]:
    """What a collector could leave changed in this process. Open files and children only where /proc tells."""
    state: dict[str, Any] = {
        "folder": os.getcwd(),
        "variables": dict(os.environ),
        "handlers": {signal_number: signal.getsignal(signal_number) for signal_number in signal.valid_signals()},
        "threads": sorted(thread.name for thread in threading.enumerate()),
    }
    if hasattr(os, "sched_getaffinity"):
        state["cpus"] = os.sched_getaffinity(0)
    if os.path.isdir("/proc/self/fd"):
        state["files"] = len(os.listdir("/proc/self/fd"))
        state["children"] = sorted(_children())
    return state


def _children() -> list[str]:
    """The commands of the processes whose parent this one is."""
    children = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text(errors="replace")
        except OSError:
            continue
        name, _, fields = stat.rpartition(")")
        if int(fields.split()[1]) == os.getpid():
            children.append(name.partition("(")[2])
    return children
