"""Every contract between perfcore and its plugins.

Each kind of plugin is one Protocol. A driver is a plain class with these methods, named by an entry point of the
group `perfcore.<kind>`; perfcore makes it with `Driver(settings)`, where `settings` is an instance of the class
attribute `Settings` (see `perfcore.settings`), or with `Driver()` where it has none. Kinds that live in one place
(`vcs`, `storage`) are made with `Driver(place)` or `Driver(place, settings)`.

The methods are at the same time pluggy specifications named `<kind>_<method>`; a driver that does not fit is
refused when it is loaded. A method has the arguments shown here, in this order; in the phases of collectors,
postprocessors and checks, those at the end that it does not need may be left out. What it adds of its own has a
default. Methods marked optional may be missing. A driver does not inherit from its Protocol.

Every kind has laws: a test class in `perfcore_testing`, which `perf plugins check` tries on an installed plugin. A
driver that has to say more for that (what its files are called, what it is not made for) names a subclass of it:
`contract = "my_company.laws:MyContract"`.

An observer of another distribution wraps a phase of collectors, postprocessors or checks, whichever is in use.
It is a generator function under the group `perfcore.hooks`, and its entry point's name says what it wraps:

    [project.entry-points."perfcore.hooks"]
    "collector.collect:pin" = "my_company:pin_cpus"

    def pin_cpus(session, run):
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {0})
        try:
            return (yield)
        finally:
            os.sched_setaffinity(0, before)

A plain function in its place is called before the phase. What a generator returns takes the place of the phase's
result, if it is of the same type; `return (yield)` and no return at all leave the result as it is. An error of the
phase is raised at the `yield`, and goes on whatever the observer does. For an event (`Events`), the part before the
colon is the event's name: `profile_registered:mail`. An observer takes those of the arguments that it needs. One
that fails is a warning; what it observed goes on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

from perfcore.named_tuple import NamedTuple

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from perfcore.analysis.check_result import CheckResult
    from perfcore.analysis.sensitivity import CalibrationReport, CalibrationTask
    from perfcore.config.layers import Config
    from perfcore.errors import FormatError, PerfError
    from perfcore.library import History
    from perfcore.model import (
        Build,
        Change,
        Entry,
        Job,
        JudgedHistory,
        Judgement,
        MajorVersion,
        Measured,
        MinorVersion,
        Pairing,
        Plan,
        Profile,
        Series,
        ViewData,
    )
    from perfcore.model.listener import Listener
    from perfcore.plugins.registry import Plugins
    from perfcore.profile.recording import Outcome, Run, Session
    from perfcore.repository.repository import Repository

API = 1
"""The version of all contracts on this page. A change that breaks a driver raises it, and the second number of the
core's version with it, so that the requirement of a distribution (`perfcore-core>=0.1,<0.2`) refuses a misfit."""

D = TypeVar("D")
F = TypeVar("F", bound=Callable[..., Any])


def optional(method: F) -> F:
    """Marks a method that a driver may leave out."""
    method.__perfcore_optional__ = True  # type: ignore[attr-defined]
    return method


