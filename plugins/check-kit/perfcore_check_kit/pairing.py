"""Which profiles are compared: a target with the nearest ancestor that has a profile of the same configuration."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from perfcore.errors import FormatError, NotFoundError, UsageError
from perfcore.model import Pairing, Sample, Unpaired
from perfcore.model.record import replace
from perfcore_check_kit.thresholds import thresholds_of

if TYPE_CHECKING:
    from perfcore.model import Entry, Profile
    from perfcore.repository.repository import Repository
    from perfcore_check_kit.series import ConfigHistory

_UNKNOWN = "the profile does not say its configuration (config_id)"


class _Key(msgspec.Struct, frozen=True):
    config_id: str
    environment_id: str


def of_version(repository: Repository, version: str, config_id: str | None = None) -> Iterator[Pairing | Unpaired]:
    """A pairing for every configuration that a version was measured in, or for one of them. A merge is compared along
    each of its parents; the first along which there is a baseline decides."""
    entries = repository.entries(version)
    yield from (_unpaired(entry, version, _UNKNOWN) for entry in entries if not entry.config_id and config_id is None)
    grouped = _grouped(entries)
    targets = {key: group for key, group in grouped.items() if config_id in (None, key.config_id)}
    lines = _lines(repository, version, set(targets))
    for key, group in targets.items():
        baselines = dict(line_baselines[key] for line_baselines, _ in lines if key in line_baselines)
        other_environments = [others[key.config_id] for _, others in lines if key.config_id in others]
        target = _sample(repository, version, group) if baselines else None
        for rank, (base_version, base_entries) in enumerate(baselines.items()):
            assert target is not None
            pairing = _pair(repository, _sample(repository, base_version, base_entries), target)
            yield replace(pairing, aside=rank > 0)  # of a merge the line of the first parent decides
        if not baselines and other_environments:
            yield _unpaired(group[0], version, _elsewhere(other_environments[0]))
        elif not baselines:
            yield _unpaired(group[0], version, "no ancestor was measured in this configuration")


def of_release(repository: Repository, version: str, release: str) -> Iterator[Pairing | Unpaired]:
    """A pairing for every configuration of a version with an earlier one, or with the last measured one before it."""
    for key, entries in _grouped(repository.entries(version)).items():
        baselines, _ = _nearest(repository, release, version, {key})
        if key in baselines:
            base_version, base_entries = baselines[key]
            base = _sample(repository, base_version, base_entries)
            yield _pair(repository, base, _sample(repository, version, entries))
        else:
            yield _unpaired(entries[0], version, f"nothing up to {release[:10]} was measured in this configuration")


def of_versions(repository: Repository, baseline: str, target: str) -> Iterator[Pairing | Unpaired]:
    """A pairing for every configuration that both versions were measured in, whatever lies between them."""
    before, after = _grouped(repository.entries(baseline)), _grouped(repository.entries(target))
    for key, entries in after.items():
        if key in before:
            yield _pair(repository, _sample(repository, baseline, before[key]), _sample(repository, target, entries))
        elif any(other.config_id == key.config_id for other in before):
            yield _unpaired(entries[0], target, _elsewhere(baseline))
        else:
            reason = f"{baseline[:10]} was not measured in this configuration"
            yield replace(_unpaired(entries[0], target, reason), side="target")
    for key, entries in before.items():
        if all(other.config_id != key.config_id for other in after):
            reason = f"{target[:10]} was not measured in this configuration"
            yield replace(_unpaired(entries[0], baseline, reason), side="baseline")


def of_history(
    repository: Repository, history: Iterable[tuple[str, Sequence[Entry]]], wanted: Container[str]
) -> Iterator[Pairing | Unpaired]:
    """The wanted versions of a history, each against the one before it that was measured in the same configuration.
    `history` has the versions of a line with their profiles, oldest first. Profiles that cannot be read are left out,
    as from the series of a line."""
    last: dict[_Key, tuple[str, list[Entry]]] = {}
    measured: dict[str, str] = {}
    loaded: dict[_Key, Sample] = {}
    for version, entries in history:
        groups = _grouped(entries)
        continued = {key.config_id for key in groups if key in last}  # by one machine of several
        for key, group in groups.items():
            if version in wanted and key in last:
                before, base = last[key]
                previous = loaded.get(key)
                is_loaded = previous is not None and previous.version == before
                baseline = previous if is_loaded else _readable_sample(repository, before, base)
                target = _readable_sample(repository, version, group)
                if target is None:
                    continue  # the next version has the baseline of this one
                loaded[key] = target
                if baseline is not None:
                    yield _pair(repository, baseline, target)
            elif (
                version in wanted and measured.get(key.config_id, version) != version and key.config_id not in continued
            ):
                yield _unpaired(group[0], version, _elsewhere(measured[key.config_id]))
            last[key] = version, group
            measured[key.config_id] = version


def of_line(repository: Repository, line: ConfigHistory, metrics: Container[str]) -> Iterator[Pairing]:
    """The versions of a line, each against the one before it in the same environment, by these metrics. Profiles that
    cannot be read are left out."""
    last: dict[str, Sample] = {}
    for measured in line.versions:
        readable = (profile for id in measured.profiles for profile in _readable(repository, id))
        profiles = tuple(_reduced(profile, metrics) for profile in readable)
        if not profiles:
            continue
        sample = Sample(version=measured.version.id, profiles=profiles)
        if measured.environment in last:
            yield _pair(repository, last[measured.environment], sample)
        last[measured.environment] = sample


def of_profiles(
    repository: Repository | None, baseline: Sample, target: Sample, *, thresholds: dict[str, float] | None = None
) -> Pairing:
    """Two samples the user named. UsageError where they measure different things by different means."""
    a, b = baseline.profiles[0], target.profiles[0]
    if a.header.type != b.header.type:
        raise UsageError(f"a profile of type {a.header.type} and one of type {b.header.type} cannot be compared")
    if repository is not None:
        return _pair(repository, baseline, target)
    return _paired(baseline, target, thresholds or {})


def configuration_difference(baseline: Profile, target: Profile) -> str | None:
    """The difference between the configurations of two profiles, in words; None if they have the same one."""
    if baseline.config_id == target.config_id:
        return None
    if baseline.label != target.label:
        return f"{baseline.label} and {target.label}"
    ours, theirs = baseline.collector.params, target.collector.params
    options = [key for key in ours if key in theirs and ours[key] != theirs[key]]
    if baseline.collector.name != target.collector.name:
        return f"{baseline.label} by {baseline.collector.name} and {target.collector.name}"
    return f"{target.label}: " + (
        ", ".join(f"{key} {ours[key]} and {theirs[key]}" for key in options)
        or "the workload's content, variables or postprocessors differ"
    )


def shared_blocks(baseline: Sample, target: Sample) -> int:
    """In how many blocks the runs of two samples took turns."""
    return len(_blocks(baseline) & _blocks(target))


def of_dirty(repository: Repository, profile: Profile) -> Pairing | Unpaired:
    """A profile of an uncommitted tree against its origin or the nearest ancestor."""
    version = profile.origin or repository.version()
    key = _Key(profile.config_id, profile.environment_id)
    target = Sample(version=version, profiles=(profile,), dirty=profile.dirty)
    dirty_entries = _grouped(repository.entries(version)).get(key)
    if dirty_entries:
        return _pair(repository, _sample(repository, version, dirty_entries), target)
    baselines, _ = _nearest(repository, version, version, {key})
    if key in baselines:
        base_version, entries = baselines[key]
        return _pair(repository, _sample(repository, base_version, entries), target)
    return Unpaired(
        label=profile.label,
        config_id=key.config_id,
        version=version,
        reason="no version was measured in this configuration",
    )


def _grouped(entries: Sequence[Entry]) -> dict[_Key, list[Entry]]:
    groups: dict[_Key, list[Entry]] = {}
    for entry in entries:
        if entry.config_id:
            groups.setdefault(_Key(entry.config_id, entry.environment_id), []).append(entry)
    return groups


def _lines(
    repository: Repository, version: str, wanted: set[_Key]
) -> list[tuple[dict[_Key, tuple[str, list[Entry]]], dict[str, str]]]:
    """The nearest ancestors as `_nearest` gives them: once, or along each parent of a merge."""
    if not wanted:
        return []
    parents = repository.vcs.get_minor_version_info(version).parents
    return [_nearest(repository, start, version, wanted) for start in (parents if len(parents) > 1 else (version,))]


def _nearest(
    repository: Repository, start: str, version: str, wanted: set[_Key]
) -> tuple[dict[_Key, tuple[str, list[Entry]]], dict[str, str]]:
    """(nearest ancestor of each key with its entries, configurations found only on other machines), from `start` back
    and without the version itself."""
    baselines: dict[_Key, tuple[str, list[Entry]]] = {}
    other_environments: dict[str, str] = {}
    configs = {key.config_id for key in wanted}
    for ancestor, entries in repository.walk(start):
        if ancestor.id == version or not entries:
            continue
        for key, group in _grouped(entries).items():
            if key in wanted and key not in baselines:
                baselines[key] = (ancestor.id, group)
            elif key.config_id in configs:
                other_environments.setdefault(key.config_id, ancestor.id)
        if len(baselines) == len(wanted):
            break
    return baselines, other_environments


def _sample(repository: Repository, version: str, entries: Sequence[Entry]) -> Sample:
    """Each profile once, under however many names it is registered."""
    unique = dict.fromkeys(entry.profile for entry in entries)  # runs that count twice would look like evidence
    return Sample(version=version, profiles=tuple(map(repository.store.load, unique)))


def _reduced(profile: Profile, metrics: Container[str]) -> Profile:
    """The profile without its other metrics: each costs as much as the one that is asked for."""
    resources = profile.table("resources")
    if resources is None:
        return profile
    others = {column.name for column in resources.values() if column.name not in metrics}
    columns = tuple(column for column in resources.columns if column.name not in others)
    return profile.replace_tables(resources=replace(resources, columns=columns)) if others else profile


def _readable(repository: Repository, id: str) -> Iterator[Profile]:
    try:
        yield repository.store.load(id)
    except (FormatError, NotFoundError) as error:
        repository.leave_out(error)


def _readable_sample(repository: Repository, version: str, entries: Sequence[Entry]) -> Sample | None:
    """The profiles of a version that can be read, each once; None where none can."""
    unique = dict.fromkeys(entry.profile for entry in entries)
    profiles = tuple(profile for id in unique for profile in _readable(repository, id))
    return Sample(version=version, profiles=profiles) if profiles else None


def _pair(repository: Repository, baseline: Sample, target: Sample) -> Pairing:
    return _paired(baseline, target, thresholds_of(repository))


def _paired(baseline: Sample, target: Sample, thresholds: dict[str, float]) -> Pairing:
    return Pairing(
        baseline=baseline,
        target=target,
        config_id=target.profiles[0].config_id,
        interleaved=bool(_blocks(baseline) & _blocks(target)),
        thresholds=thresholds,
    )


def _blocks(sample: Sample) -> set[tuple[object, object]]:
    """(session, block) of every measured run of a sample; jobs that took turns share them."""
    blocks: set[tuple[object, object]] = set()
    for profile in sample.profiles:
        table = profile.table("runs")
        if table is not None and {"session", "block", "warmup"} <= set(table.names):
            rows = zip(table["session"], table["block"], table["warmup"], strict=True)
            blocks |= {(session, block) for session, block, warmup in rows if not warmup and session is not None}
    return blocks


def _elsewhere(version: str) -> str:
    return f"{version[:10]} was measured on another machine"


def _unpaired(entry: Entry, version: str, reason: str) -> Unpaired:
    return Unpaired(label=entry.label, config_id=entry.config_id, version=version, reason=reason)
