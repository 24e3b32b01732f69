"""What a chart shows: lines over positions, such as versions, with changes and other events.

Every text is one that can be shown as it is. Values that are no finite numbers are gaps."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from perfcore_view_kit.palette import MOST_LINES
from perfcore_view_kit.svg import Value


class Level(msgspec.Struct, frozen=True):
    """A fitted level, from the position `start` to `end` inclusive: from the value `first` to `last`."""

    start: int
    end: int
    first: float
    last: float


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line: a value for each position, None where nothing was measured, with the bounds of its interval and the
    number of its runs. `hollow` are positions that are inconclusive."""

    name: str
    values: Sequence[Value]
    low: Sequence[Value] = ()
    high: Sequence[Value] = ()
    counts: Sequence[int] = ()
    hollow: Sequence[int] = ()
    levels: Sequence[Level] = ()


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A change that shows at the position `at` of a line, and that may have come with any from `first` to `last`.
    `word` and `text` say what it is, `worse` whether it is for the worse (None for neither); `low` and `high` are the
    interval of the new level. `decided` says what people decided about it, and `accepted` is the reason where it fails
    no check therefore."""

    at: int
    word: str
    text: str
    line: int = 0
    worse: bool | None = None
    first: int | None = None
    last: int | None = None
    low: float | None = None
    high: float | None = None
    accepted: str = ""
    decided: str = ""

    @property
    def sign(self) -> str:
        return "◆" if self.worse is None else "▲" if self.worse else "▼"

    @property
    def decision(self) -> str:
        return self.decided or (f"accepted: {self.accepted}" if self.accepted else "")

    @property
    def badge(self) -> str:
        """What stands beside its sign where people decided about it."""
        return "✓" if self.accepted else "✎" if self.decided else ""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A vertical line: `kind` is `machine` for another machine or environment, `release` for a release."""

    at: int
    kind: str
    text: str


class ChartData(msgspec.Struct, frozen=True, kw_only=True):
    """What a chart shows. `finding` is its one sentence; `labels` name the positions, `notes` say more of each, `dates`
    are seconds since 1970 UTC. `link` is an address in which `{}` stands for a label, and `band` says in a sentence
    what the intervals are. `positions` are numbers in `position_unit`, ascending, where positions are not just in
    order; then `points` may ask for points without lines. Lines that take turns have one value at each position between
    them, so that each goes on across those of the others."""

    title: str
    finding: str
    lines: Sequence[Line]
    labels: Sequence[str]
    unit: str = ""
    notes: Sequence[str] = ()
    dates: Sequence[int] = ()
    link: str = ""
    marks: Sequence[Mark] = ()
    rules: Sequence[Rule] = ()
    band: str = ""
    axis: str = "versions"
    positions: Sequence[float] = ()
    position_unit: str = ""
    points: bool = False
    takes_turns: bool = False

    def __post_init__(self) -> None:
        if len(self.lines) > MOST_LINES:
            raise ValueError(f"a chart has at most {MOST_LINES} lines, not {len(self.lines)}: make several charts")


class ChartOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`id` is that of the figure, unique in its page; the address of the page keeps its state under this name."""

    id: str = "chart"
    height: int = 300
    width: int = 860
    from_zero: bool = False
    heading: int = 2


DEFAULT = ChartOptions()