@runtime_checkable
class Vcs(Protocol):
    """A version control system around one working tree, made with `Driver(root)`.

    Versions are full ids, unless a parameter is called `parameter`. Methods raise VersionError for a version
    that is unknown, ambiguous or cannot be given, with a message for people.

    The required methods are enough for every command: where `home`, `saved_state`, `export`, `read_file` and
    `changed_files` are missing, the core answers by `checkout` in a private copy of the repository, which is slower.
    The copy holds what the driver keeps at the top of the tree, so nothing there may name the tree by its absolute
    path. A driver that cannot check out versions in place has `export`.

        git = Git(Path("/src/project"))
        head = git.get_minor_head()
        with tempfile.TemporaryDirectory() as folder:
            git.export(head, Path(folder))
    """

    @classmethod
    def detect(cls, path: Path) -> Path | None:
        """The root of the working tree that holds `path`, or None. Cheap: it is asked for every command."""
        ...

    def init(self) -> None:
        """Make an empty repository at the root. Called by `perf init --init-vcs`."""

    @optional
    def home(self) -> Path:
        """The directory where `.perf` belongs: the same for all working trees linked to one repository. Without this
        method it is the root."""
        ...

    def walk_minor_versions(self, head: str) -> Iterator[MinorVersion]:
        """`head` and its ancestors, streamed, every version before its parents, newest first."""
        ...

    @optional
    def newest_minor_versions(self, head: str, count: int) -> Iterator[MinorVersion]:
        """At most so many of the same, for listings, without a look at the others: where clocks were wrong, a version
        may come after its parent."""
        ...

    def walk_major_versions(self) -> Iterator[MajorVersion]:
        """All named lines of versions, sorted by name."""
        ...

    def get_minor_head(self) -> str:
        """The version that is checked out. VersionError when there is none yet."""
        ...

    def get_head_major_version(self) -> MajorVersion:
        """The line that is checked out; its name is empty when the head is detached."""
        ...

    def get_minor_version_info(self, version: str) -> MinorVersion:
        """What is known of one version."""
        ...

    def check_minor_version_validity(self, version: str) -> None:
        """VersionError unless the id names a version."""

    def massage_parameter(self, parameter: str) -> str:
        """The full id of anything people write for a version (`HEAD~2`, a tag, a short id)."""
        ...

    def is_dirty(self) -> bool:
        """Whether tracked files differ from the head. `.perf` and `.tagit` never count."""
        ...

    def save_state(self) -> str:
        """Put uncommitted changes aside and return a token for them. The token is journalled by the driver
        before anything is touched, so that a command killed at any later instant leaves a trace."""
        ...

    def restore_state(self, state: str) -> None:
        """Go back to what `save_state` saw: head, changes, index; and drop the journal."""

    @optional
    def saved_state(self) -> str | None:
        """The token of a state that a dead process saved and never restored. Asked by every command that opens
        the repository, so it costs no more than a look at one file."""
        ...

    def checkout(self, version: str) -> None:
        """Put the working tree at a version. Only called between save_state and restore_state."""

    @optional
    def export(self, version: str, directory: Path) -> None:
        """The clean tree of a version in an empty directory elsewhere."""

    @optional
    def read_file(self, version: str, path: str) -> bytes:
        """One file's content at a version; NotFoundError where it has none."""
        ...

    @optional
    def changed_files(self, old: str | None, new: str) -> tuple[str, ...]:
        """Paths that differ between two versions, sorted; against the empty tree for None."""
        ...

    @optional
    def worktree(self, version: str, directory: Path) -> None:
        """Like `export`, but cheaper for large trees; `directory` does not exist yet. The user's tree, index and
        stash stay as they are."""

    @optional
    def remove_worktree(self, directory: Path) -> None:
        """Undo `worktree`, also one that a killed process left half made."""

    @optional
    def last_release(self, version: str) -> str | None:
        """The full id of the newest release before a version (in git: of the newest tag that it contains); None where
        there is none."""
        ...

    @optional
    def missing_history(self) -> str | None:
        """Why the oldest versions are not here (in git: a shallow clone), and how to get them; None where all are."""
        ...

    @optional
    def tags(self) -> Mapping[str, str]:
        """The full ids of all versions that have a tag (a release), by the names of the tags."""
        ...

    @optional
    def remotes(self) -> Mapping[str, str]:
        """The repositories that versions are pushed to, as URLs or paths (relative to `home`), by their names."""
        ...

    @optional
    def author(self) -> str:
        """The author of a version that is made now: `Name <address>`; empty where none is configured."""
        ...

    @optional
    def install_trigger(self, command: Sequence[str]) -> Path:
        """Have `command` run after every new version; gives the file it was written to."""
        ...

    @optional
    def ignore(self, path: Path) -> None:
        """Keep a directory of the working tree out of every version. Called by `perf init` with `.perf`."""


