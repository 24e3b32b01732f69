"""The sensitivity of a project's checks, measured on its own history.

Pairs of versions without a change are compared: each reported change is a false alarm. Then the later version is made
worse by a known step: the sensitivity is the smallest step that the check detects in nine of ten tries. Histories are
tried in the same way, on replays of blocks of the real one (moving-block bootstrap, Künsch 1989), which keep the
autocorrelation of its noise.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import attrs
from perfcore_check_kit.history import HistoryCheck, ScannedSeries
from perfcore_check_kit.pair_checks import run_checks
from perfcore_check_kit.pairing import of_profiles
from perfcore_check_kit.run_values import Sessions, primary
from perfcore_check_kit.thresholds import thresholds_of

from perfcore.errors import PerfError
from perfcore.model import Change, Pairing, Sample, Series
from perfcore.model.listener import Listener
from perfcore.model.record import replace
from perfcore.profile.table import Column, column
from perfcore.repository.repository import Repository
from perfcore_check_calibration.sensitivity import Calibrated, Sensitivity

# Each is about half as large again as the one before, which is as exact as a sensitivity from 40 tries can be.
STEPS = (0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.35, 0.6, 1.0)
RATE = 0.9  # share of the tries that must detect a step: the usual power of an experiment is 0.8 or 0.9
PAIRS = 40  # comparisons at most, so that a long history takes no longer than one of 41 versions
REPLAYS = 20  # 18 of them are the share RATE
# Versions of a replayed history: blocks are the square root of them, and 16 give four blocks of four.
# Of longer histories the newest 300 are replayed, so that the time of a calibration is bounded.
SHORTEST, LONGEST = 16, 300
NEAR = 3  # versions between a step and the change that counts as its detection, as in the benchmark of `changepoint`

_Runs: TypeAlias = tuple[tuple[float, ...], Sessions]  # the runs of a version, and their sessions


@attrs.frozen(kw_only=True)
class Trial:
    """The series of the branch with their changes, the check of histories to try (None: only that of two versions), and
    the check of two versions by name (None: as configured)."""

    repository: Repository
    series: tuple[ScannedSeries, ...]
    history_check: HistoryCheck | None
    method: str | None
    listener: Listener


def replay(trial: Trial) -> list[Calibrated]:
    """The sensitivities for every metric of the series, in their order."""
    singles: dict[str, dict[str, Sensitivity]] = {}
    results = []
    for position, scanned in enumerate(trial.series):
        trial.listener.progress(position, len(trial.series), f"{scanned.line.label}: {scanned.series.metric}")
        config = scanned.line.config_id
        if config not in singles:
            of_config = [candidate for candidate in trial.series if candidate.line.config_id == config]
            singles[config] = _singles(trial.repository, of_config, trial.method)
        results.append(
            Calibrated(
                config_id=config,
                label=scanned.line.label,
                metric=scanned.series.metric,
                primary=scanned.primary,
                single=singles[config].get(scanned.series.metric),
                history=_history(scanned, trial.history_check) if trial.history_check is not None else None,
            )
        )
    return results


def _singles(repository: Repository, scanned: Sequence[ScannedSeries], method: str | None) -> dict[str, Sensitivity]:
    """The sensitivities to all metrics of one configuration, a version against the one before."""
    pairs = [_pair(repository, *samples) for samples in _stable(repository, scanned)]
    if not pairs:
        return {}
    unchanged = _kinds(repository, pairs, method)
    sensitivities = {
        metric: Sensitivity(
            tried=len(kinds), alarms=sum(kind in ("degradation", "optimization") for kind in kinds), sees=None
        )
        for metric, kinds in unchanged.items()
    }
    for step in STEPS:
        undetected = [metric for metric, sensitivity in sensitivities.items() if sensitivity.sees is None]
        if not undetected:
            break
        slowed = _kinds(repository, [_worse(pair, step) for pair in pairs], method)
        for metric in undetected:
            kinds = slowed.get(metric, ())
            if sum(kind == "degradation" for kind in kinds) >= RATE * max(1, len(kinds)):
                sensitivities[metric] = attrs.evolve(sensitivities[metric], sees=step)
    return sensitivities


def _kinds(repository: Repository, pairs: Sequence[Pairing], method: str | None) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for pair in pairs:  # one by one: as a single check would see it
        for verdicts in run_checks(repository, [pair], method=method):
            for change in verdicts.changes:
                kinds.setdefault(change.metric, []).append(change.kind)
    return kinds


def _stable(repository: Repository, scanned: Sequence[ScannedSeries]) -> Iterator[tuple[Sample, Sample]]:
    """The samples of neighbouring versions between which the metric that decides did not change, spread over the
    history."""
    decisive = primary(candidate.series.metric for candidate in scanned)
    (chosen,) = [candidate for candidate in scanned if candidate.series.metric == decisive][:1]
    moved = {position for change in chosen.changes for position in _span(chosen, change)}
    places = chosen.line.versions
    calm = [
        (before, after)
        for index, (before, after) in enumerate(itertools.pairwise(places), 1)
        if index not in moved and before.environment == after.environment
    ]
    for index in range(min(PAIRS, len(calm))):
        # Spread evenly over the history, as its noise may differ between early and late versions.
        pair = calm[index * len(calm) // min(PAIRS, len(calm))]
        try:
            before, after = (
                Sample(version=measured.version.id, profiles=tuple(map(repository.store.load, measured.profiles)))
                for measured in pair
            )
        except PerfError:  # a damaged profile, which `fsck` reports
            continue
        yield before, after


def _span(one: ScannedSeries, change: Change) -> range:
    """The indexes of the measured versions among those that may have brought the change."""
    after = {measured.next_version: index for index, measured in enumerate(one.line.versions, 1)}
    numbers = {measured.version.id: index for index, measured in enumerate(one.line.versions)}
    return range((after | numbers)[change.earliest], numbers[change.latest] + 1)


def _pair(repository: Repository, before: Sample, after: Sample) -> Pairing:
    return replace(of_profiles(repository, before, after), thresholds=thresholds_of(repository))


def _worse(pair: Pairing, step: float) -> Pairing:
    """The pairing with every amount of its target worse by a step."""
    profiles = tuple(
        profile.replace_tables(
            resources=replace(
                profile.tables["resources"],
                columns=tuple(_scaled(column, step) for column in profile.tables["resources"].columns),
            )
        )
        for profile in pair.target.profiles
    )
    return replace(pair, target=replace(pair.target, profiles=profiles))


def _scaled(values: Column, step: float) -> Column:
    if values.role != "value" or values.dtype not in ("i64", "u64", "f64"):
        return values
    factor = 1 + step if values.spec.better == "lower" else 1 / (1 + step)
    amounts = [value * factor if isinstance(value, int | float) else None for value in values]
    return column(values.name, amounts, dtype="f64", unit=values.unit, role="value", better=values.spec.better)


def _history(one: ScannedSeries, check: HistoryCheck) -> Sensitivity | None:
    """The sensitivity of a history, tried on replays of its values without its changes."""
    calm = _levelled(one)[-LONGEST:]
    if len(calm) < SHORTEST:
        return None
    # Seeded by what is tried, so that a calibration repeated on the same history has the same result.
    draw = random.Random(f"{one.series.config_id} {one.series.metric}")
    replays = [_replay(calm, draw) for _ in range(REPLAYS)]
    alarms = sum(len(_scan(one.series, replay, check)) for replay in replays)
    # In the middle half: steps near an end are found later, or not at all, by any method.
    places = [draw.randrange(len(calm) // 4, 3 * len(calm) // 4 + 1) for _ in replays]
    for step in STEPS:
        # Divided where more is better, so that a step of 1.0 halves a rate instead of making it zero.
        factor = 1 + step if one.series.better == "lower" else 1 / (1 + step)
        detected = sum(
            _sees(one.series, _stepped(replay, position, factor), position, check)
            for replay, position in zip(replays, places, strict=True)
        )
        if detected >= RATE * len(replays):
            return Sensitivity(tried=len(replays) * len(calm), alarms=alarms, sees=step)
    return Sensitivity(tried=len(replays) * len(calm), alarms=alarms, sees=None)


def _levelled(one: ScannedSeries) -> list[_Runs]:
    """The runs of the versions of the newest environment, each stretch between two changes at the level of the last."""
    sessions = one.series.sessions if _take_turns(one.series) else ((),) * len(one.series.values)
    newest_environment = one.series.environments[-1]
    cuts = {_span(one, change).stop - 1 for change in one.changes if change.kind != "machine"}
    stretches: list[list[_Runs]] = [[]]
    rows = zip(one.series.values, sessions, one.series.environments, strict=True)
    for position, (values, version_sessions, environment) in enumerate(rows):
        if position in cuts:
            stretches.append([])
        if environment == newest_environment and values:
            # Other environments are left out: their difference would enter the replays as noise.
            stretches[-1].append((values, version_sessions))
    segments = [stretch for stretch in stretches if stretch]
    levels = [statistics.median(statistics.median(values) for values, _ in stretch) for stretch in segments]
    # Stretches are moved to one level by factors, which amounts of zero or less do not have.
    if not levels or any(level <= 0 for level in levels):
        return []
    return [
        (tuple(value * levels[-1] / level for value in values), version_sessions)
        for stretch, level in zip(segments, levels, strict=True)
        for values, version_sessions in stretch
    ]


def _take_turns(series: Series) -> bool:
    """Whether sessions come back along a history. Where each is one stretch, a replay would make them take turns."""
    last: dict[str, int] = {}
    for position, version_sessions in enumerate(series.sessions):
        for name, _ in version_sessions:
            # A gap in a session's versions says that another session was in between.
            if name and last.setdefault(name, position) < position - 1:
                return True
            last[name] = position
    return False


def _replay(calm: Sequence[_Runs], draw: random.Random) -> list[_Runs]:
    # A compromise: longer blocks keep more of the memory of the noise, shorter ones make replays differ more. Blocks of
    # one would keep nothing of it.
    length = max(2, math.isqrt(len(calm)))
    replay: list[_Runs] = []
    while len(replay) < len(calm):
        start = draw.randrange(len(calm) - length + 1)
        replay += calm[start : start + length]
    return replay[: len(calm)]


def _stepped(replay: Sequence[_Runs], place: int, factor: float) -> list[_Runs]:
    return [
        *replay[:place],
        *((tuple(value * factor for value in values), version_sessions) for values, version_sessions in replay[place:]),
    ]


def _sees(series: Series, replay: Sequence[_Runs], place: int, check: HistoryCheck) -> bool:
    near_versions = {_version(position) for position in range(place - NEAR, place + NEAR + 1)}
    return any(
        change.kind == "degradation" and change.target in near_versions for change in _scan(series, replay, check)
    )


def _scan(series: Series, replay: Sequence[_Runs], check: HistoryCheck) -> list[Change]:
    replayed = replace(
        series,
        versions=tuple(_version(position) for position in range(len(replay))),
        environments=("",) * len(replay),
        values=tuple(values for values, _ in replay),
        sessions=tuple(version_sessions for _, version_sessions in replay)
        if any(version_sessions for _, version_sessions in replay)
        else (),
        next_versions=(),
    )
    changes, _ = check.phases.call("scan", series=replayed, state=None)
    return [change for change in changes if change.kind in ("degradation", "optimization")]


def _version(number: int) -> str:
    return f"{number:010}"
