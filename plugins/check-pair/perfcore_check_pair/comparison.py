"""From a pairing to a verdict for every metric."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING

import attrs
import numpy as np

from perfcore.errors import UsageError
from perfcore.model import Change
from perfcore.text import printable
from perfcore_check_pair import samples, wording
from perfcore_check_pair.inference import fewest_pairs, fewest_runs
from perfcore_check_pair.verdict import Question, decide

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfcore.model import Pairing, Profile
    from perfcore_check_pair import PairSettings
    from perfcore_check_pair.samples import Array, Flags, Indexes, Metric, Runs
    from perfcore_check_pair.verdict import Verdict

CPU, WALL = "cpu", "wall"


@attrs.frozen(eq=False)
class _Comparison:
    """A pairing as it was read: the runs of both sides, and which of them are partners."""

    pairing: Pairing
    settings: PairSettings
    baseline: Runs
    target: Runs
    partners: tuple[Indexes, Indexes] | None
    obstacle: str | None
    doubt: str | None


def compare(pairing: Pairing, settings: PairSettings) -> Sequence[Change]:
    """One change for every metric that either side has, in the order of their columns."""
    baseline, target = samples.read(pairing.baseline), samples.read(pairing.target)
    comparison = _Comparison(
        pairing,
        settings,
        baseline,
        target,
        samples.pairs(baseline, target, pairing.interleaved),
        _obstacle(pairing),
        _different_ends(baseline, target) or _different_environments(pairing, settings),
    )
    primary = _primary(baseline.metrics, target.metrics)
    names = dict.fromkeys((*baseline.metrics, *target.metrics))
    return [_change(comparison, name, name == primary) for name in names]


def _change(comparison: _Comparison, name: str, primary: bool) -> Change:
    pairing, verdict = comparison.pairing, _verdict(comparison, name)
    return Change(
        id=_identity(pairing, name),
        metric=name,
        unit=_unit(comparison, name),
        config_id=pairing.config_id,
        label=pairing.label,
        baseline=pairing.baseline.label,
        target=pairing.target.label,
        primary=primary,
        **attrs.asdict(verdict),
    )


def _verdict(comparison: _Comparison, name: str) -> Verdict:
    sides = [side.metrics[name] for side in (comparison.baseline, comparison.target) if name in side.metrics]
    baseline, target, notes = _amounts(comparison, name)
    question = Question(
        baseline=baseline,
        target=target,
        paired=comparison.partners is not None,
        threshold=_threshold(comparison.pairing, name, comparison.settings),
        higher_is_better="higher" in sides[0].better,
        unit=_unit(comparison, name),
        obstacle=comparison.obstacle or _different_columns(sides),
        doubt=comparison.doubt,
        notes=notes,
    )
    return decide(question, comparison.settings)


def _unit(comparison: _Comparison, name: str) -> str:
    side = comparison.target if name in comparison.target.metrics else comparison.baseline
    return min(side.metrics[name].units)


def _amounts(comparison: _Comparison, name: str) -> tuple[Array, Array, tuple[str, ...]]:
    """The amounts that are compared, and in words what was left out. Partners are left out together."""
    (baseline, baseline_disturbed), (target, target_disturbed) = (_side(comparison, i, name) for i in (0, 1))
    there = [np.isfinite(baseline), np.isfinite(target)]
    calm = [~baseline_disturbed, ~target_disturbed]
    paired = comparison.partners is not None and len(baseline) == len(target)
    if paired:
        there = [there[0] & there[1]] * 2
        calm = [calm[0] & calm[1]] * 2
    notes = [wording.without_value([int((~mask).sum()) for mask in there], paired)]
    if name == WALL and not all(mask.all() for mask in calm):
        undisturbed = [mask & quiet for mask, quiet in zip(there, calm, strict=True)]
        left_out = [int((mask & ~quiet).sum()) for mask, quiet in zip(there, calm, strict=True)]
        enough = _enough(there, undisturbed, paired, comparison.settings.alpha)
        there = undisturbed if enough else there
        notes.append(wording.disturbed(left_out, paired, enough))
    return baseline[there[0]], target[there[1]], tuple(note for note in notes if note)


def _side(comparison: _Comparison, side: int, name: str) -> tuple[Array, Flags]:
    """The amounts of one side and which runs were disturbed; of partners only, where there are any."""
    runs = (comparison.baseline, comparison.target)[side]
    if name not in runs.metrics:
        return np.zeros(0), np.zeros(0, dtype=bool)
    amounts = runs.metrics[name].amounts
    disturbed = np.array([run.disturbed for run in runs.runs], dtype=bool)
    if comparison.partners is None:
        return amounts, disturbed
    chosen = comparison.partners[side]
    return amounts[chosen], disturbed[chosen]


def _enough(all_runs: Sequence[Flags], undisturbed: Sequence[Flags], paired: bool, alpha: float) -> bool:
    """Whether the undisturbed runs are at least half of all, and can show a change."""
    fewest = fewest_pairs(alpha) if paired else fewest_runs(alpha)
    counts = [(int(mask.sum()), int(quiet.sum())) for mask, quiet in zip(all_runs, undisturbed, strict=True)]
    return all(quiet >= fewest and 2 * quiet >= count for count, quiet in counts)


def _threshold(pairing: Pairing, name: str, settings: PairSettings) -> float:
    """The smallest relative change of this metric that matters."""
    default = settings.wall_threshold if name == WALL else settings.threshold
    threshold = pairing.thresholds.get(name, pairing.thresholds.get("", default))
    if not (math.isfinite(threshold) and threshold >= 0):
        raise UsageError(
            f"the threshold of {printable(name)!r} is {threshold}",
            hint="a threshold is a share such as 0.02 for 2 %, and 0 or more",
        )
    return threshold


def _primary(baseline: Mapping[str, Metric], target: Mapping[str, Metric]) -> str | None:
    """The metric that decides: CPU time, else wall time, else the first column, among those that both sides
    have amounts of; the same one when the sides are swapped."""
    shared = [name for name in baseline if name in target]
    usable = [name for name in shared if all((side[name].amounts > 0).any() for side in (baseline, target))]
    places = {side: list(side_metrics) for side, side_metrics in enumerate((baseline, target))}
    return min(
        usable or shared,
        key=lambda name: (name != CPU, name != WALL, sum(places[i].index(name) for i in (0, 1)), name),
        default=None,
    )


def _obstacle(pairing: Pairing) -> str | None:
    """Why the two sides have nothing to do with each other, if so."""
    for what, of in (("types", _type), ("collectors", _collector), ("postprocessors", _postprocessors)):
        values = {of(profile) for side in (pairing.baseline, pairing.target) for profile in side.profiles}
        if len(values) > 1:
            return f"profiles of different {what} cannot be compared: {wording.listing(values)}"
    return None


def _type(profile: Profile) -> str:
    return profile.header.type


def _collector(profile: Profile) -> str:
    return profile.collector.name


def _postprocessors(profile: Profile) -> str:
    return " and ".join(tool.name for tool in profile.postprocessors) or "none"


def _different_columns(sides: Sequence[Metric]) -> str | None:
    """Why columns of one name are not the same thing, if so."""
    units = {unit or "none" for metric in sides for unit in metric.units}
    if len(units) > 1:
        return f"the units differ: {wording.listing(units)}"
    if len({better for metric in sides for better in metric.better}) > 1:
        return "the profiles disagree on whether lower or higher is better"
    return None


def _different_ends(baseline: Runs, target: Runs) -> str | None:
    ends = [{run.exit for run in side.runs if run.exit is not None} for side in (baseline, target)]
    if not all(ends) or ends[0] == ends[1]:
        return None
    listed = [wording.listing(map(str, sorted(codes))) for codes in ends]
    return f"the runs ended differently, with exit code {listed[0]} and with {listed[1]}"


def _different_environments(pairing: Pairing, settings: PairSettings) -> str | None:
    known = {
        profile.environment_id
        for side in (pairing.baseline, pairing.target)
        for profile in side.profiles
        if profile.environment_id
    }
    if len(known) < 2 or settings.across_environments:
        return None
    return "the profiles were measured in different environments"


def _identity(pairing: Pairing, metric: str) -> str:
    """The same for the same question, whatever the data answer."""
    sides = [[side.version, side.dirty] for side in (pairing.baseline, pairing.target)]
    question = json.dumps([pairing.config_id, *sides, metric, ""])
    return hashlib.sha256(question.encode()).hexdigest()[:20]
