"""What checks can see, as it was found by trying them: kept as notes of the store, and in words."""

from __future__ import annotations

from collections.abc import Container, Sequence

import attrs
import msgspec

from perfcore.analysis.note_keys import CALIBRATION
from perfcore.errors import FormatError
from perfcore.store import notes
from perfcore.store.store import Store
from perfcore.text import clip, plural, printable

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
    """All that was found at a time (ns since 1970 UTC): of the check that was asked for, or else of those that are
    configured."""

    time: int
    results: tuple[Calibrated, ...]
    format: int = FORMAT
    method: str = ""


def keep(store: Store, calibration: Calibration) -> str:
    """Write it down; gives the id of the note."""
    return notes.add(store, SUBJECT, TYPE, msgspec.json.encode(calibration))


def newest(store: Store) -> list[Calibration]:
    """What was found last of every method, of those that are configured first."""
    found = [_decode(note.content) for note in notes.read(store, SUBJECT)]
    last = {each.method: each for each in sorted(found, key=lambda each: (each.time, msgspec.json.encode(each)))}
    return [last[method] for method in sorted(last)]


def decisive(results: Sequence[Calibrated], config_ids: Container[str]) -> list[Calibrated]:
    """The metrics that decide, of these configurations."""
    return [each for each in results if each.primary and each.config_id in config_ids]


def summary(each: Calibrated) -> str:
    """`cpu of sort: one version shows changes from 5 % (0 false alarms in 40 tries), a history shows …`."""
    parts = []
    if each.single is not None:
        alarms, tries = plural(each.single.alarms, "false alarm"), plural(each.single.tried, "try", "tries")
        parts.append(f"one version shows {_shown(each.single)} ({alarms} in {tries})")
    if each.history is not None:
        parts.append(f"a history shows {_shown(each.history)} ({per_thousand(each.history)} false alarms in 1,000)")
    return f"{printable(each.metric)} of {clip(printable(each.label), LABEL)}: {', '.join(parts)}" if parts else ""


def _shown(gate: Gate) -> str:
    return "no change, however large" if gate.sees is None else f"changes from {sees(gate)}"


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
