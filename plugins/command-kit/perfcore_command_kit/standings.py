"""Decisions on changes as they stand: whether they still hold for what is measured now.

A decision ends as its author said, and it is about a size. It reopens by itself where the change turns out to be
greater, where a later version moves the level on, and where the fix that it names did not fix it.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
from perfcore_check_kit import short_histories

from perfcore.analysis import note_keys
from perfcore.analysis.stored_results import Result, Results
from perfcore.errors import PerfError
from perfcore.model import Change, MinorVersion
from perfcore.model.decisions import FIXED, Decision, Standing
from perfcore.model.record import replace
from perfcore.repository.repository import Repository
from perfcore.store import notes
from perfcore.text import percent
from perfcore_command_kit import decisions

__all__ = ["Standings", "fixing_changes", "settled"]

# More runs move an estimate within its interval, and the first estimate flatters what was picked for its size. What is
# for certain half as much again is not the change that somebody looked at.
_GROWTH = 1.5


class Standings(msgspec.Struct, frozen=True):
    """Reads all decisions of a repository once. `today` is a date such as 2026-01-31; `head` is the version at which
    they are looked at (None: the one that is checked out)."""

    repository: Repository
    today: str
    head: str | None
    known: Mapping[str, Decision]
    has_file: bool

    @classmethod
    def of(cls, repository: Repository, head: str | None = None, *, today: str = "") -> Standings:
        """FormatError for a note that cannot be read."""
        known = {}
        if notes.exist(repository.store, note_keys.ACCEPTED):
            known = decisions.newest(repository.store, repository.config.get("benchmarks.renamed"))
        in_file = (repository.root / note_keys.ACCEPTED_FILE).exists()
        return cls(repository, today or datetime.datetime.now(datetime.UTC).date().isoformat(), head, known, in_file)

    def on(self, changes: Collection[Change], measured: Collection[str] | None = None) -> dict[str, Standing]:
        """The decisions on these changes, by the id of the change. `changes` are all that are known, as a later one
        reopens an earlier one; `measured` are the full ids of the versions in which they were looked for. None: they
        are stored ones, to be seen beside what was stored of the versions that fix them."""
        decided = decisions.of_changes(changes, self.known)
        if measured is None:
            measured, later = self._fixes(decided.values())
            changes = [settled(change, later) for change in changes]
        standings = {
            change.id: Standing(decision, self._reopened(decision, change, measured))
            for change in changes
            if (decision := decided.get(change.id))
        }
        if self.has_file:
            from perfcore_command_kit import accepted_file

            # A reviewed entry accepts what the store only looks into.
            for id, acceptance in accepted_file.accepted(self.repository, changes).items():
                if id not in standings or not standings[id].silences:
                    standings[id] = Standing(acceptance)
        return standings | self._moved_on(changes, standings)

    def _fixes(self, decided: Iterable[Decision]) -> tuple[set[str], list[Change]]:
        """Which fixes were measured, and the changes that checks stored of these versions."""
        fixes = {decision.fixed_in for decision in decided if decision.state == FIXED}
        measured = {version for version in fixes if self.repository.entries(version)}
        if not measured:
            return measured, []
        return measured, fixing_changes(Results(self.repository.store, self.repository.vcs_name).every(), measured)

    def _reopened(self, decision: Decision, change: Change, measured: Collection[str]) -> str:
        if decision.until_date and decision.until_date < self.today:
            return f"the decision ended on {decision.until_date}"
        if decision.until_version and self._contains(decision.until_version):
            return f"the decision ended at {decision.until_version[:10]}"
        if decision.limit is not None:
            beyond = change.ratio is not None and abs(change.ratio - 1) > decision.limit
            return f"it is beyond {decision.limit * 100:.3g} %" if beyond else ""
        if not change.until and _has_grown(decision, change):  # a drift grows as long as it goes on
            return f"it was {percent(decision.ratio or 1.0)}"
        if decision.state == FIXED and not change.undone and decision.fixed_in in measured:
            return f"the fix in {decision.fixed_in[:10]} does not show yet"
        return ""

    def _contains(self, name: str) -> bool:
        """Whether a version is the head or an ancestor of it; one that there is not yet is none."""
        try:
            version = self.repository.version(name)
            return any(ancestor.id == version for ancestor in self._walk())
        except PerfError:
            return False

    def _walk(self) -> Iterable[MinorVersion]:
        return self.repository.vcs.walk_minor_versions(self.head or self.repository.version())

    def _moved_on(self, changes: Collection[Change], standings: Mapping[str, Standing]) -> dict[str, Standing]:
        """The decisions on changes after which a later version moved the level further for the worse, which nobody
        decided on."""
        by_series: dict[tuple[str, ...], list[Change]] = {}
        for change in changes:
            if change.kind == "degradation" and change.earliest and not change.undone and not change.contract:
                by_series.setdefault((change.config_id, change.metric, change.resource), []).append(change)
        candidates = [
            (change, others)
            for others in by_series.values()
            for change in others
            if len(others) > 1 and (standing := standings.get(change.id)) and standing.silences
        ]
        if not candidates:
            return {}
        order = self._positions(change.target[:10] for _, others in candidates for change in others)
        moved = {}
        for change, others in candidates:
            later = [
                c for c in others if c.id not in standings and _is_beyond(c, change) and _is_later(c, change, order)
            ]
            if later:
                last = max(later, key=lambda change: order[change.target[:10]])
                reason = f"it went on at {last.target[:10]}"
                moved[change.id] = replace(standings[change.id], reopened=reason)
        return moved

    def _positions(self, beginnings: Iterable[str]) -> dict[str, int]:
        """Versions by the beginning of their ids, numbered so that a later one has a greater number."""
        missing, positions = set(beginnings), {}
        for number, version in enumerate(self._walk()):
            if version.id[:10] in missing:
                positions[version.id[:10]] = -number
                missing.discard(version.id[:10])
                if not missing:
                    break
        return positions


def _has_grown(decision: Decision, change: Change) -> bool:
    """Whether the whole interval of a change is beyond that of the decision."""
    before, after = (
        _effects(decision.ratio, decision.low, decision.high),
        _effects(change.ratio, change.low, change.high),
    )
    if not before or not after or (before[0] < 0) != (after[0] < 0):
        return False
    one_sided = len({effect < 0 for effect in after}) == 1
    return one_sided and min(map(abs, after)) > _GROWTH * max(map(abs, before))


def _effects(*ratios: float | None) -> Sequence[float]:
    """The logarithms of ratios, in which halving is as much as doubling."""
    return [math.log(ratio) for ratio in ratios if ratio is not None and 0 < ratio < math.inf]


def _is_beyond(later: Change, change: Change) -> bool:
    """Whether the level after one change is worse than that after another."""
    if later.target_value is None or change.target_value is None or later.ratio is None:
        return False
    return (later.target_value > change.target_value) == (later.ratio > 1)


def _is_later(later: Change, change: Change, order: Mapping[str, int]) -> bool:
    ends = later.target[:10], change.target[:10]
    return all(end in order for end in ends) and order[ends[0]] > order[ends[1]]


def fixing_changes(results: Iterable[Result], fixes: Collection[str]) -> list[Change]:
    """The changes that checks stored of the versions that fix something."""
    return [change for result in results if result.version in fixes for change in result.changes]


def settled(change: Change, fixes: Iterable[Change]) -> Change:
    """The change as it stands beside what was stored later, of versions that fix something: a check that compares one
    version with another stores that it became faster, and not what that undid."""
    series = change.config_id, change.metric, change.resource
    return next(
        (
            replace(change, undone=fix.latest or fix.target)
            for fix in fixes
            if (fix.config_id, fix.metric, fix.resource) == series and short_histories.takes_back(fix, change)
        ),
        change,
    )
