"""The comparisons in the order in which people want to read them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
from perfcore_view_kit.form import shown
from perfcore_view_kit.history_chart import decision_on, silencing_state

from perfcore.analysis import verdict_text
from perfcore.model import Change
from perfcore.model.decisions import SILENT
from perfcore.text import plural

WORSE, BETTER = ("degradation", "drift"), ("optimization", "improving drift")
_SAME, _INCONCLUSIVE = "same", "cannot tell"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison: what was compared, and the verdict. `decision` is what people decided about the change in words,
    and `state` the state by which it fails no check."""

    name: str
    metric: str
    change: Change
    decision: str = ""
    state: str = ""

    @property
    def settled(self) -> bool:
        """Whether it fails no check, by what people decided or as a later version undid it."""
        return bool(self.state or self.change.undone)

    @property
    def word(self) -> str:
        return verdict_text.word(self.change)

    @property
    def sign(self) -> str:
        """A shape beside the word: up is worse, down is better."""
        if self.change.kind in WORSE:
            return "△" if self.settled else "▲"
        if self.change.kind in BETTER:
            return "▽" if self.settled else "▼"
        return {_SAME: "=", _INCONCLUSIVE: "?"}.get(self.change.kind, "◆")

    @property
    def side(self) -> str:
        """`worse`, `better` or `other`."""
        return "worse" if self.change.kind in WORSE else "better" if self.change.kind in BETTER else "other"

    @property
    def effect(self) -> float | None:
        """The logarithm of the ratio, by which halving and doubling are equally far from the same."""
        return log_ratio(self.change.ratio)


def log_ratio(ratio: float | None) -> float | None:
    """None for what has no logarithm."""
    return math.log(ratio) if ratio is not None and 0 < ratio < math.inf else None


def deciding(changes: Iterable[Change], gated: Collection[str]) -> list[Change]:
    """Those of primary metrics, and of the other metrics that decide."""
    return [change for change in changes if change.primary or change.metric in gated]


def rows(changes: Sequence[Change], accepted: Mapping[str, str], decided: Mapping[str, str]) -> list[Row]:
    """What changed first, by its size; then what is the same, and last what is inconclusive."""
    made = [
        Row(
            name=shown(change.resource or change.label or change.metric),
            metric=shown(change.contract or change.metric),
            change=change,
            decision=decision_on(change, accepted, decided),
            state=silencing_state(change, accepted, decided),
        )
        for change in changes
    ]
    return sorted(made, key=_rank)


def _rank(row: Row) -> tuple[int, float, str, str]:
    group = {_SAME: 1, _INCONCLUSIVE: 2}.get(row.change.kind, 0)
    return group, -abs(row.effect or 0.0), row.name, row.metric


def summary(ranked: Sequence[Row]) -> str:
    """How many comparisons came out how: the answer to "is it slower?"."""
    counts: dict[str, int] = {}
    for row in ranked:
        counts[row.word] = counts.get(row.word, 0) + 1
    accepted = [row.state for row in ranked if row.state]
    states = " or ".join(words for state, words in SILENT.items() if state in accepted)
    undone = sum(bool(row.change.undone) for row in ranked)
    parts = [f"{count} {word}" for word, count in counts.items()]
    settled = [(len(accepted), states), (undone, "undone in a later version")]
    suffix = " and ".join(f"{count} of these {state}" for count, state in settled if count)
    return f"{plural(len(ranked), 'comparison')}: {'; '.join(filter(None, (', '.join(parts), suffix)))}."
