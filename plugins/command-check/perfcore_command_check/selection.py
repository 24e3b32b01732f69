"""The part of a result that somebody asks for."""

from __future__ import annotations

from perfcore_check_kit import conclusions

from perfcore.analysis.check_result import CheckResult
from perfcore.model.record import replace
from perfcore.profile.benchmarks import matches
from perfcore.text import plural, printable


def of_benchmarks(result: CheckResult, pattern: str, *, history: bool, jobs: bool = False) -> CheckResult:
    """The same with the benchmarks that the pattern chooses, and the `jobs` if wanted. All were compared, so that a
    change is the same whichever are asked for. Of a `history` only changes are listed, so one without any was compared
    all the same."""

    def is_chosen(benchmark: str, label: str) -> bool:
        return matches(benchmark, pattern) or (jobs and matches(label, pattern))

    changes = tuple(change for change in result.changes if is_chosen(change.resource, change.label))
    scanned = sum(matches(benchmark, pattern) for benchmark in result.benchmarks) if history else 0
    conclusion = f"no benchmark like {printable(pattern)!r} was compared"
    if scanned:
        extent = f"{plural(scanned, 'benchmark')} like {printable(pattern)!r}"
        conclusion = conclusions.of_history(changes, extent)
    elif changes:
        conclusion = conclusions.of_comparisons(changes)
    return replace(
        result,
        changes=changes,
        unpaired=tuple(unpaired for unpaired in result.unpaired if is_chosen(unpaired.benchmark, unpaired.label)),
        conclusion=conclusion,
        compared=result.compared if scanned else conclusions.count(changes),
    )
