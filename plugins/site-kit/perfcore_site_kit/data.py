"""What each page says, as frozen data without markup: from a branch to the answers of its pages."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from perfcore_view_kit.history_chart import silencing_state, undecided

from perfcore.model import Change, MinorVersion
from perfcore_site_kit.branch import Branch, SeriesRow

Status = Literal["slower", "faster", "same", "inconclusive", "not measured"]
STATUSES: tuple[Status, ...] = ("slower", "faster", "same", "inconclusive", "not measured")
WORSE, BETTER = ("degradation", "drift"), ("optimization", "improving drift")
REPORTED = (*WORSE, *BETTER, "variance", "machine")
GROUPS = 100
"""Groups of changes on one page."""


class SeriesState(msgspec.Struct, frozen=True, kw_only=True):
    """A series with what became of it. `change` is the last one that stands, `since` how many measured versions it is
    old; `decision` is the state by which it fails no check, where there is one. `behind` is by how many versions its
    newest value is older than the newest measured version. `reason` says in a few words why it is inconclusive, if it
    is, and `undecided` is the change that cannot be told, where a check named one."""

    row: SeriesRow
    status: Status
    reason: str
    undecided: Change | None
    change: Change | None
    decision: str
    since: int | None
    behind: int
    version: MinorVersion


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Is it slower? `counts` has every status; `deciding` are the series by which a check fails, those with news
    first."""

    branch: str
    newest: MinorVersion | None
    versions: int
    counts: Mapping[Status, int]
    deciding: tuple[SeriesState, ...]
    others: tuple[SeriesState, ...]
    notes: tuple[str, ...]


class ListedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change with the series that shows it, and what was decided about it. `decision` is the state by which it fails
    no check, where there is one."""

    change: Change
    row: SeriesRow
    accepted: str
    decided: str
    decision: str

    @property
    def stands(self) -> bool:
        """Whether it is for the worse, and nobody accepted it or took it back."""
        return self.change.kind in WORSE and not self.change.undone and not self.accepted


class ChangeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The changes that may have come with the same versions. `first` is the last version without them, and the change
    shows in `target`; each is None where the branch no longer has it."""

    target: MinorVersion | None
    first: MinorVersion | None
    span: int
    changes: tuple[ListedChange, ...]

    @property
    def stands(self) -> int:
        return sum(listed.stands for listed in self.changes)


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Since when? The groups of one page of all, the newest first. `standing` are the regressions of metrics that
    decide, `standing_others` those of others."""

    groups: tuple[ChangeGroup, ...]
    number: int
    pages: int
    of_code: int
    standing: int
    standing_others: int
    versions: int


def overview(branch: Branch) -> Overview:
    """The state of every series."""
    states = sorted((state_of(branch, row) for row in branch.series), key=_rank)
    deciding = tuple(state for state in states if state.row.decides)
    counts = Counter(state.status for state in deciding)
    return Overview(
        branch=branch.name,
        newest=branch.versions[-1] if branch.versions else None,
        versions=len(branch.versions),
        counts={status: counts[status] for status in STATUSES},
        deciding=deciding,
        others=tuple(state for state in states if not state.row.decides),
        notes=branch.notes,
    )


def state_of(branch: Branch, row: SeriesRow) -> SeriesState:
    """What became of one series."""
    change = last_change(branch, row)
    position = branch.at(change) if change is not None else -1
    status = _status(branch, row, change)
    undecided_change = _undecided_change(branch, row) if status == "inconclusive" else None
    return SeriesState(
        row=row,
        status=status,
        reason=_reason(undecided_change) if status == "inconclusive" else "",
        undecided=undecided_change,
        change=change,
        decision=silencing_state(change, branch.accepted, branch.decided) if change is not None else "",
        since=branch.newest - position if change is not None and position >= 0 else None,
        behind=branch.newest - row.newest,
        version=branch.versions[row.newest],
    )


def last_change(branch: Branch, row: SeriesRow) -> Change | None:
    """The last change for the worse that stands, or else the last one that was not taken back."""
    steps = [change for change in row.changes if change.kind in (*WORSE, *BETTER, "variance") and not change.undone]
    standing = [change for change in steps if change.kind in WORSE and change.id not in branch.accepted]
    return next(iter(reversed(standing or steps)), None)


def _status(branch: Branch, row: SeriesRow, change: Change | None) -> Status:
    if row.newest < branch.newest or row.median is None:
        return "not measured"
    if change is not None and change.kind in WORSE and change.id not in branch.accepted:
        return "slower"
    if change is not None and change.kind in BETTER:
        return "faster"
    decided = {verdict.kind for verdict in _newest_verdicts(branch, row)}
    if row.is_short and "same" not in decided and change is None:
        return "inconclusive"
    return "inconclusive" if "cannot tell" in decided or _undecided(branch, row, change) else "same"


def _undecided(branch: Branch, row: SeriesRow, change: Change | None) -> list[Change]:
    """The changes since this one that the history shows and that may be the machine's."""
    since = branch.at(change) if change is not None else -1
    return [step for step in undecided(row.changes, branch.accepted) if branch.at(step) > since]


