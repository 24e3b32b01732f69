"""How small a change the checks of a project detect: the results of calibrations, stored as notes, and in words."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import attrs
import msgspec

from perfcore.analysis.note_keys import CALIBRATION
from perfcore.cli import listing
from perfcore.errors import FormatError
from perfcore.store import notes
from perfcore.store.store import Store
from perfcore.text import clip, plural, printable

FORMAT = 1  # of the stored note; a newer one is refused
SUBJECT, TYPE = CALIBRATION, "calibration"
LABEL = 50  # characters of a command in a table of six columns


@attrs.frozen(kw_only=True)
class Sensitivity:
    """What a check makes of a metric: in how many tries without a change it reported one (`tried` comparisons, or
    versions of replayed histories), and the smallest step that it detects (0.05: 5 % worse), None where it detects
    none."""

    tried: int
    alarms: int
    sees: float | None


@attrs.frozen(kw_only=True)
class Calibrated:
    """A metric of one configuration: the sensitivity of a version against the one before, and that of the history,
    each None where there were too few versions to try."""

    config_id: str
    label: str
    metric: str
    primary: bool
    single: Sensitivity | None = None
    history: Sensitivity | None = None


@attrs.frozen(kw_only=True)
class Calibration:
    """All results of one calibration (`time`: ns since 1970 UTC): of the check `method`, or else of those that are
    configured."""

    time: int
    results: tuple[Calibrated, ...]
    format: int = FORMAT
    method: str = ""


def keep(store: Store, calibration: Calibration) -> str:
    """Write it down; gives the id of the note."""
    return notes.add(store, SUBJECT, TYPE, msgspec.json.encode(calibration))


def newest(store: Store) -> list[Calibration]:
    """The newest calibrations of all methods, those of the configured checks first."""
    calibrations = [_decode(note.content) for note in notes.read(store, SUBJECT)]
    ordered = sorted(calibrations, key=lambda result: (result.time, msgspec.json.encode(result)))
    last = {result.method: result for result in ordered}
    return [last[method] for method in sorted(last)]


def decisive(results: Sequence[Calibrated], config_ids: Container[str]) -> list[Calibrated]:
    """The metrics that decide, of these configurations."""
    return [result for result in results if result.primary and result.config_id in config_ids]


def summary(each: Calibrated) -> str:
    """`cpu of sort: one version shows changes from 5 % (0 false alarms in 40 tries), a history shows …`."""
    parts = []
    if each.single is not None:
        alarms, tries = plural(each.single.alarms, "false alarm"), plural(each.single.tried, "try", "tries")
        parts.append(f"one version shows {_shown(each.single)} ({alarms} in {tries})")
    if each.history is not None:
        parts.append(f"a history shows {_shown(each.history)} ({per_thousand(each.history)} false alarms in 1,000)")
    return f"{printable(each.metric)} of {clip(printable(each.label), LABEL)}: {', '.join(parts)}" if parts else ""


def _shown(sensitivity: Sensitivity) -> str:
    return "no change, however large" if sensitivity.sees is None else f"changes from {sees(sensitivity)}"


def sees(sensitivity: Sensitivity) -> str:
    return "nothing" if sensitivity.sees is None else f"{sensitivity.sees:.0%}".replace("%", " %")


def per_thousand(sensitivity: Sensitivity) -> str:
    return f"{1000 * sensitivity.alarms / sensitivity.tried:.1f}"


def _decode(content: bytes) -> Calibration:
    try:
        calibration = msgspec.json.decode(content, type=Calibration)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"a note on calibration cannot be read: {error}") from error
    if calibration.format != FORMAT:
        raise FormatError(f"a note on calibration has the format {calibration.format}", hint="upgrade perfcore")
    return calibration


def status(store: Store, config_ids: Container[str]) -> Iterator[str]:
    """What the newest calibrations found for these configurations, in lines with blank ones in front of paragraphs."""
    for calibration in newest(store):
        lines = list(filter(None, map(summary, decisive(calibration.results, config_ids))))
        if lines:
            who = f"the check {printable(calibration.method)} sees" if calibration.method else "the checks see"
            yield ""
            yield f"what {who}, as tried {listing.moment(calibration.time)}:"
            yield from (f"  {line}" for line in lines)
