"""The shares of functions in two releases."""

from __future__ import annotations

from typing import Any

import attrs
from perfcore_check_pair.inference import student_quantile
from perfcore_fleet_kit import shares
from perfcore_fleet_kit.query import Query, select
from perfcore_fleet_kit.shares import ShareChange, sample_of

from perfcore.errors import NotFoundError
from perfcore.repository.repository import Repository
from perfcore_command_fleet.questions import EVERYTHING, state
from perfcore_command_fleet.times import DAY


@attrs.frozen
class ShareComparison:
    """The functions of two releases with their shares; `cells` and `samples` are those before and after."""

    old: str
    new: str
    where: str
    cells: tuple[int, int]
    samples: tuple[int, int]
    changes: tuple[ShareChange, ...]
    problems: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/fleet-compare.json`."""
        return {"schema": 1, **attrs.asdict(self)}


def compare(
    repository: Repository,
    old: str,
    new: str | None = None,
    query: Query = EVERYTHING,
    *,
    box: int = DAY,
    threshold: float = 0.01,
) -> ShareComparison:
    """The shares of functions in two releases."""
    states = [state(repository, revision) for revision in (old, new)]
    samples = [sample_of(repository.store, list(select(read, query)), box) for read in states]
    for read, sample in zip(states, samples, strict=True):
        if not sample.total:
            raise NotFoundError(f"no sample of {read.version[:10]} fits the question")
    changes = shares.compare(samples[0], samples[1], student_quantile, threshold=threshold)
    return ShareComparison(
        old=states[0].version,
        new=states[1].version,
        where=query.text,
        cells=(len(samples[0].cells), len(samples[1].cells)),
        samples=(samples[0].total, samples[1].total),
        changes=tuple(changes),
        problems=tuple(problem for sample in samples for problem in sample.problems),
    )
