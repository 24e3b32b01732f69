"""The part of a result that somebody asks for."""

from __future__ import annotations

from perfcore_check_kit import conclusions
from perfcore_check_kit.history import select_series
from perfcore_check_kit.series import config_histories

from perfcore.analysis.check_result import CheckResult
from perfcore.model.record import replace
from perfcore.profile.benchmarks import matches
from perfcore.repository.repository import Repository
from perfcore.text import printable


def is_measured(repository: Repository, end: str, pattern: str) -> bool:
    """Whether the branch that ends at a version has a benchmark that the pattern chooses."""
    lines = config_histories(repository, repository.version(end or None))
    return any(matches(scanned.series.resource, pattern) for scanned in select_series(repository, lines))


def of_benchmarks(result: CheckResult, pattern: str, *, history: bool, jobs: bool = False) -> CheckResult:
    """The same with the benchmarks that the pattern chooses, and the `jobs` if wanted. All were compared, so that a
    change is the same whichever are asked for. Of a `history` only changes are listed, so none of a benchmark says
    nothing of its comparisons."""

    def is_chosen(benchmark: str, label: str) -> bool:
        return matches(benchmark, pattern) or (jobs and matches(label, pattern))

    changes = tuple(change for change in result.changes if is_chosen(change.resource, change.label))
    nothing = f"no benchmark like {printable(pattern)!r} was compared or changed"
    return replace(
        result,
        changes=changes,
        unpaired=tuple(unpaired for unpaired in result.unpaired if is_chosen(unpaired.benchmark, unpaired.label)),
        conclusion=conclusions.of_comparisons(changes) if changes else nothing,
        compared=result.compared if history else conclusions.count(changes),
    )