@runtime_checkable
class Collector(Protocol):
    """Measures one command, one run at a time. The core owns the schedule: repeats, warm-up, budget, order.

    A class attribute `schedule` holds other defaults of it: `schedule = {"repeat": 1, "warmup": 0}`.

    class Wall:
        def before(self, job):
            return Session(job, columns=[ColumnSpec("wall", "i64", "ns", "value")])

        def collect(self, session, run):
            start = time.perf_counter_ns()
            run.exitcode = subprocess.call(session.job.argv, cwd=session.job.cwd)
            run.rows.add(wall=time.perf_counter_ns() - start)

        def after(self, session, outcome):
            pass
    """

    def before(self, job: Job) -> Session:
        """Called once for a job before its first run: check that it can be measured, prepare."""
        ...

    def collect(self, session: Session, run: Run) -> None:
        """Called for exactly one run. Rows go to `run.rows`; a run that cannot count is an error raised."""

    def after(self, session: Session, outcome: Outcome) -> None:
        """Called whenever `before` returned, also after a failure; may complete or replace what was recorded."""


@runtime_checkable
class Postprocessor(Protocol):
    """Turns a profile into another.

    class Double:
        def before(self, profile): ...

        def postprocess(self, profile):
            return profile

        def after(self, profile): ...
    """

    def before(self, profile: Profile) -> None:
        """Called first: refuse a profile that cannot be worked on."""

    def postprocess(self, profile: Profile) -> Profile:
        """The new profile. The old one is never changed."""
        ...

    def after(self, profile: Profile) -> None:
        """Called with what `postprocess` returned, or with the old profile if it failed."""


class Output(Protocol):
    """Where a view or a plugin's command writes. `path` is the file the user asked for, `width` the columns of
    the terminal (None elsewhere), `color` whether colours are wanted."""

    path: Path | None
    width: int | None
    color: bool

    def write(self, text: str) -> None:
        """To the file, or else to standard output, as it is."""

    def write_bytes(self, data: bytes) -> None:
        """The same for bytes."""

    def say(self, text: str) -> None:
        """To people, on standard error."""


@runtime_checkable
class View(Protocol):
    """Shows profiles, histories or changes.

    A class attribute `accepts` names the data that it can show, any of `profiles`, `pair`, `series` and `changes`: it
    is called with at least one of these. Without it, a view accepts profiles.

    class Names:
        accepts = ("profiles",)

        def render(self, subject, output):
            for name in subject.names:
                output.write(name + "\\n")
    """

    def render(self, subject: ViewData, output: Output) -> None:
        """Write the picture. The data are loaded when the view asks for them. Names in them are text and stay text, in
        a terminal as in HTML."""


class Stored(NamedTuple):
    """What `read` gives: the bytes, and a tag that changes whenever they do."""

    data: bytes
    tag: str


class Listed(NamedTuple):
    """One row of `list`: `modified` is nanoseconds since 1970 UTC."""

    key: str
    size: int
    modified: int
    tag: str


