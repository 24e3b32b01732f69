"""Small profiles to try plugins on. Each call makes a new, equal one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perfcore.model import Header, Profile, Tool, ViewData
from perfcore.model.record import replace
from perfcore.profile import codec
from perfcore.profile.recording import RUN, RUNS
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import ColumnSpec, TableBuilder, column, table
from perfcore_testing import hostile as hostile_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perfcore.profile.table import Role, Table

CREATED = 1_750_000_000_000_000_000
_MACHINE = {"os": "Linux 6.8", "cpu": "Example 9000", "cpus": 8, "memory": 2**34}


def profile(tables: Mapping[str, Table], **changes: Any) -> Profile:
    """A profile of these tables; `changes` are other fields of Profile."""
    built = Profile(
        header=Header(
            type="time",
            argv=("./gzip", "-9", "big file.txt"),
            cmd="./gzip",
            args="-9",
            workload="'big file.txt'",
            exitcode=0,
        ),
        created=CREATED,
        collector=Tool(name="time", version="0.1.0", params={"repeat": 5}, sampling={"clock": "monotonic"}),
        machine=_MACHINE,
        config_id="c0" * 20,
        environment_id="e0" * 20,
        tables=tables,
    )
    return replace(built, **changes)


def timed(runs: int = 5, wall: int = 12_345_678) -> Profile:
    """Several runs of one command, as a collector of times records them."""
    resources = TableBuilder(
        "resources",
        (
            RUN,
            ColumnSpec("wall", "i64", "ns", "value"),
            ColumnSpec("cpu", "i64", "ns", "value"),
            ColumnSpec("max_rss", "i64", "B", "value"),
            ColumnSpec("switches", "i64", "", "value"),
        ),
    )
    runs_table = TableBuilder("runs", RUNS)
    for run in range(runs):
        took = wall + (run * 7919 % 13) * wall // 1000
        resources.add(run=run, wall=took, cpu=took * 9 // 10, max_rss=5 * 2**20 + 4096 * run, switches=run % 3)
        runs_table.add(
            run=run,
            session="5e55",
            block=run,
            position=0,
            started=CREATED + run * 10**9,
            warmup=False,
            disturbed=run == 3,
            exit=0,
        )
    return profile({"resources": resources.build(), "runs": runs_table.build()})


def suite(amounts: Mapping[str, Sequence[float]], unit: str = "ns", **changes: Any) -> Profile:
    """CPU time of the runs of each benchmark of a suite, as a harness records it."""
    rows = [(name, run, amount) for name, values in amounts.items() for run, amount in enumerate(values)]
    columns = [
        column("benchmark", [name for name, _, _ in rows], role="benchmark"),
        column("run", [run for _, run, _ in rows], role="order"),
        column("cpu", [amount for _, _, amount in rows], unit=unit, role="value"),
    ]
    return profile({"resources": table("resources", columns)}, **changes)


def traced(factor: int = 1) -> Profile:
    """Amounts of functions, one row each, with places in the source; all times are `factor` times as long."""
    names = ["main", "parse", "parse_header", "write_block", "crc32"]
    amounts = [factor * amount for amount in (1_500, 2_600_000, 730_000, 41_000_000, 9_800_000)]
    return profile(
        {
            "resources": table(
                "resources",
                [
                    column("uid", names),
                    column("file", ["gzip.c", "parse.c", "parse.c", "deflate.c", "crc.c"]),
                    column("line", [10, 55, 120, 300, 8]),
                    column("amount", amounts, unit="ns", role="value"),
                    column("calls", [1, 20, 20, 1_300, 70_000], role="value"),
                ],
            )
        },
        header=Header(type="trace", argv=("./gzip",), cmd="./gzip", exitcode=0),
        collector=Tool(name="trace", version="0.1.0"),
    )


def sampled(version: int = 1) -> Profile:
    """Call stacks and how often each was seen: `version` moves lines, renames a function and changes counts."""
    builder = StackBuilder()
    main = Frame("main", "app.py", 10 + version, 4 + version)
    parse = Frame("Parser.parse", "parse.py", 31, 20)
    stacks = (
        (main,),
        (main, parse),
        (main, parse, Frame("Parser.parse", "parse.py", 25, 20)),
        (main, Frame(f"write_{version}", "write.py", 7, 5)),
        (main, Frame("<script>alert(1)</script>;", "evil name\n.py", 2, 1)),
        (Frame("[unknown]"),),
    )
    rows = [builder.add(stack) for stack in stacks]
    counts = [version * count for count in (3, 20, 5, 71, 1, 2)]
    resources = table("resources", [column("stack", rows), column("samples", counts, role="value")])
    return profile(
        {"resources": resources, **builder.tables()},
        header=Header(type="sample", argv=("python", "app.py"), cmd="python", args="app.py", exitcode=0),
        collector=Tool(name="sample", version="0.1.0", params={"rate": 100}),
    )


def counted(factor: int = 1) -> Profile:
    """Counts by CPU on a machine of two packages of two cores of two threads, with the machine: `factor` times as
    many on the first package. One CPU has no values, and some counts no CPU."""
    topology, resources = [], []
    for cpu in range(8):
        core, package = cpu % 4, cpu % 4 // 2
        pair, near = f"{core},{core + 4}", f"{2 * package}-{2 * package + 1},{2 * package + 4}-{2 * package + 5}"
        location = {"core": core % 2, "die": 0, "package": package, "numa": package}
        topology.append({"cpu": cpu, **location, "l1d": pair, "l1i": pair, "l2": pair, "l3": near, "kind": None})
    for run in (1, 2):
        for cpu in (*range(7), None):
            amount = (10 + run) * (1000 * (cpu or 0) + 5) * (factor if cpu in (0, 1, 4, 5) else 1)
            counts = {"PAPI_TOT_INS": 3 * amount, "PAPI_TOT_CYC": 2 * amount, "task-clock": amount}
            resources.append({"run": run, "cpu": cpu, **(counts if cpu != 3 else dict.fromkeys(counts))})
    derived = [
        {"run": row["run"], "cpu": row["cpu"], "metric": "ipc", "value": 1.5, "estimate": False}
        for row in resources
        if row["cpu"] not in (3, None)
    ]
    roles: dict[str, Role] = {"PAPI_TOT_INS": "value", "PAPI_TOT_CYC": "value", "task-clock": "value"}
    tables = {"resources": resources, "topology": topology, "derived": derived}
    return profile(
        {name: _of_rows(name, rows, roles) for name, rows in tables.items()},
        header=Header(type="papi", argv=("./gzip",), cmd="./gzip", units={"task-clock": "ns"}, exitcode=0),
        collector=Tool(name="papi", version="0.1.0", sampling={"attribution": "kernel"}),
    )


def _of_rows(name: str, rows: Sequence[Mapping[str, Any]], roles: Mapping[str, Role]) -> Table:
    return table(name, [column(key, [row[key] for row in rows], role=roles.get(key, "dimension")) for key in rows[0]])


def hostile() -> Profile:
    """Every one of `perfcore_testing.hostile.NAMES` as the name of a function; some as those of columns, the
    command, a unit, a note."""
    names = hostile_names.NAMES
    resources = table(
        "resources",
        [
            column("uid", list(names)),
            column(names[0], list(reversed(names))),
            column(names[2], [index * 1000 for index in range(len(names))], unit=names[4], role="value"),
            column("amount", [index * 0.5 for index in range(len(names))], unit="s", role="value"),
        ],
    )
    return profile(
        {"resources": resources},
        header=Header(type="trace", argv=names[:5], cmd=names[2], args=names[4], workload=names[0], tags=(names[1],)),
        collector=Tool(name="trace", version=names[0], params={names[2]: names[0]}),
        machine={names[0]: names[2]},
        notes=names[:7],
    )


def undecodable() -> Profile:
    """Names of files in an encoding that is not UTF-8, as the operating system hands them over."""
    names = [b"caf\xe9.c".decode("utf-8", "surrogateescape"), "plain.c"]
    columns = [column("file", names), column("amount", [3, 4], unit="ns", role="value")]
    return profile({"resources": table("resources", columns)})


def empty() -> Profile:
    """Tables that have columns and no rows."""
    return timed(runs=0)


def bare() -> Profile:
    """No tables at all."""
    return profile({})


def unheard_of() -> Profile:
    """A type, metrics, units and a table that nobody has heard of, with values missing in every way."""
    resources = table(
        "resources",
        [
            column("qubits", [3, None, 5, None], unit="qb", role="value"),
            column("flux", [None, 0.25, None, -1e-300], unit="Wb", role="value", better="higher"),
            column("never", [None, None, None, None], dtype="str"),
            column("stable", [True, None, False, None]),
            column("where", ["a", None, "", None]),
            column("step", [None, 1, 2, 3], unit="au", role="order"),
        ],
    )
    extra = table("entanglement", [column("pair", ["a-b", "b-c"]), column("strength", [0.5, 0.75], role="value")])
    header = Header(type="x-quantum.7", cmd="qsim", units={"strength": "ebit"})
    return profile({"resources": resources, "entanglement": extra}, header=header, collector=Tool(name="q-probe"))


def large() -> Profile:
    """Numbers at the ends of their types, and a dictionary of many texts used many times."""
    rows = 3000
    ends = [2**63 - 1, -(2**63), 2**53 + 1, 0, -1]
    unsigned = [2**64 - 1, 2**63, 2**53 + 1, 0, 1]
    floats = [math.nan, math.inf, -math.inf, 5e-324, 0.1]
    resources = table(
        "resources",
        [
            column("uid", [f"function_{row % 500}" for row in range(rows)]),
            column("signed", [ends[row % 5] for row in range(rows)], unit="ns", role="value"),
            column("unsigned", [unsigned[row % 5] for row in range(rows)], dtype="u64", unit="B", role="value"),
            column("real", [floats[row % 5] for row in range(rows)], unit="s", role="value"),
        ],
    )
    return profile({"resources": resources}, header=Header(type="trace", cmd="ends"))


SAMPLES: Mapping[str, Callable[[], Profile]] = {
    make.__name__: make
    for make in (timed, traced, sampled, counted, hostile, undecodable, empty, bare, unheard_of, large)
}
"""All of the above by name."""


def stored(profile: Profile) -> Profile:
    """The profile as a store gives it back: its tables are a mapping that decodes each when it is looked at."""
    pieces: dict[str, bytes] = {}

    def put(table: str, piece: bytes) -> str:
        name = f"{len(pieces):040x}"
        pieces[name] = piece
        return name

    data, _ = codec.encode(profile, put)
    return codec.decode(data, pieces.__getitem__, where="the profile")


def subject(*profiles: Profile, names: tuple[str, ...] | None = None) -> ViewData:
    """What a view is given for these profiles."""
    if names is None:
        names = tuple(f"{index}@p" for index in range(len(profiles)))
    return ViewData(profiles=profiles, names=names, versions=(None,) * len(profiles))
