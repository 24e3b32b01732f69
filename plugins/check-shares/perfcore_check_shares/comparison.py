"""Verdicts on functions from the cells of two profiles. Profiles without cells are compared by the check `pair`."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfcore_check_pair import PairCheck, PairSettings
from perfcore_check_pair.inference import student_quantile
from perfcore_fleet_kit import shares
from perfcore_fleet_kit.cells import has_cells, sample_of_profiles
from perfcore_fleet_kit.shares import FEWEST_CELLS, ShareChange

from perfcore.model import Change, ChangeKind, Pairing, Sample
from perfcore.text import plural, printable

if TYPE_CHECKING:
    from perfcore_check_shares import SharesSettings

METRIC = "share"
_KINDS: dict[str, ChangeKind] = {"not enough samples": "cannot tell", "shift": "same"}


def compare(pairing: Pairing, settings: SharesSettings) -> Sequence[Change]:
    """A verdict for each function with more than `threshold` of the samples of a side, and one for both as a whole,
    which decides nothing."""
    if not (has_cells(pairing.baseline.profiles) and has_cells(pairing.target.profiles)):
        return PairCheck(PairSettings()).compare(pairing)
    before, after = (sample_of_profiles(sample.profiles) for sample in (pairing.baseline, pairing.target))
    threshold = pairing.thresholds.get(METRIC, pairing.thresholds.get("", settings.threshold))
    confidence = 1 - (1 - settings.confidence) * pairing.share / max(1, pairing.comparisons)
    changes = shares.compare(before, after, student_quantile, threshold=max(threshold, 1e-9), confidence=confidence)
    cells = f"{before.total:,} and {after.total:,} samples of {len(before.cells):,} and {len(after.cells):,} cells"
    enough = min(len(before.cells), len(after.cells)) >= FEWEST_CELLS
    return [_whole(pairing, changes, cells), *(_change(each, pairing, settings, cells, enough) for each in changes)]


def _whole(pairing: Pairing, changes: Sequence[ShareChange], cells: str) -> Change:
    """How many functions changed. Shares always sum up to one, so the whole never becomes slower."""
    counted = {verdict: sum(change.verdict == verdict for change in changes) for verdict in _words()}
    words = [f"{count:,} {_words()[verdict]}" for verdict, count in counted.items() if count]
    undecided = not changes or counted["not enough samples"] == len(changes)
    return Change(
        id=_id(pairing, ""),
        kind="cannot tell" if undecided else "same",
        metric=METRIC,
        config_id=pairing.config_id,
        label=pairing.label,
        baseline=pairing.baseline.label,
        target=pairing.target.label,
        primary=False,
        evidence=f"{', '.join(words) or 'no function'}; {cells}",
        reason="not enough samples" if undecided else "",
    )


def _words() -> dict[str, str]:
    return {
        "degradation": "take more",
        "optimization": "take less",
        "shift": "only moved",
        "same": "are the same",
        "not enough samples": "undecided",
    }


def _change(change: ShareChange, pairing: Pairing, settings: SharesSettings, cells: str, enough: bool) -> Change:
    kind = _KINDS.get(change.verdict, change.verdict)
    low, high = _ratio(change.before + change.low, change.before), _ratio(change.before + change.high, change.before)
    is_bounded = low is not None and high is not None and enough
    return Change(
        id=_id(pairing, change.function),
        kind=kind,  # type: ignore[arg-type]  # what is no key is a kind
        metric=METRIC,
        resource=printable(change.function),
        config_id=pairing.config_id,
        label=pairing.label,
        baseline=pairing.baseline.label,
        target=pairing.target.label,
        baseline_value=change.before,
        target_value=change.after,
        ratio=_ratio(change.after, change.before),
        low=low if is_bounded else None,
        high=high if is_bounded else None,
        confidence=settings.confidence if is_bounded else None,
        evidence=_evidence(change, cells),
        reason="" if kind != "cannot tell" else "not enough samples" if enough else f"fewer than {FEWEST_CELLS} cells",
    )


def _evidence(change: ShareChange, cells: str) -> str:
    difference = f"{100 * (change.after - change.before):+.2f} points of all samples"
    if math.isfinite(change.low + change.high):
        difference += f" ({100 * change.low:+.2f} to {100 * change.high:+.2f})"
    if change.verdict == "shift":
        neighbours = ", ".join(printable(name) for name in change.moved_to[:3])
        difference += (
            f"; the cost only moved: {plural(len(change.moved_to), 'neighbour')} make up for it ({neighbours})"
        )
    return f"{difference}; {cells}"


def _ratio(value: float, before: float) -> float | None:
    return max(0.0, value) / before if before > 0 else None


def _id(pairing: Pairing, function: str) -> str:
    parts = (METRIC, pairing.config_id, _version(pairing.baseline), _version(pairing.target), function)
    return hashlib.sha1("\0".join(parts).encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _version(sample: Sample) -> str:
    return sample.version or ",".join(sorted(profile.config_id for profile in sample.profiles))
