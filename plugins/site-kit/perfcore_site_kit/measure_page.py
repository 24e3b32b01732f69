"""Can I trust it: how noisy each series is, on which machines it was measured, and what the checks can see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup
from perfcore_view_kit.form import quantity, shown
from perfcore_view_kit.table import Cell, table

from perfcore.analysis import check_drivers, note_keys
from perfcore.errors import PerfError
from perfcore.store import notes
from perfcore.text import plural
from perfcore_site_kit import sentences
from perfcore_site_kit.branch import Branch, MeasuredEnvironment, SeriesRow

if TYPE_CHECKING:
    from perfcore_site_kit.renderer import View

_ROWS = 500
_MACHINES = 40
_FACTS = ("host", "os", "cpu", "cpus", "memory", "governor")
FEW = 6
"""Runs from which on the range between the least and the greatest covers the median with 95 %."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """An environment: how many series it measured, from which version to which."""

    environment: str
    series: int
    first: str
    last: str
    facts: tuple[tuple[str, str], ...] = ()


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """`noisy` is the series with most noise, `few` counts those of too few runs for an interval of 95 %."""

    machines: tuple[Machine, ...]
    deciding: tuple[SeriesRow, ...]
    noisiest: SeriesRow | None
    few: int
    calibration: tuple[str, ...]


def measure_page(view: View) -> Mapping[str, Any]:
    page = trust(view)
    return {
        "heading": "Can I trust it?",
        "answer": sentences.trust(page.deciding, page.noisiest, page.few, len(page.machines)),
        "page": page,
        "table": Markup(_table(view, page.deciding)) if page.deciding else None,
    }


def trust(view: View) -> Trust:
    branch = view.branch
    deciding = tuple(row for row in branch.series if row.decides)
    noisy = [row for row in deciding if row.noise is not None]
    return Trust(
        machines=machines(view, branch),
        deciding=deciding[:_ROWS],
        noisiest=max(noisy, key=lambda row: row.noise or 0.0, default=None),
        few=sum(row.runs < FEW for row in deciding),
        calibration=_calibration(view),
    )


def machines(view: View, branch: Branch) -> tuple[Machine, ...]:
    """The environments in which something was measured, the newest last, with the facts of the newest profile of
    each."""
    measured: dict[str, list[MeasuredEnvironment]] = {}
    for row in branch.series:
        for environment in row.environments:
            measured.setdefault(environment.id, []).append(environment)
    newest = {id: max(environment.newest for environment in series) for id, series in measured.items()}
    return tuple(
        Machine(
            environment=id,
            series=len(measured[id]),
            first=branch.versions[min(environment.first for environment in measured[id])].id[:10],
            last=branch.versions[newest[id]].id[:10],
            facts=_facts(view, branch.versions[newest[id]].id, id),
        )
        for id in sorted(measured, key=newest.__getitem__)[-_MACHINES:]
    )


def _facts(view: View, version: str, environment: str) -> tuple[tuple[str, str], ...]:
    repository = view.site.repository
    try:
        entries = repository.readable_entries(version)
        entry = next((entry for entry in reversed(entries) if entry.environment_id == environment), None)
        machine = repository.store.load(entry.profile).machine if entry is not None else {}
    except PerfError:
        return ()
    return tuple((name, _fact(name, machine[name])) for name in _FACTS if name in machine)


def _fact(name: str, fact: object) -> str:
    if name == "memory" and isinstance(fact, int):
        return quantity(fact, "B")
    return shown(str(fact), 60)


def _calibration(view: View) -> tuple[str, ...]:
    """What stored calibrations say of the changes that the checks see."""
    repository = view.site.repository
    try:
        if not notes.exist(repository.store, note_keys.CALIBRATION):
            return ()
        return tuple(check_drivers.calibrated(repository, {row.config_id for row in view.branch.series}))
    except PerfError:
        return ()


def _table(view: View, deciding: tuple[SeriesRow, ...]) -> str:
    head = ("Series", "From version to version", "From run to run", "Runs", "Sessions", "Versions", "Environments")
    rows = [
        [
            Cell(shown(sentences.title(row), 80), link=view.link(row.path)),
            Cell(sentences.share(row.noise), row.noise),
            Cell(sentences.share(row.spread), row.spread),
            Cell(f"{row.runs}{' (few)' if row.runs < FEW else ''}", row.runs),
            Cell(str(row.sessions or "unknown"), row.sessions),
            Cell(f"{row.measured:,}", row.measured),
            Cell(plural(len(row.environments), "environment"), len(row.environments)),
        ]
        for row in deciding
    ]
    return table("Noise of each series, as a relative standard deviation", head, rows, sortable=True)