def _newest_verdicts(branch: Branch, row: SeriesRow) -> list[Change]:
    newest = branch.versions[-1].id
    return [verdict for verdict in row.changes if verdict.target == newest[: len(verdict.target)]]


def _undecided_change(branch: Branch, row: SeriesRow) -> Change | None:
    """What a check cannot tell, and why."""
    verdicts = [*_newest_verdicts(branch, row), *reversed(_undecided(branch, row, last_change(branch, row)))]
    return next((verdict for verdict in verdicts if verdict.kind == "cannot tell" and verdict.reason), None)


def _reason(undecided_change: Change | None) -> str:
    """Why the check cannot tell, without the number of pairs that would decide it. A check that was not made, or gives
    no reason, had too little to look at."""
    reason = undecided_change.reason.partition(":")[0] if undecided_change is not None else ""
    return reason or "too few versions or runs"


def _rank(state: SeriesState) -> tuple[object, ...]:
    since = state.since if state.since is not None else float("inf")
    return STATUSES.index(state.status), since, state.row.name, state.row.command, state.row.metric


def changes(branch: Branch, number: int = 1) -> Changes:
    """The changes of a page, from 1 on."""
    listed = [listed_change(branch, at, change) for at, change in branch.changes if change.kind in REPORTED]
    groups = [
        _group(branch, list(members))
        for _, members in itertools.groupby(listed, key=lambda item: branch.at(item.change))
    ]
    chosen = groups[(number - 1) * GROUPS : number * GROUPS]
    return Changes(
        groups=tuple(chosen),
        number=number,
        pages=max(1, -(-len(groups) // GROUPS)),
        of_code=sum(item.change.kind != "machine" for item in listed),
        standing=sum(item.stands for item in listed if item.row.decides),
        standing_others=sum(item.stands for item in listed if not item.row.decides),
        versions=len(branch.versions),
    )


def listed_change(branch: Branch, at: int, change: Change) -> ListedChange:
    return ListedChange(
        change=change,
        row=branch.series[at],
        accepted=branch.accepted.get(change.id, ""),
        decided=branch.decided.get(change.id, ""),
        decision=silencing_state(change, branch.accepted, branch.decided),
    )


def _group(branch: Branch, members: Sequence[ListedChange]) -> ChangeGroup:
    change = members[0].change
    position = branch.at(change)
    before = branch.position_of_short.get(change.baseline[:10], -1)
    return ChangeGroup(
        target=branch.versions[position] if position >= 0 else None,
        first=branch.versions[before] if before >= 0 else None,
        span=max(0, position - before) if before >= 0 else 0,
        changes=tuple(members),
    )


def companions(branch: Branch, change: Change) -> tuple[ListedChange, ...]:
    """The other changes that may have come with the same versions, as their ranges overlap."""
    begin, end = extent(branch, change)
    moved = []
    for at, companion in branch.changes:
        if companion.id == change.id or companion.kind not in REPORTED:
            continue
        first, last = extent(branch, companion)
        if first <= end and begin <= last:
            moved.append(listed_change(branch, at, companion))
    return tuple(moved)


def extent(branch: Branch, change: Change) -> tuple[int, int]:
    """The positions from the first to the last version that a change may have come with."""
    position = branch.at(change)
    ends = [branch.position.get(version, position) for version in (change.earliest, change.latest)]
    return min(*ends, position), max(*ends, position)


def chain(branch: Branch, change: Change, begin: int, end: int) -> list[MinorVersion]:
    """The versions between these positions, newest first, where they are all that the VCS has up to the last version
    that a change may have come with: each was measured, and the one before is its only parent. Else none."""
    versions = branch.versions[begin - 1 : end + 1] if begin > 0 else ()
    if not versions or not versions[-1].id.startswith(change.latest or change.target):
        return []
    if any(version.parents != (parent.id,) for parent, version in itertools.pairwise(versions)):
        return []
    return list(reversed(versions[1:]))


def standing(listed: Iterable[ListedChange]) -> list[ListedChange]:
    return [item for item in listed if item.stands]
