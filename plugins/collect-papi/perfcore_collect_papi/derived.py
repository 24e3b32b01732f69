"""What is computed from counts: instructions per cycle, miss rates and their like. Sums first, then the ratio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from perfcore.profile.table import ColumnSpec

# The table of a profile. No CPU: of all together.
COLUMNS = (
    ColumnSpec("run", "i64", role="order"),
    ColumnSpec("cpu", "i64"),
    ColumnSpec("metric", "str"),
    ColumnSpec("value", "f64"),
    ColumnSpec("estimate", "bool"),
)


@attrs.frozen
class Ratio:
    """`scale` times the sum of some events over the sum of others. All of them are of one set of events."""

    name: str
    above: tuple[str, ...]
    below: tuple[str, ...]
    scale: float = 1.0


def _mpki(name: str, event: str) -> Ratio:
    return Ratio(f"{name}_mpki", (event,), ("PAPI_TOT_INS",), 1000.0)


# Of the same name, the first that can be computed counts.
RATIOS = (
    Ratio("ipc", ("PAPI_TOT_INS",), ("PAPI_TOT_CYC",)),
    Ratio("branch_miss_rate", ("PAPI_BR_MSP",), ("PAPI_BR_INS",)),
    Ratio("branch_miss_rate", ("PAPI_BR_MSP",), ("PAPI_BR_CN",)),
    _mpki("branch", "PAPI_BR_MSP"),
    _mpki("l1d", "PAPI_L1_DCM"),
    _mpki("l2", "PAPI_L2_TCM"),
    _mpki("l3", "PAPI_L3_TCM"),
    _mpki("dtlb", "PAPI_TLB_DM"),
    Ratio("l1d_miss_rate", ("PAPI_L1_DCM",), ("PAPI_L1_DCA",)),
    Ratio("l1d_miss_rate", ("PAPI_L1_DCM",), ("PAPI_LST_INS",)),
    Ratio("l2_miss_rate", ("PAPI_L2_TCM",), ("PAPI_L2_TCA",)),
    Ratio("l3_miss_rate", ("PAPI_L3_TCM",), ("PAPI_L3_TCA",)),
    Ratio("stall_rate", ("PAPI_RES_STL",), ("PAPI_TOT_CYC",)),
)
OPERATIONS = (("PAPI_SP_OPS", "PAPI_DP_OPS"), ("PAPI_FP_OPS",))


def ratios(sets: Sequence[Sequence[str]], counts: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """(name, value) of everything that the counts of these event sets allow. What lacks an operand, or would divide
    by 0, is left out."""
    done: set[str] = set()
    for ratio in RATIOS:
        events = (*ratio.above, *ratio.below)
        together = any(set(events) <= set(members) for members in sets)
        if ratio.name in done or not together or any(event not in counts for event in events):
            continue
        below = sum(counts[event] for event in ratio.below)
        if below:
            done.add(ratio.name)
            yield ratio.name, ratio.scale * sum(counts[event] for event in ratio.above) / below


def by_run(
    sets: Sequence[Sequence[str]], counts: Mapping[str, Sequence[int]]
) -> Iterator[tuple[str, Sequence[int], Sequence[float]]]:
    """(name, runs, values) of the ratios of many runs, whose counts stand in columns: what `ratios` gives for each."""
    computed: dict[str, dict[int, float]] = {}
    for ratio in RATIOS:
        events = (*ratio.above, *ratio.below)
        if any(event not in counts for event in events) or not any(set(events) <= set(members) for members in sets):
            continue
        operands = zip(_sums(counts, ratio.above), _sums(counts, ratio.below), strict=True)
        values = {run: ratio.scale * above / below for run, (above, below) in enumerate(operands) if below}
        computed[ratio.name] = {**values, **computed.get(ratio.name, {})}
    for name, values in computed.items():
        runs = sorted(values)
        yield name, runs, [values[run] for run in runs]


def _sums(counts: Mapping[str, Sequence[int]], events: Sequence[str]) -> Sequence[int]:
    columns = [counts[event] for event in events]
    return columns[0] if len(columns) == 1 else [sum(values) for values in zip(*columns, strict=True)]


def rates(counts: Mapping[str, int], wall: int, *, of_kernel: bool) -> Iterator[tuple[str, float]]:
    """(name, value) of what is computed with the time that the whole command took, in nanoseconds. Cycles a second
    on a CPU are told only where the kernel's cycles are counted too, as its time is."""
    if not wall:
        return
    busy = counts.get("task-clock")
    if busy is not None:
        yield "cpus_utilized", busy / wall
        if of_kernel and busy and "PAPI_TOT_CYC" in counts:
            yield "frequency", counts["PAPI_TOT_CYC"] / busy * 1e9
    for events in OPERATIONS:
        if all(event in counts for event in events):
            yield "flops", sum(counts[event] for event in events) / wall * 1e9
            return