@runtime_checkable
class Storage(Protocol):
    """Bytes by key, made with `Driver(place)`.

    A key is one name or several joined by `/`, each of ASCII letters, digits and `._-+@`, that neither begins
    with `-` nor ends with `.`; names of up to 150 characters work. Anything else is refused with StorageError
    before the place is touched. Keys that differ only in case may be the same, and a key may be refused that
    begins with another one and a slash.

    Many processes use one place at once, and any of them may be killed at any instant: a key then holds the
    old bytes or the new ones, whole. What a method returned from is durable. Reading and listing never write.

        tag = storage.create("objects/ab/cdef", b"1")
        storage.replace("objects/ab/cdef", b"2", tag)

    A tag is opaque and belongs to its key. Whichever method gave it, `replace` and `delete` take it.
    """

    def read(self, key: str) -> Stored:
        """KeyMissingError where there is nothing."""
        ...

    def create(self, key: str, data: bytes) -> str:
        """Write a new key and give its tag; KeyExistsError where there is something, which stays."""
        ...

    def replace(self, key: str, data: bytes, tag: str | None) -> str:
        """Compare and swap: ConflictError unless the key still has this tag (None: is not there)."""
        ...

    def delete(self, key: str, tag: str) -> None:
        """Remove; ConflictError unless the key still has this tag; KeyMissingError where it is gone."""

    def touch(self, key: str) -> None:
        """Make a key look new, so that it outlives a collection of garbage; also makes sure that it is
        durable, whoever wrote it. KeyMissingError where it is gone."""

    def list(self, prefix: str) -> Iterator[Listed]:
        """All keys that begin with the prefix, a string like any other (`objects/a` finds `objects/ab/c`),
        sorted; nothing for one that is not there, StorageError for one that no key can begin with. The tag of
        a listed key also changes with `touch`. A key that is there all the time is listed once, whatever else
        changes meanwhile; what was listed may be gone by the time it is asked for."""
        ...

    @optional
    def read_range(self, key: str, offset: int, length: int) -> bytes:
        """The bytes from an offset on, as many as asked for; fewer where the key ends, none beyond its end. There is no
        tag, which would need all bytes. KeyMissingError where there is nothing."""
        ...

    @optional
    def read_many(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Those keys that are there with their bytes, in any order. `keys` may be endless: some are asked for at a
        time, and no more than a few contents are in memory at once. A key that comes twice may be given twice."""
        ...

    @optional
    def missing(self, keys: Iterable[str]) -> Iterator[str]:
        """Those keys that are not there, in any order, streamed in the same way."""
        ...

    @optional
    def write_many(self, writes: Iterable[tuple[str, bytes, str | None]]) -> None:
        """Each (key, data, tag) as `replace` does it, so that the tag None creates: all of them, or none where an error
        is raised. ConflictError unless each key still has its tag. For places where every write is a connection."""
        ...

    @optional
    def create_many(self, items: Iterable[tuple[str, bytes]]) -> Sequence[str]:
        """Write each (key, data) whose key is new, durably, and give the keys that were there, which stay. One by one:
        where it ends early, some are written. For places where waiting for the disk takes most of the time."""
        ...

    @optional
    def stamps(self, prefix: str) -> Mapping[str, str]:
        """A stamp for each folder at the place where a prefix ends (for `objects/` these are `objects/ab/`, ...).
        As long as a folder has the same stamp, no key directly in it was created, replaced or deleted, and what was
        read from them after the stamp was given still holds. It is empty where that cannot be told, as just after a
        change whose time is not yet over. A folder that is not there had no keys. Far cheaper than `list`, or else
        better left out: then everything is read again each time."""
        ...

    @optional
    def warnings(self) -> Sequence[str]:
        """What people should know about the place before they rely on it, each in one line."""
        ...

    @optional
    def prune(self, before: int) -> int:
        """Remove what killed processes left behind and nobody wrote to since that time (ns since 1970 UTC),
        which is never a key; gives how many. Called by `perf gc`."""
        ...

    @optional
    def pack(self, prefix: str) -> int:
        """Keep the keys below a first folder (`objects/`) in less space and fewer files; gives how many were moved.
        Keys have the same bytes afterwards, though a zlib stream may be another one of the same content; listed tags
        are others, times no older. Called by `perf gc`."""
        ...

    @optional
    def damaged(self, prefix: str) -> Sequence[str]:
        """What is damaged of that in which a storage keeps several keys, each in one line for people: `perf fsck` reads
        the keys besides."""
        ...


@runtime_checkable
class Check(Protocol):
    """Finds changes. A driver has `compare`, `scan` or `judge`, or several of them.

    class Halved:
        def compare(self, pairing):
            return []
    """

    @optional
    def compare(self, pairing: Pairing) -> Sequence[Change]:
        """One verdict for every metric of two samples of one configuration. Called several times with runs that grow
        by `perf compare`, each time with the `share` of the chance of a false alarm that may be spent."""
        ...

    @optional
    def scan(self, series: Series, state: bytes | None) -> tuple[Sequence[Change], bytes]:
        """The changes in a history. `state` is what the last scan of this series gave, so that a new version
        does not recompute everything; None at first, or when the series no longer begins as it did."""
        ...

    @optional
    def scan_many(self, series: Sequence[Series], memory: MutableMapping[str, bytes]) -> Sequence[Sequence[Change]]:
        """The changes in histories of one metric over the same versions (with no values where nothing was measured),
        in their order, without what all of them share: that is the machine. Asked for where there are many. `memory`
        has what the last scan put there, or nothing."""
        ...

    @optional
    def judge(self, history: JudgedHistory, version: str) -> Judgement:
        """Verdicts on a version as a whole, after the other checks have compared it (`history.changes`): on what was
        agreed, such as a budget. `check.judges` names the checks that are asked."""
        ...

    @optional
    def calibrate(self, task: CalibrationTask) -> CalibrationReport:
        """How small a change the checks detect in the stored history, and how often they raise a false alarm. Called
        by `perf check --calibrate` on the check `calibration`."""
        ...

    @optional
    def calibrated(self, repository: Repository, config_ids: Container[str]) -> Iterable[str]:
        """What stored calibrations found for these configurations, in lines for `perf status`."""
        ...


@runtime_checkable
class Diff(Protocol):
    """What differs between two profiles, as a profile."""

    def diff(self, baseline: Profile, target: Profile) -> Profile:
        """Amounts of the result are target minus baseline."""
        ...


@runtime_checkable
class Aggregate(Protocol):
    """Several profiles as one. A driver has `aggregate`, or the four methods of an accumulator, with which a thousand
    profiles need the memory of one. All profiles are of one type.

    class Count:
        def start(self):
            return []

        def add(self, state, profile):
            return [*state, profile.header.type]
    """

    @optional
    def aggregate(self, profiles: Sequence[Profile]) -> Profile:
        """`profiles` is not empty and of one type. perfcore enters their ids as the sources of the result."""
        ...

    @optional
    def start(self) -> Any:
        """The state before the first profile."""
        ...

    @optional
    def add(self, state: Any, profile: Profile) -> Any:
        """The state with one more profile. The profile is not kept: its tables may be read once."""
        ...

    @optional
    def merge(self, state: Any, other: Any) -> Any:
        """Two states as one, those of the first before those of the other. Whatever the grouping, the result is the
        same: parts may be summed by several workers."""
        ...

    @optional
    def finish(self, state: Any) -> Profile:
        """The profile of at least one that was added."""
        ...


class VersionedProfile(NamedTuple):
    """A profile as `read_all` gives it. `version` is the full id of the version it belongs to, None where the source
    does not say; `name` is the source's name for it, for messages. A `registered` profile was registered with that
    version by the other tool, and is registered here too; the others become pending."""

    profile: Profile
    version: str | None = None
    name: str = ""
    registered: bool = False


@runtime_checkable
class Format(Protocol):
    """A file format that profiles can be read from or written to. A format that reads has `read`, `read_all` or both.
    A driver with the attribute `streams = True` is given files beyond `limits.profile_bytes`: it holds no whole file.

    class Laps:
        def sniff(self, head, name):
            return head.startswith(b"laps of ")

        def read_all(self, path):
            for version, seconds in laps_of(path):
                yield VersionedProfile(profile_of(seconds), version)
    """

    def sniff(self, head: bytes, name: str) -> bool:
        """Whether a file that begins with these bytes (up to 4,096) and has this name is of the format."""
        ...

    @optional
    def read(self, path: Path) -> Profile:
        """The one profile of a file. FormatError says where the file is wrong. Without this method it is the only
        profile that `read_all` gives."""
        ...

    @optional
    def read_all(self, path: Path) -> Iterator[VersionedProfile | FormatError]:
        """Every profile of a file or a directory, each with its version, read when it is asked for. A profile that is
        damaged is given as the error, and the next ones follow; FormatError is raised where nothing can be read.
        Without this method it is what `read` gives, of no version. A directory is read only where the user names the
        format."""
        ...

    @optional
    def write(self, profile: Profile, path: Path) -> None:
        """Write one file, whole or not at all."""


class Section(NamedTuple):
    """A stretch of a stream with a name, such as a request, and the labels written inside of it."""

    name: str
    labels: tuple[tuple[str, str], ...] = ()


class Part(NamedTuple):
    """Labels of rows of a segment: those of sections that begin and end in it. Of `Segment.ended`, so many had ended
    before the rows, which also lie in these of `Segment.opened`."""

    labels: tuple[tuple[str, str], ...] = ()
    ended: int = 0
    opened: tuple[int, ...] = ()


class Segment(NamedTuple):
    """A piece of a stream of samples, named by `stream` and `number`; see `docs/plugins/source.md`."""

    stream: str
    number: int
    profile: Profile
    parts: Sequence[Part]
    path: Path
    digest: str
    length: int
    begin: int
    end: int
    clock: str = "file"
    whole: bool = True
    position: str = ""
    labels: Mapping[str, str] = {}
    ended: Sequence[Section] = ()
    opened: Sequence[Section] = ()
    loose: tuple[tuple[str, str], ...] = ()
    parent: tuple[str, int] | None = None
    codes: Mapping[int, str] = {}


@runtime_checkable
class Source(Protocol):
    """Reads profiles that arrive by themselves, as segments of streams.

    class Laps:
        def read(self, paths, position):
            return map(segment_of, paths)
    """

    def sniff(self, head: bytes, name: str) -> bool:
        """Whether a file that begins with these bytes (up to 4,096) and has this name is of the source."""
        ...

    def read(self, paths: Iterable[Path], position: str) -> Iterator[Segment | tuple[Path, FormatError]]:
        """Every segment of these files behind a position, empty at first; of a file without one, why. The same segment
        may come again, and counts once. Segments may share the tables of their stacks."""
        ...


@runtime_checkable
class Workload(Protocol):
    """Makes inputs of growing size for the commands of a job matrix that names it in `workloads`."""

    def generate(self, spec: Mapping[str, Any], directory: Path) -> Iterator[Path]:
        """Files below `directory`, the smallest first; the same names and bytes for the same spec."""
        ...


@runtime_checkable
class Environment(Protocol):
    """Makes the environment in which a version is built and measured: its interpreter, packages, programs. The key
    `execute.environment` names one.

    class Tools:
        @contextlib.contextmanager
        def provide(self, tree, directory, build):
            locked = hashlib.sha256((tree / "tools.lock").read_bytes()).hexdigest()
            folder = directory / locked
            if not folder.exists():
                install(tree, folder, build.timeout)
            yield {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
    """

    def provide(self, tree: Path, directory: Path, build: Build) -> AbstractContextManager[Mapping[str, str]]:
        """The variables to set for the version in `tree`. Its environment is in a folder of `directory`, that of all
        environments of a repository: equal contents share one, and several commands may ask at once. Nobody removes it
        while the context is open. CommandFailedError where it cannot be made, in `build.timeout` seconds; what failed
        or was killed is never used. At most `build.cache` bytes are kept; `build.rebuild` asks for a new one."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Measures plans: here, in a queue, on other machines.

    A plan is plain data, with everything that a worker needs: it pickles. perfcore-executor-kit writes it as bytes, and
    has a worker that speaks through pipes.

    class Alone:
        def submit(self, plan, listener=None):
            _, local = Plugins().make(EXECUTOR, "local")
            with Lock("measuring.lock").hold(3600, PerfError("somebody else measures")):
                yield from local.submit(plan, listener)
    """

    def submit(self, plan: Plan, listener: Listener | None = None) -> Iterator[Measured]:
        """The answers of all sessions, those of a session together and in the order of its jobs, as soon as they are
        there; a job that fails does not end the others. `Measured.retry` says whether another try makes sense. A
        caller that closes the iterator cancels: processes end and trees are removed. `listener` hears of progress; an
        executor that reports none may leave it out."""
        ...


@runtime_checkable
class Notifier(Protocol):
    """Tells somebody about the result of a check."""

    def notify(self, report: Mapping[str, Any]) -> None:
        """`report` is what `perf check --json` prints."""


class CommandContext(Output, Protocol):
    """The surroundings of a command, found as `ctx.obj`. The verbs of perfcore have the same object."""

    directory: Path

    @property
    def history(self) -> History:
        """The library, on the repository around `directory`. NotFoundError outside of one."""

    @property
    def plugins(self) -> Plugins:
        """The installed plugins, less the disabled ones."""

    @property
    def config(self) -> Config:
        """The configuration; outside of a repository only the user's."""

    def line(self, text: str = "") -> None:
        """One line to the output."""

    def json(self, value: Any) -> None:
        """One JSON document to the output, with unsafe characters escaped."""

    def warn(self, text: str) -> None:
        """A warning to people, once."""

    def paint(self, text: str, color: str) -> str:
        """The text in a colour (red, green, yellow, blue, bold, dim) where colours are wanted."""

    def confirm(self, question: str) -> bool:
        """The answer of the user at a terminal; elsewhere no."""

    def progress(self, done: int, total: int, text: str) -> None:
        """The progress of a long work, at a terminal. The context is a `perfcore.model.listener.Listener`."""

    def clear_progress(self) -> None:
        """Remove the line of `progress`."""

    def note(self, text: str) -> None:
        """A note of an engine to people, once."""

    def saved(self, name: str) -> None:
        """Called by an engine that saved a profile."""

    def failed(self, subject: str, error: PerfError) -> None:
        """The failure of a part of the work, while the rest goes on."""


@runtime_checkable
class Command(Protocol):
    """A command of its own, added to `perf`: the entry point's name is the verb, or a verb and a word (`plugins.new` is
    `perf plugins new`). The first line of the class's documentation stands in `perf --help`, below the heading that an
    attribute `chapter` names, behind the verb that `after` names. The class is imported when the command or the help is
    used, so its module is to be light.

    class Hello:
        def app(self):
            app = typer.Typer()

            @app.command()
            def hello(ctx: typer.Context):
                ctx.obj.line(f"hello from {ctx.obj.history.version()}")

            return app
    """

    def app(self) -> Any:
        """A new `typer.Typer`. Its commands find a `CommandContext` as `ctx.obj` and print through it only."""
        ...

    @optional
    def call(self, history: History, arguments: Mapping[str, Any]) -> Any:
        """The same command as a call of the library, `History.command(name, **arguments)`: a frozen result, nothing
        printed."""


class Sources(Protocol):
    """Files of the project at any version, for reports. What is absent, or unknown to the VCS, is None or empty."""

    def version(self, name: str = "") -> str | None:
        """The full id of a version as a verdict writes it; that of the head for an empty name."""
        ...

    def parent(self, version: str) -> str | None:
        """The id of the first parent."""
        ...

    def changed(self, old: str | None, new: str) -> tuple[str, ...]:
        """The paths that differ between two versions, or all paths of the new one for None."""
        ...

    def read(self, version: str | None, path: str) -> bytes | None:
        """The bytes of a file at a version, or in the working tree for None."""
        ...


@runtime_checkable
class Report(Protocol):
    """Writes the result of a check or a comparison for another tool.

    class Teamcity:
        def render(self, result, sources):
            lines = [f"##teamcity[buildProblem description='{change.metric}']" for change in result.failing]
            return "".join(f"{line}\\n" for line in lines)
    """

    def render(self, result: CheckResult, sources: Sources) -> str | bytes:
        """The whole report. `result.changes` are the verdicts and `result.unpaired` the configurations without a
        baseline; `result.accepted` are acceptances by the id of a change, and `result.fails(change)` says whether one
        fails the build."""
        ...


class SharedSet(Protocol):
    """Records under the keys `NAME/...`, NAME being that of the entry point, in the format of
    `perfcore_storage_kit.sets`: push and pull bring them along, and `gc` keeps the objects that they refer to.

    class Ratings:
        def redacted(self, key, data, rules):
            record = sets.decode(data, key)
            return sets.encode(record._replace(payload=rules.text(record.payload.decode()).encode()))
    """

    @optional
    def redacted(self, key: str, data: bytes, rules: Any) -> bytes | None:
        """A record as it leaves the machine by the rules of a push, a `perfcore_storage_kit.sets.Rules`; None where it
        cannot leave. Without this method nothing of the set leaves while there are rules."""


class Events:
    """What observers can listen to without wrapping anything. Several may answer; all are called."""

    def environment(self) -> Mapping[str, Any]:
        """Facts about the machine to be added to `machine`: the flags of the compiler, the name of the host's
        pool. Not secrets: they are stored."""
        return {}

    def profile_collected(self, profile: Profile, job: Job) -> None:
        """After a profile was written to the pending ones."""

    def profile_registered(self, entry: Entry, version: str) -> None:
        """After the index of the version holds the entry for good."""

    def check_done(self, changes: Sequence[Change]) -> None:
        """After a check, before its exit code."""


class Kind(NamedTuple, Generic[D]):
    """A kind of plugin. `wrapped` are the phases that observers can wrap, `shortened` the methods whose arguments with
    a default a driver may leave out."""

    name: str
    protocol: type[D]
    wrapped: tuple[str, ...] = ()
    placed: bool = False
    shortened: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        return f"perfcore.{self.name}"

    @property
    def methods(self) -> tuple[str, ...]:
        protocol: type = self.protocol
        return _methods(protocol)

    @property
    def required(self) -> tuple[str, ...]:
        protocol: Any = self.protocol
        return tuple(m for m in self.methods if not hasattr(_function(vars(protocol)[m]), "__perfcore_optional__"))


HOOKS_GROUP = "perfcore.hooks"
VCS = Kind("vcs", Vcs, placed=True)
VCS_BUILT = ("home", "saved_state", "export", "read_file", "changed_files")
"""The optional methods of the kind `vcs` that the core builds where a driver lacks them."""
COLLECTOR = Kind("collector", Collector, ("before", "collect", "after"))
POSTPROCESSOR = Kind("postprocessor", Postprocessor, ("before", "postprocess", "after"))
VIEW = Kind("view", View)
STORAGE = Kind("storage", Storage, placed=True)
CHECK = Kind("check", Check, ("compare", "scan", "scan_many", "judge"))
DIFF = Kind("diff", Diff)
AGGREGATE = Kind("aggregate", Aggregate)
FORMAT = Kind("format", Format)
SOURCE = Kind("source", Source)
ENVIRONMENT = Kind("environment", Environment)
WORKLOAD = Kind("workload", Workload)
EXECUTOR = Kind("executor", Executor, shortened=("submit",))
NOTIFIER = Kind("notifier", Notifier)
REPORT = Kind("report", Report)
SET = Kind("set", SharedSet)
COMMAND = Kind("command", Command)
KINDS: Mapping[str, Kind[Any]] = {kind.name: kind for kind in tuple(vars().values()) if isinstance(kind, Kind)}
EVENTS: tuple[str, ...] = tuple(name for name in vars(Events) if not name.startswith("_"))


@functools.cache  # a driver's every attribute is asked whether it is one of them
def _methods(protocol: type) -> tuple[str, ...]:
    return tuple(name for name, value in vars(protocol).items() if name[0] != "_" and callable(_function(value)))


def _function(value: Any) -> Any:
    return value.__func__ if isinstance(value, classmethod | staticmethod) else value
