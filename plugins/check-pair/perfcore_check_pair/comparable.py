"""Whether two sides can be compared, and whether a difference between them would be due to the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore_check_pair import wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.model import Pairing, Profile
    from perfcore_check_pair import PairSettings
    from perfcore_check_pair.samples import Metric, Runs


def obstacle(pairing: Pairing) -> str | None:
    """Why the two sides have nothing to do with each other, if so."""
    for subject, of in (("types", _type), ("collectors", _collector), ("postprocessors", _postprocessors)):
        values = {of(profile) for side in (pairing.baseline, pairing.target) for profile in side.profiles}
        if len(values) > 1:
            return f"profiles of different {subject} cannot be compared: {wording.listing(values)}"
    return None


def _type(profile: Profile) -> str:
    return profile.header.type


def _collector(profile: Profile) -> str:
    return profile.collector.name


def _postprocessors(profile: Profile) -> str:
    return " and ".join(tool.name for tool in profile.postprocessors) or "none"


def doubt(pairing: Pairing, baseline: Runs, target: Runs, settings: PairSettings) -> str | None:
    """Why a difference would say little about the code, if so."""
    return _different_ends(baseline, target) or _different_environments(pairing, settings)


def different_columns(sides: Sequence[Metric]) -> str | None:
    """Why columns of one name are not the same thing, if so."""
    units = {unit or "none" for metric in sides for unit in metric.units}
    if len(units) > 1:
        return f"the units differ: {wording.listing(units)}"
    if len({better for metric in sides for better in metric.better}) > 1:
        return "the profiles disagree on whether lower or higher is better"
    return None


def _different_ends(baseline: Runs, target: Runs) -> str | None:
    # A program that fails early is fast: its time is no improvement.
    ends = [{run.exit for run in side.runs if run.exit is not None} for side in (baseline, target)]
    if not all(ends) or ends[0] == ends[1]:
        return None
    listed = [wording.listing(map(str, sorted(codes))) for codes in ends]
    return f"the baseline's runs ended with exit code {listed[0]}, the target's with {listed[1]}"


def _different_environments(pairing: Pairing, settings: PairSettings) -> str | None:
    # A profile without an id, such as an imported one, contradicts no other.
    environments = {
        profile.environment_id
        for side in (pairing.baseline, pairing.target)
        for profile in side.profiles
        if profile.environment_id
    }
    if len(environments) < 2 or settings.across_environments:
        return None
    return "the profiles were measured in different environments"
