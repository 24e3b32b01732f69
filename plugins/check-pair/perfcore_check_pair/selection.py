"""Which amounts are compared: runs without a value drop out, and from wall time the disturbed ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from perfcore_check_pair import wording
from perfcore_check_pair.inference import fewest_pairs, fewest_runs

if TYPE_CHECKING:
    from perfcore_check_pair.samples import Array, Flags

Masks: TypeAlias = "tuple[Flags, Flags]"


class Measured(msgspec.Struct, frozen=True, eq=False):
    """The amounts of one metric on one side, NaN where a run has none, and which runs were disturbed."""

    amounts: Array
    disturbed: Flags


class Chosen(msgspec.Struct, frozen=True, eq=False):
    """The compared values, which of those of the target they are, notes on the excluded ones, and the reason to doubt
    the compared ones, if there is any."""

    baseline: Array
    target: Array
    kept: Flags
    notes: tuple[str, ...] = ()
    doubt: str | None = None


def choose(sides: tuple[Measured, Measured], paired: bool, calm_only: bool, alpha: float) -> Chosen:
    """The amounts of both sides that are compared; partners are left out together.

    With `calm_only` disturbed runs are left out where enough others remain. Where they do not, partners were
    disturbed alike and are kept; runs of different times are kept too, but cannot be believed.
    """
    baseline, target = sides
    paired = paired and len(baseline.amounts) == len(target.amounts)
    usable = _joined((np.isfinite(baseline.amounts), np.isfinite(target.amounts)), paired)
    calm = _joined((~baseline.disturbed, ~target.disturbed), paired)
    notes, doubt = [wording.without_value(_lost(usable), paired)], None
    undisturbed = usable[0] & calm[0], usable[1] & calm[1]
    lost = int((usable[0] & ~calm[0]).sum()), int((usable[1] & ~calm[1]).sum())
    if calm_only and any(lost):
        if _enough(usable, undisturbed, paired, alpha):
            usable = undisturbed
            notes.append(wording.disturbed_left_out(lost, paired))
        elif paired:
            notes.append(wording.disturbed_kept(lost, paired))
        else:
            doubt = wording.disturbed_kept(lost, paired)
    selected = baseline.amounts[usable[0]], target.amounts[usable[1]]
    return Chosen(*selected, usable[1], tuple(note for note in notes if note), doubt)


def _joined(masks: Masks, paired: bool) -> Masks:
    """Of partners both or none."""
    partners = masks[0] & masks[1] if paired else None
    return masks if partners is None else (partners, partners)


def _lost(masks: Masks) -> tuple[int, int]:
    return int((~masks[0]).sum()), int((~masks[1]).sum())


def _enough(usable: Masks, undisturbed: Masks, paired: bool, alpha: float) -> bool:
    """Whether the undisturbed runs are at least half of all, and can show a change."""
    fewest = fewest_pairs(alpha) if paired else fewest_runs(alpha)
    counts = [(int(of.sum()), int(all_of.sum())) for of, all_of in zip(undisturbed, usable, strict=True)]
    return all(quiet >= fewest and 2 * quiet >= count for quiet, count in counts)
