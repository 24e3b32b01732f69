"""What a bisection knows so far, in a file: so that it can be interrupted at any moment and go on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from perfcore import files
from perfcore.config.layers import write_atomically
from perfcore.config.trust import command_digest
from perfcore.errors import FormatError, NotFoundError, StorageError
from perfcore.model import Job, Step
from perfcore.text import printable
from perfcore_command_bisect.ancestry import VersionRange
from perfcore_command_bisect.search import FIRST_RUNS, Observation, Question

NAME = "bisect.json"
FORMAT = 1  # of the file; a newer one is refused
CONFIDENCE = 0.95  # as the confidence of every interval that perfcore prints
# A bisection of 64 versions with a step twice the noise takes 30 runs on average (benchmarks/bisection.py); 120 leave
# room for a step of the size of the noise, and end a hopeless search after some minutes.
MAX_RUNS = 120
_MAX_BYTES = 64 << 20  # a journal of 100,000 versions has 10 MB


class Reading(msgspec.Struct, frozen=True):
    """Amounts of a version; those of one session were measured in turn. `stored`: by a profile that was there
    before."""

    version: str
    amounts: tuple[float, ...]
    session: str
    apart: bool = False
    stored: bool = False


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured."""

    argv: tuple[str, ...]
    cmd: str
    args: str = ""
    workload: str = ""
    shell: bool = False
    cwd: str = "."
    env: dict[str, str] = {}
    collector: str = "time"
    params: dict[str, Any] = {}
    build: bool = True
    rebuild: bool = False

    @property
    def job(self) -> Job:
        return Job(
            argv=self.argv,
            cmd=self.cmd,
            args=self.args,
            workload=self.workload,
            shell=self.shell,
            cwd=Path(self.cwd),
            env=self.env,
            collector=Step(name=self.collector, params=self.params),
        )


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """A bisection: what is asked, and all that was learnt. `versions` are ids from the good end to the bad one;
    `earlier_runs` of the readings are those of stored profiles, which cost nothing: `max_runs` limits the others.
    `contains` as in `ancestry.VersionRange`, in hexadecimal digits. `ends_from` is the `degradation` of a history
    or its largest `step`, where the ends were taken from one."""

    format: int = FORMAT
    versions: tuple[str, ...]
    contains: tuple[str, ...] = ()
    prior: tuple[float, ...] = ()
    command: Command
    metric: str = ""
    function: str = ""
    better: str = "lower"
    unit: str = ""
    confidence: float = CONFIDENCE
    max_runs: int = MAX_RUNS
    threshold: float | None = None
    cpu: str = ""
    again: bool = False
    environment_id: str = ""
    config_id: str = ""
    readings: tuple[Reading, ...] = ()
    earlier_runs: int = 0
    broken: dict[str, str] = {}
    programs: dict[str, str] = {}
    sessions: int = 0
    ends_from: str = ""

    @property
    def question(self) -> Question:
        places = {version: index for index, version in enumerate(self.versions)}
        first: dict[str, int] = {}
        alike = set()
        programs = {} if self.again else self.programs
        for version, program in sorted(programs.items(), key=lambda item: places[item[0]]):
            index = places[version]
            if program in first:
                alike.add((first[program], index))
            first[program] = index
        return Question(
            places=len(self.versions),
            prior=self.prior,
            broken=frozenset(places[version] for version in self.broken),
            alike=frozenset(alike),
            contains=tuple(int(bits, 16) for bits in self.contains),
        )

    @property
    def evidence(self) -> list[Observation]:
        """Of a version between the ends that was measured often enough now, what was stored does not count any more.
        That of the ends tells how much their session differed."""
        places = {version: index for index, version in enumerate(self.versions)}
        known = {version for version, runs in self.fresh_runs.items() if runs >= FIRST_RUNS} - {*self.ends}
        readings = [reading for reading in self.readings if not (reading.stored and reading.version in known)]
        return [Observation(places[r.version], r.amounts, r.session, r.apart) for r in readings]

    @property
    def ends(self) -> tuple[str, str]:
        """The good version and the bad one."""
        return self.versions[0], self.versions[-1]

    @property
    def fresh_runs(self) -> Counter[str]:
        """How often each version was run, without what was stored before."""
        runs = Counter[str]()
        for reading in self.readings:
            runs[reading.version] += 0 if reading.stored else len(reading.amounts)
        return runs

    @property
    def new_runs(self) -> int:
        """The runs that this bisection took."""
        return sum(len(reading.amounts) for reading in self.readings) - self.earlier_runs

    def asks_the_same(self, other: Journal) -> bool:
        """Whether what was learnt for one answers the other."""
        mine, theirs = ((j.versions, j.command, j.function, j.metric or self.metric) for j in (self, other))
        return mine == theirs


def digest(home: Path, journal: Journal) -> str:
    """The hash of all that a bisection runs and for which versions; what it has learnt does not count."""
    command = msgspec.to_builtins(journal.command)
    return command_digest(home, of="bisection", versions=journal.versions, command=command)


def bits_of(found: VersionRange) -> tuple[str, ...]:
    return tuple(f"{bits:x}" for bits in found.contains)


def read(folder: Path) -> Journal | None:
    """The journal in a `.perf`; None where there is none. FormatError for one that is damaged."""
    path = folder / NAME
    hint = "`perf bisect --reset` removes it; then begin again"
    try:
        data = files.read(path, _MAX_BYTES, hint=hint).data
    except NotFoundError:
        return None
    printable_path = printable(str(path))
    try:
        # The number of the format first: a newer journal may have fields that this one cannot decode.
        head = msgspec.json.decode(data, type=_Head)
        if head.format > FORMAT:
            raise FormatError(
                f"{printable_path} was written by a newer perfcore", hint="finish it with that one, or " + hint
            )
        journal = msgspec.json.decode(data, type=Journal)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FormatError(f"{printable_path} is damaged: {error}", hint=hint) from error
    if wrong := _wrong(journal):
        raise FormatError(f"{printable_path} is damaged: {wrong}", hint=hint)
    return journal


def write(folder: Path, journal: Journal) -> None:
    """Replace the journal, whole or not at all."""
    # Indented for people who look into it: it may be all that is left of an hour of measuring.
    write_atomically(folder / NAME, msgspec.json.format(msgspec.json.encode(journal), indent=1) + b"\n")


def remove(folder: Path) -> bool:
    """Whether there was one."""
    path = folder / NAME
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StorageError(f"cannot remove {printable(str(path))}: {error.strerror}") from error
    return True


class _Head(msgspec.Struct):
    format: int


def _wrong(journal: Journal) -> str | None:
    """What makes no sense in a journal that can be read."""
    versions = set(journal.versions)
    named = {reading.version for reading in journal.readings} | set(journal.broken) | set(journal.programs)
    if len(versions) != len(journal.versions) or len(versions) < 2:
        return "its versions are no row"
    if not named <= versions:
        return "it tells of versions that are not in its row"
    for name, values in (("contains", journal.contains), ("prior", journal.prior)):
        if values and len(values) != len(versions):
            return f"`{name}` has not one value for each version"
    try:
        bits = [int(text, 16) for text in journal.contains]
    except ValueError:
        return "`contains` has no hexadecimal digits"
    # Each version contains itself and only older ones; anything else would index beyond the row.
    if any(not 0 <= value < 2 << index or not value >> index & 1 for index, value in enumerate(bits)):
        return "`contains` has versions inside of older ones"
    if journal.threshold is not None and not journal.threshold >= 0:
        return "its threshold is no size"
    return None if 0 < journal.confidence < 1 else "its confidence is no probability"
