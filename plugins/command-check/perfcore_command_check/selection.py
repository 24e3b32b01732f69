"""The part of a result that somebody asks for."""

from __future__ import annotations

from perfcore_check_kit import conclusions

from perfcore.analysis.check_result import CheckResult
from perfcore.model.record import replace
from perfcore.profile.benchmarks import matches
from perfcore.text import printable


def of_benchmarks(result: CheckResult, pattern: str, *, history: bool, jobs: bool = False) -> CheckResult:
    """The same with the benchmarks that the pattern chooses, and the `jobs` if wanted. All were compared, so that a
    change is the same whichever are asked for. Of a `history` only changes are listed, so one without any was compared
    all the same."""

    def is_chosen(benchmark: str, label: str) -> bool:
        return matches(benchmark, pattern) or (jobs and matches(label, pattern))

    changes = tuple(change for change in result.changes if is_chosen(change.resource, change.label))
    is_unchanged = history and any(matches(benchmark, pattern) for benchmark in result.benchmarks)
    nothing = f"no benchmark like {printable(pattern)!r} was compared or changed"
    return replace(
        result,
        changes=changes,
        unpaired=tuple(unpaired for unpaired in result.unpaired if is_chosen(unpaired.benchmark, unpaired.label)),
        conclusion=conclusions.of_comparisons(changes) if changes else nothing,
        compared=result.compared if is_unchanged else conclusions.count(changes),
    )
