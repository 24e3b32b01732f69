"""What checks can see, as it was found by trying them: kept as notes of the store, and in words."""

from __future__ import annotations

from collections.abc import Container, Sequence

import attrs
import msgspec

from perfcore.checking.subjects import CALIBRATION
from perfcore.errors import FormatError
from perfcore.store import notes
from perfcore.store.store import Store
from perfcore.text import clip, printable

FORMAT = 1
SUBJECT, TYPE = CALIBRATION, "calibration"
LABEL = 50


@attrs.frozen(kw_only=True)
class Gate:
    """What a check makes of a metric: in how many tries without a change it called one (`tried` comparisons, or
    versions of replayed histories), and the smallest step that it sees (0.05: 5 % worse), None where it sees none."""

    tried: int
    alarms: int
    sees: float | None


@attrs.frozen(kw_only=True)
class Calibrated:
    """A metric of one configuration: the gate of a version against the one before, and that of the history, each None
    where there was too little to try it on."""

    config_id: str
    label: str
    metric: str
    primary: bool
    single: Gate | None = None
    history: Gate | None = None


@attrs.frozen(kw_only=True)
class Calibration:
    """All that was found at a time (ns since 1970 UTC)."""

    time: int
    results: tuple[Calibrated, ...]
    format: int = FORMAT


def keep(store: Store, calibration: Calibration) -> str:
    """Write it down; gives the id of the note."""
    return notes.add(store, SUBJECT, TYPE, msgspec.json.encode(calibration))


def newest(store: Store) -> Calibration | None:
    """What was found last."""
    found = [_decode(note.content) for note in notes.read(store, SUBJECT)]
    return max(found, key=lambda each: (each.time, msgspec.json.encode(each)), default=None)


def decisive(results: Sequence[Calibrated], config_ids: Container[str]) -> list[Calibrated]:
    """The metrics that decide, of these configurations."""
    return [each for each in results if each.primary and each.config_id in config_ids]


def summary(each: Calibrated) -> str:
    """`cpu of sort: one version is seen from 5 % (0 of 40 false alarms), a history from 2 % (0.4 in 1,000)`."""
    parts = []
    if each.single is not None:
        parts.append(f"one version is seen from {sees(each.single)} ({of_pairs(each.single)} false alarms)")
    if each.history is not None:
        parts.append(f"a history from {sees(each.history)} ({per_thousand(each.history)} in 1,000)")
    return f"{printable(each.metric)} of {clip(printable(each.label), LABEL)}: {', '.join(parts)}" if parts else ""


def sees(gate: Gate) -> str:
    return "nothing" if gate.sees is None else f"{gate.sees:.0%}".replace("%", " %")


def of_pairs(gate: Gate) -> str:
    return f"{gate.alarms} of {gate.tried}"


def per_thousand(gate: Gate) -> str:
    return f"{1000 * gate.alarms / gate.tried:.1f}"


def _decode(content: bytes) -> Calibration:
    try:
        found = msgspec.json.decode(content, type=Calibration)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"a note on calibration cannot be read: {error}") from error
    if found.format != FORMAT:
        raise FormatError(f"a note on calibration has the format {found.format}", hint="upgrade perfcore")
    return found
