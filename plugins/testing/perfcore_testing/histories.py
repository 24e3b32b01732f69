"""Small histories of a metric to try views on. Each call makes a new, equal one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfcore.model import Change, MetricHistory, MinorVersion, Point, ViewData
from perfcore.model.record import replace
from perfcore_testing import hostile as hostile_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_DAY = 86_400
_BEGIN = 1_750_000_000


def history(levels: Sequence[float | None], *, changes: Sequence[Change] = (), **fields: Any) -> MetricHistory:
    """CPU time of one command: three runs around each level, none for None; `fields` are others of the class."""
    points = tuple(_point(position, level) for position, level in enumerate(levels))
    series = MetricHistory(
        command="./gzip -9 'big file.txt'",
        collector="time",
        config_id="c0" * 20,
        metric="cpu",
        unit="ns",
        points=points,
        changes=tuple(changes),
    )
    return replace(series, **fields)


def change(number: int, **fields: Any) -> Change:
    """A regression by 20 % that the version of this number brought."""
    facts: dict[str, Any] = {
        "id": f"{number:02x}" * 20,
        "kind": "degradation",
        "metric": "cpu",
        "unit": "ns",
        "config_id": "c0" * 20,
        "label": "./gzip -9 'big file.txt'",
        "baseline": _id(number - 1)[:10],
        "target": _id(number)[:10],
        "baseline_value": 1e7,
        "target_value": 1.2e7,
        "ratio": 1.2,
        "low": 1.18,
        "high": 1.22,
        "confidence": 0.99,
        "evidence": "the level moved",
        "earliest": _id(number),
        "latest": _id(number),
    }
    return Change(**{**facts, **fields})


def steady() -> MetricHistory:
    """Nothing changes."""
    return history([1e7] * 8)


def changed() -> MetricHistory:
    """A regression, an improvement that may have come with two versions, and another machine."""
    levels = [1e7] * 5 + [1.2e7] * 5 + [0.9e7] * 5
    return history(
        levels,
        changes=(
            change(5),
            change(10, kind="optimization", ratio=0.75, low=0.74, high=0.76, earliest=_id(9), latest=_id(10)),
            change(12, kind="machine", ratio=None, low=None, high=None, environments=("e0" * 20, "e1" * 20)),
        ),
    )


def drifting() -> MetricHistory:
    """A slow drift up that goes on, after one that was faster and down."""
    down = change(2, kind="improving drift", ratio=0.85, low=0.84, high=0.86, until=_id(7), pace=0.97)
    up = change(9, kind="drift", ratio=1.3, low=1.29, high=1.31, until=_id(19), pace=1.024)
    levels = [1e7, 1e7, *(1e7 - 3e5 * number for number in range(6)), *(8.5e6 + 2.5e5 * number for number in range(12))]
    return history(levels, changes=(down, up))


def in_turns(machines: int = 3) -> MetricHistory:
    """A regression by a half, with the version of number 15, of 30 that machines measured in turns, each of
    which takes a fifth longer than the one before it."""
    order = [number % machines for number in range(30)]
    levels = [1e7 * 1.2**machine * (1.5 if number >= 15 else 1.0) for number, machine in enumerate(order)]
    series = history(levels, changes=(change(15, ratio=1.5, low=1.48, high=1.52, target_value=1.5e7),))
    points = [
        replace(point, environment=f"{machine + 1}:{'5a' * 19}")
        for point, machine in zip(series.points, order, strict=True)
    ]
    return replace(series, points=tuple(points))


def function() -> MetricHistory:
    """What a function took, with a change of its spread that was taken back, and versions that lack it."""
    spread = change(2, kind="variance", ratio=3.0, low=None, high=None, undone=_id(4))
    return history([25, None, 50, 50, 75], changes=(spread,), resource="Parser.parse", metric="samples", unit="")


def single() -> MetricHistory:
    """One version."""
    return history([1e7])


def unmeasured() -> MetricHistory:
    """Versions without any value."""
    return history([None, None])


def hostile() -> MetricHistory:
    """Every name is one that a stranger chose, and the values are extreme."""
    names = hostile_names.NAMES
    points = tuple(
        Point(
            version=MinorVersion(id=_id(position), subject=name, author=name, email=name, date=_BEGIN),
            environment=name,
            profiles=(name,),
            values=((1e308, -1e308, 0.0)[position % 3],),
        )
        for position, name in enumerate(names)
    )
    return history(
        [],
        points=points,
        changes=(change(1, label=names[0], resource=names[2], evidence=names[2], id=names[3], undone=names[2]),),
        command=names[2],
        collector=names[1],
        metric=names[0],
        resource=names[6],
        unit=names[5],
    )


SAMPLES: Mapping[str, Callable[[], MetricHistory]] = {
    make.__name__: make for make in (steady, changed, drifting, in_turns, function, single, unmeasured, hostile)
}


def data(*series: MetricHistory) -> ViewData:
    """Input of a view with these series. Of those with hostile names, every change is accepted for a hostile reason
    and decided about in hostile words, and every version has hostile tags."""
    strange = [each for each in series if each.collector in hostile_names.NAMES]
    return ViewData(
        series=series,
        accepted={change.id: hostile_names.NAMES[2] for each in strange for change in each.changes},
        decided={change.id: hostile_names.NAMES[0] for each in strange for change in each.changes},
        releases={point.version.id: tuple(hostile_names.NAMES) for each in strange for point in each.points},
    )


def _point(number: int, level: float | None) -> Point:
    version = MinorVersion(id=_id(number), subject=f"Change {number}", date=_BEGIN + number * _DAY)
    values = () if level is None else (level, level * 1.01, level * 0.99)
    return Point(version=version, environment="e0" * 20, profiles=(f"{number:02x}" * 20,), values=values)


def _id(number: int) -> str:
    return f"{number:02x}" * 20
