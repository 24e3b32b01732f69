"""The part of a result that somebody asks for."""

from __future__ import annotations

import attrs

from perfcore.analysis import verdict_text
from perfcore.analysis.check_result import CheckResult
from perfcore.profile.benchmarks import matches
from perfcore.text import printable


def of_benchmarks(result: CheckResult, pattern: str, *, history: bool) -> CheckResult:
    """The same with the benchmarks that the pattern chooses. All were compared, so that a change is the same whichever
    are asked for. Of a `history` only changes are listed, so none of a benchmark says nothing of its comparisons."""
    changes = tuple(change for change in result.changes if matches(change.resource, pattern))
    nothing = f"no benchmark like {printable(pattern)!r} was compared or changed"
    return attrs.evolve(
        result,
        changes=changes,
        unpaired=tuple(unpaired for unpaired in result.unpaired if matches(unpaired.benchmark, pattern)),
        conclusion=verdict_text.conclusion(changes) if changes else nothing,
        compared=result.compared if history else verdict_text.comparisons(changes),
    )
