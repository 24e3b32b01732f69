"""What is measured, against whom, and how well perfcore wants to do: one declaration for each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import attrs

from benchmarks.yardstick import figures
from benchmarks.yardstick.cost import Program, Quantity
from benchmarks.yardstick.figures import Figure
from benchmarks.yardstick.room import FOLDED, Room, perun_pending, script

MB = 1_000_000
Command = Callable[[Room, int], Program]


@attrs.frozen
class Slope:
    """How many times the peer's CPU time ours may be for each one more, and the seconds of CPU that we may take for
    none: both from a line through the two sizes."""

    each: float
    none: float


@attrs.frozen(kw_only=True)
class Measurement:
    """Two programs that do the same. `sizes` says how often they are run for which size, `aims` how many times the
    peer's cost ours may be at most for the size `aim_at` (the smallest by default), `limits` what ours may be at most
    for the largest, in seconds or bytes, and `growth` how many times as long the largest size may take us as the one
    before."""

    name: str
    what: str
    peer: str
    ours: Command
    theirs: Command
    sizes: Mapping[int, int]
    aims: Mapping[Quantity, float]
    of: str = ""
    aim_at: int = 0
    peer_up_to: int = 0
    limits: Mapping[Quantity, float] = {}
    growth: float | None = None
    slope: Slope | None = None
    also: Sequence[Quantity] = ()


@attrs.frozen(kw_only=True)
class Weight:
    """What lies on the disk, against the same of the peer, or (`limit`) so many bytes."""

    name: str
    what: str
    peer: str
    ours: Callable[[Room], Path]
    theirs: Callable[[Room], Path]
    share: float | None = None
    limit: int | None = None


def _status(room: Room, _: int) -> Program:
    return room.program(room.perf("status"), room.small(), prints=3)


def _perun_status(room: Room, _: int) -> Program:
    return room.program(room.perun("status"), room.small(), prints=3)


def _help(room: Room, _: int) -> Program:
    return room.program(room.perf("collect", "time", "--help"), room.small(), prints=10)


def _perun_help(room: Room, _: int) -> Program:
    return room.program(room.perun("collect", "time", "--help"), room.small(), prints=10)


def _version(room: Room, _: int) -> Program:
    return room.program(room.perf("--version"), room.small())


def _bare_python(room: Room, _: int) -> Program:
    return room.program(room.python("-c", "pass"), room.small(), prints=0)


def _log(room: Room, versions: int) -> Program:
    return room.program(room.perf("log"), room.history(versions), prints=versions * 7)


def _first_log(room: Room, versions: int) -> Program:
    """Without what earlier commands remembered."""
    return attrs.evolve(_log(room, versions), without=(room.history(versions) / "work/.perf/cache",))


def _perun_log(room: Room, versions: int) -> Program:
    return room.program(room.perun("--no-pager", "log"), room.history(versions), prints=versions * 5)


def _git_log(room: Room, versions: int) -> Program:
    return room.program(("git", "log"), room.history(versions), prints=versions * 5)


def _log_few(room: Room, versions: int) -> Program:
    return room.program(room.perf("log", "-n", "20"), room.history(versions), prints=20 * 7)


def _git_log_few(room: Room, versions: int) -> Program:
    return room.program(("git", "log", "-n", "20"), room.history(versions), prints=20 * 5)


def _show_head(room: Room, rows: int) -> Program:
    return room.program(room.perf("show", "--head", "3", "0@p", "table"), room.pending("rows", rows), prints=3)


def _add_to_many(room: Room, profiles: int) -> Program:
    return room.program(room.perf("add", "0@p"), room.crowded(profiles), makes=".perf/objects")


def _perun_add_to_many(room: Room, profiles: int) -> Program:
    return room.program(room.perun("add", "0@p"), room.crowded(profiles), makes=".perun/objects")


def _import_folded(room: Room, stacks: int) -> Program:
    return room.program(room.perf("import", "folded", FOLDED), room.folded(stacks), makes=".perf/objects")


def _perun_import_folded(room: Room, stacks: int) -> Program:
    return room.program(room.perun("import", "perf", "stack", FOLDED), room.folded(stacks), makes=".perun/jobs")


def _add_rows(room: Room, rows: int) -> Program:
    return room.program(room.perf("add", "0@p"), room.calls(rows), makes=".perf/objects")


def _import_rows(room: Room, rows: int) -> Program:
    place = room.calls(rows)
    file = str(perun_pending(place / "pristine"))
    return room.program(room.perf("import", "--add", "perun", file), place, makes=".perf/objects")


def _perun_add_rows(room: Room, rows: int) -> Program:
    return room.program(room.perun("add", "0@p"), room.calls(rows), makes=".perun/objects")


def _add_allocations(room: Room, stacks: int) -> Program:
    return room.program(room.perf("add", "0@p"), room.allocations(stacks), makes=".perf/objects")


def _perun_add_allocations(room: Room, stacks: int) -> Program:
    return room.program(room.perun("add", "0@p"), room.allocations(stacks), makes=".perun/objects")


def _add_samples(room: Room, stacks: int) -> Program:
    return room.program(room.perf("add", "0@p"), room.samples(stacks), makes=".perf/objects")


def _perun_add_samples(room: Room, stacks: int) -> Program:
    return room.program(room.perun("add", "0@p"), room.samples(stacks), makes=".perun/objects")


def _flamegraph(room: Room, resources: int) -> Program:
    argv = room.perf("show", "-f", "-o", "flame.html", "0@p", "flamegraph")
    return room.program(argv, room.samples(resources), prints=0, makes="flame.html")


def _flamegraph_of_samples(room: Room, stacks: int) -> Program:
    argv = room.perf("show", "-f", "-o", "flame.html", "0@p", "flamegraph")
    return room.program(argv, room.pending("sampled", stacks), prints=0, makes="flame.html")


def _python_of_samples(room: Room, stacks: int) -> Program:
    return room.program(room.python("-c", "pass"), room.pending("sampled", stacks), prints=0)


def _python_script(room: Room, resources: int) -> Program:
    argv = room.perun_python(room.perun_script("flamegraph.py"), FOLDED)
    return room.program(argv, room.samples(resources), prints=100)


def _perl_script(room: Room, resources: int) -> Program:
    argv = ("perl", room.perun_script("flamegraph.pl"), FOLDED)
    return room.program(argv, room.samples(resources), prints=100)


def _collect(room: Room, runs: int) -> Program:
    argv = room.perf("collect", "time", "--warmup", "0", "--repeat", str(runs), "--", "true")
    return room.program(argv, room.small(), makes=".perf/jobs")


def _hyperfine(room: Room, runs: int) -> Program:
    argv = ("hyperfine", "-N", "--warmup", "0", "--runs", str(runs), "true")
    return room.program(argv, room.small())


def _check(room: Room, versions: int) -> Program:
    argv = room.perf("check", "all", "--no-store", "--fail-on", "never")
    return room.program(argv, room.suite(versions), prints=5)


def _first_check(room: Room, versions: int) -> Program:
    return attrs.evolve(_check(room, versions), without=(room.suite(versions) / "work/.perf/cache",))


def _publish(room: Room, versions: int) -> Program:
    return room.program(room.perf("publish", "../site"), room.suite(versions))


def _first_publish(room: Room, versions: int) -> Program:
    place = room.suite(versions)
    return attrs.evolve(_publish(room, versions), without=(place / "work/.perf/cache", place / "site"))


def _publish_more(room: Room, versions: int) -> Program:
    place = room.suite(versions)
    return attrs.evolve(_publish(room, versions), after=(sys.executable, script("suite.py"), "more", str(place)))


def _asv_publish(room: Room, versions: int) -> Program:
    place = room.suite(versions)
    return Program(
        argv=(room.asv(), "publish"), cwd=place / "asv", home=room.home, prints=0, without=(place / "asv/html",)
    )


MEASUREMENTS = (
    Measurement(
        name="status",
        what="`perf status`",
        peer="Perun",
        ours=_status,
        theirs=_perun_status,
        sizes={1: 15},
        aims={"CPU": 0.25},
    ),
    Measurement(
        name="help",
        what="`perf collect time --help`",
        peer="Perun",
        ours=_help,
        theirs=_perun_help,
        sizes={1: 9},
        aims={"CPU": 0.05},
    ),
    Measurement(
        name="version",
        what="`perf --version`",
        peer="python -c pass",
        ours=_version,
        theirs=_bare_python,
        sizes={1: 25},
        aims={"CPU": 1.3},
    ),
    Measurement(
        name="log",
        what="`perf log`",
        of="versions",
        peer="Perun",
        ours=_log,
        theirs=_perun_log,
        sizes={1_000: 5, 10_000: 3, 100_000: 1},
        aim_at=10_000,
        aims={"CPU": 0.08},
        also=("memory",),
        growth=10,
    ),
    Measurement(
        name="log-first",
        what="`perf log`, nothing remembered",
        of="versions",
        peer="Perun",
        ours=_first_log,
        theirs=_perun_log,
        sizes={1_000: 3, 10_000: 3},
        aim_at=10_000,
        aims={"CPU": 0.1},
    ),
    Measurement(
        name="log-git",
        what="`perf log`",
        of="versions",
        peer="git log",
        ours=_log,
        theirs=_git_log,
        sizes={1_000: 7, 10_000: 7, 100_000: 3},
        aim_at=10_000,
        aims={"CPU": 3},
        growth=10,
    ),
    Measurement(
        name="log-few",
        what="`perf log -n 20`",
        of="versions",
        peer="git log -n 20",
        ours=_log_few,
        theirs=_git_log_few,
        sizes={1_000: 7, 100_000: 7},
        aims={},
        also=("CPU", "memory"),
        growth=1.1,
    ),
    Measurement(
        name="show",
        what="`perf show --head 3`",
        of="rows",
        peer="python -c pass",
        ours=_show_head,
        theirs=_bare_python,
        sizes={10_000: 5, 10_000_000: 5},
        aims={},
        limits={"memory": 100 * MB},
        also=("CPU", "memory"),
        growth=2,
    ),
    Measurement(
        name="add-many",
        what="`perf add` to a version with many profiles",
        of="profiles",
        peer="Perun",
        ours=_add_to_many,
        theirs=_perun_add_to_many,
        sizes={1: 5, 1_000: 5},
        aims={},
        also=("CPU",),
        growth=1.5,
    ),
    Measurement(
        name="add",
        what="`perf add`, own form",
        of="resources",
        peer="Perun",
        ours=_add_rows,
        theirs=_perun_add_rows,
        sizes={100_000: 3, 1_000_000: 3},
        aim_at=1_000_000,
        aims={"CPU": 0.1, "memory": 0.25},
        also=("size",),
    ),
    Measurement(
        name="import",
        what="`perf import perun --add`, against `perun add`",
        of="resources",
        peer="Perun",
        ours=_import_rows,
        theirs=_perun_add_rows,
        sizes={100_000: 3, 1_000_000: 3},
        aim_at=1_000_000,
        aims={"CPU": 1 / 3},
        also=("memory",),
    ),
    Measurement(
        name="stacks",
        what="`perf add`, allocations with their stacks",
        of="stacks",
        peer="Perun",
        ours=_add_allocations,
        theirs=_perun_add_allocations,
        sizes={10_000: 5, 100_000: 3},
        aim_at=100_000,
        aims={"CPU": 0.1, "size": 0.2},
        also=("memory",),
    ),
    Measurement(
        name="samples",
        what="`perf add`, folded stacks",
        of="stacks",
        peer="Perun",
        ours=_add_samples,
        theirs=_perun_add_samples,
        sizes={10_000: 5, 100_000: 3},
        aim_at=100_000,
        aims={"CPU": 0.1, "size": 0.2},
        also=("memory",),
    ),
    Measurement(
        name="folded",
        what="`perf import folded`",
        of="stacks",
        peer="Perun",
        ours=_import_folded,
        theirs=_perun_import_folded,
        sizes={100_000: 3, 1_000_000: 1},
        peer_up_to=100_000,
        aims={"CPU": 1 / 3, "memory": 1 / 3},
        limits={"CPU": 15, "memory": 600 * MB, "size": 15 * MB},
        growth=11,
    ),
    Measurement(
        name="flamegraph",
        what="`perf show flamegraph`",
        of="resources",
        peer="flamegraph.py",
        ours=_flamegraph,
        theirs=_python_script,
        sizes={10_000: 5, 100_000: 3},
        aim_at=100_000,
        aims={"CPU": 1},
        also=("memory",),
    ),
    Measurement(
        name="flamegraph-perl",
        what="`perf show flamegraph`",
        of="resources",
        peer="flamegraph.pl",
        ours=_flamegraph,
        theirs=_perl_script,
        sizes={10_000: 3, 100_000: 1},
        aim_at=100_000,
        aims={"CPU": 1 / 3},
    ),
    Measurement(
        name="flamegraph-samples",
        what="`perf show flamegraph`, 1,000,000 samples in 188,050 nodes",
        of="stacks",
        peer="python -c pass",
        ours=_flamegraph_of_samples,
        theirs=_python_of_samples,
        sizes={20_000: 7},
        aims={},
        limits={"CPU": 0.35, "size": 350_000},
        also=("memory",),
    ),
    Measurement(
        name="collect",
        what="`perf collect time -- true`",
        of="runs",
        peer="hyperfine -N",
        ours=_collect,
        theirs=_hyperfine,
        sizes={20: 15, 2_000: 15},  # few runs show nearly what none would take
        aims={},
        also=("CPU", "wall"),
        slope=Slope(each=1.05, none=0.08),
    ),
    Measurement(
        name="check-first",
        what="`perf check all` of 20 benchmarks, nothing remembered",
        of="versions",
        peer="asv publish",
        ours=_first_check,
        theirs=_asv_publish,
        sizes={1_000: 5},
        aim_at=1_000,
        aims={"CPU": 0.6},
        also=("memory",),
    ),
    Measurement(
        name="check",
        what="`perf check all` of 20 benchmarks",
        of="versions",
        peer="asv publish",
        ours=_check,
        theirs=_asv_publish,
        sizes={1_000: 5},
        aim_at=1_000,
        aims={"CPU": 0.25},
        also=("memory",),
    ),
    Measurement(
        name="publish-first",
        what="`perf publish` of 20 benchmarks, nothing remembered",
        of="versions",
        peer="asv publish",
        ours=_first_publish,
        theirs=_asv_publish,
        sizes={1_000: 5},
        aim_at=1_000,
        aims={"CPU": 0.5},
        also=("memory",),
    ),
    Measurement(
        name="publish-more",
        what="`perf publish` after one more version",
        of="versions",
        peer="asv publish",
        ours=_publish_more,
        theirs=_asv_publish,
        sizes={1_000: 5},
        aim_at=1_000,
        aims={"CPU": 0.1},
        also=("memory",),
    ),
)

FIGURES = (
    Figure(
        name="files",
        what="100,000 versions with 100 rows each: files",
        find=lambda room: (figures.files(room.store(100_000)), 500),
    ),
    Figure(
        name="decimals",
        what="100,000 values with four digits: bytes",
        find=lambda room: (figures.bytes_below(room.pending("decimals", 100_000) / "work/.perf/objects"), 160_000),
    ),
    Figure(
        name="new-stacks",
        what="a version with 1 % new stacks of 10,000: bytes in blocks",
        find=lambda room: (figures.new_stacks(room, stacks=10_000, versions=40), 30_000),
    ),
    Figure(
        name="push-git",
        what="a push of one more version beside 10,000, over git: bytes",
        find=lambda room: figures.pushed("git", 10_000),
    ),
    Figure(
        name="push-folder",
        what="a push of one more version beside 10,000, to a folder: bytes",
        find=lambda room: figures.pushed("folder", 10_000),
    ),
)

WEIGHTS = (
    Weight(
        name="disk",
        what="10,000 versions with 100 rows each",
        peer="Perun",
        ours=lambda room: room.store(10_000),
        theirs=lambda room: room.history(10_000) / "work/.perun",
        limit=5 * MB,
    ),
    Weight(
        name="disk-100000",
        what="100,000 versions with 100 rows each",
        peer="Perun",
        ours=lambda room: room.store(100_000),
        theirs=lambda room: room.history(100_000) / "work/.perun",
        limit=150 * MB,
    ),
    Weight(
        name="installation",
        what="installation with plugins",
        peer="Perun",
        ours=Room.environment_of_perf,
        theirs=Room.environment_of_perun,
        share=0.2,
    ),
    Weight(
        name="core",
        what="installation of the core alone",
        peer="Perun",
        ours=Room.environment_of_core,
        theirs=Room.environment_of_perun,
        limit=60 * MB,
    ),
)
