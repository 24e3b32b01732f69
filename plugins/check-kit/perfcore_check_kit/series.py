"""The history of a branch as series: one configuration, one metric, all runs of every version.

A branch is what its first parents are: of a merge the line that was merged into. So amounts of side lines, which lack
what the main line has, do not alternate with its own; what a side line brought is seen at the merge.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from perfcore.errors import FormatError, NotFoundError
from perfcore.model import Entry, MinorVersion, Profile, Series
from perfcore.repository.repository import Repository
from perfcore_check_kit import run_values
from perfcore_check_kit.kept_columns import Amounts, KeptColumns
from perfcore_check_kit.run_values import MetricValues, ValueCache

_ALL = "metrics"


class MeasuredVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version that was measured in one configuration and environment, with the ids of the profiles. `position` counts
    the measured versions of the branch, from its oldest. `next_version` is the one after it, measured or not."""

    position: int
    version: MinorVersion
    environment: str
    profiles: tuple[str, ...]
    next_version: str = ""


class ConfigHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was measured in one configuration along a branch, oldest first."""

    config_id: str
    entry: Entry
    versions: tuple[MeasuredVersion, ...]

    @property
    def label(self) -> str:
        return self.entry.label


def config_histories(repository: Repository, head: str | None = None, most: int | None = None) -> list[ConfigHistory]:
    """The configurations of a branch, or of its newest versions, in the order in which they first appear."""
    first: dict[str, Entry] = {}
    versions: dict[str, list[MeasuredVersion]] = {}
    history, following = [], ""
    for version, entries in first_parents(repository.walk(head)):
        history += [(version, entries, following)] if entries else []
        if len(history) == most:
            break
        following = version.id
    for position, (version, entries, following) in enumerate(reversed(history)):
        for (config, environment), profiles in _grouped(entries, first).items():
            measured = MeasuredVersion(
                position=position, version=version, environment=environment, profiles=profiles, next_version=following
            )
            versions.setdefault(config, []).append(measured)
    return [
        ConfigHistory(config_id=config, entry=first[config], versions=tuple(line)) for config, line in versions.items()
    ]


def branch_versions(lines: Iterable[ConfigHistory]) -> list[MinorVersion]:
    """The versions that lines of one branch have, newest first."""
    versions = {measured.position: measured.version for line in lines for measured in line.versions}
    return [versions[position] for position in sorted(versions, reverse=True)]


def newest(lines: Sequence[ConfigHistory], head: str, most: int) -> list[ConfigHistory]:
    """The lines of a branch with the newest versions up to one of it only; empty where they do not have that one."""
    ids = [version.id for version in branch_versions(lines)]
    if head not in ids:
        return []
    end = ids.index(head)
    return restricted(lines, set(ids[end : end + most]))


def restricted(lines: Iterable[ConfigHistory], ids: Container[str]) -> list[ConfigHistory]:
    """The lines with these versions only; those without any are left out."""
    parts = [(line, tuple(m for m in line.versions if m.version.id in ids)) for line in lines]
    return [replace(line, versions=versions) for line, versions in parts if versions]


def of_version(repository: Repository, version: MinorVersion) -> list[ConfigHistory]:
    """The configurations that one version was measured in."""
    first: dict[str, Entry] = {}
    grouped = _grouped(repository.entries(version.id), first)
    return [
        ConfigHistory(
            config_id=config,
            entry=first[config],
            versions=(MeasuredVersion(position=0, version=version, environment=environment, profiles=profiles),),
        )
        for (config, environment), profiles in grouped.items()
    ]


def first_parents(
    walk: Iterable[tuple[MinorVersion, tuple[Entry, ...]]],
) -> Iterator[tuple[MinorVersion, tuple[Entry, ...]]]:
    """The versions of a walk that lead from its first one back along first parents."""
    parent: str | None = None
    for version, entries in walk:
        if parent in (None, version.id):
            yield version, entries
            if not version.parents:
                return
            parent = version.parents[0]


def metrics(repository: Repository, line: ConfigHistory) -> list[Series]:
    """A series for every metric of a line, that which decides first; of a suite those of each benchmark."""
    renamed = repository.config.get("benchmarks.renamed")
    kept = KeptColumns.of(repository.store.read_model, line.config_id, [] if renamed else _profiles(line))
    rest = replace(line, versions=line.versions[kept.known :])
    values, is_complete = _read(repository, rest, _ALL)
    metrics_of_versions = [_renamed(version_metrics, renamed) for version_metrics in values]
    amounts = {
        key: Amounts(kept, kept.columns.get(key), [version_metrics.get(key) for version_metrics in metrics_of_versions])
        for key in dict.fromkeys((*kept.columns, *(key for metrics in metrics_of_versions for key in metrics)))
    }
    if is_complete:
        kept.renew(amounts)
    by_benchmark: dict[str, list[str]] = {}
    for key in amounts:
        metric, benchmark = run_values.of_key(key)
        by_benchmark.setdefault(benchmark, []).append(metric)
    series, columns = [], _Columns.of(line)
    for benchmark, names in by_benchmark.items():
        chosen = run_values.primary(names)
        names.sort(key=lambda name: name != chosen)  # a stable sort: the others keep the order of their columns
        series += [_series(line, columns, name, benchmark, amounts[run_values.key(name, benchmark)]) for name in names]
    return series


def _profiles(line: ConfigHistory) -> list[tuple[str, ...]]:
    return [measured.profiles for measured in line.versions]


def _renamed(values: dict[str, MetricValues], names: Mapping[str, str]) -> dict[str, MetricValues]:
    """The values of benchmarks under the names that they have now, so that a new name goes on with the old history."""
    if not names:
        return values
    renamed: dict[str, MetricValues] = {}
    for key, metric_values in values.items():
        metric, benchmark = run_values.of_key(key)
        new = run_values.key(metric, names.get(benchmark, benchmark))
        if new == key or new not in values:  # where a version has both, the new one is meant
            renamed[new] = metric_values
    return renamed


def functions(repository: Repository, line: ConfigHistory, metric: str | None, name: str) -> Series | None:
    """The series of what a function took with all it called, per run; None where no profile of the line knows it."""
    chosen = metric or _metric_of(repository, line)
    if chosen is None:
        return None
    read, _ = _read(repository, line, f"functions of {chosen}")
    values = [version_metrics.get(name) for version_metrics in read]
    if not any(values):
        return None
    return _series(line, _Columns.of(line), chosen, name, Amounts(KeptColumns.none(), None, values))


def _grouped(entries: Sequence[Entry], first: dict[str, Entry]) -> dict[tuple[str, str], tuple[str, ...]]:
    """The profiles of a version by configuration and environment, each profile once."""
    groups: dict[tuple[str, str], dict[str, None]] = {}
    for entry in entries:
        if entry.config_id:
            first.setdefault(entry.config_id, entry)
            groups.setdefault((entry.config_id, entry.environment_id), {})[entry.profile] = None
    return {key: tuple(profiles) for key, profiles in groups.items()}


def _read(repository: Repository, line: ConfigHistory, what: str) -> tuple[list[dict[str, MetricValues]], bool]:
    """The values of each version of a line, its profiles joined, and whether all could be read. Profiles are read only
    once, because their values are cached. An unreadable profile is skipped with a warning."""
    profiles = tuple(dict.fromkeys(id for measured in line.versions for id in measured.profiles))
    value_cache = ValueCache(repository.store.read_model, line.config_id, what, profiles)
    values = {id: cached for id in profiles if (cached := value_cache.get(id)) is not None}
    for id, profile in repository.store.load_many([id for id in profiles if id not in values]):
        with contextlib.suppress(FormatError, NotFoundError):  # `_one` warns of those that cannot be read
            values[id] = _values(profile, what)
            value_cache.put(id, values[id])
    is_complete = len(values) == len(profiles)
    joined = [
        _joined([values[id] if id in values else _one(repository, value_cache, id, what) for id in measured.profiles])
        for measured in line.versions
    ]
    value_cache.write()
    return joined, is_complete


def _one(repository: Repository, kept: ValueCache, id: str, what: str) -> dict[str, MetricValues]:
    """The values of a profile that was not among those that were read together."""
    try:
        values = _values(repository.store.load(id), what)
    except (FormatError, NotFoundError) as error:
        repository.leave_out(error)
        return {}
    kept.put(id, values)
    return values


def _values(profile: Profile, what: str) -> dict[str, MetricValues]:
    if what == _ALL:
        return run_values.of_benchmarks(profile)
    return run_values.of_functions(profile, what.removeprefix("functions of "))


def _joined(parts: Sequence[dict[str, MetricValues]]) -> dict[str, MetricValues]:
    """Several profiles of one version as one. Those whose unit is another than the last one's are left out."""
    if len(parts) == 1:  # as nearly always
        return parts[0]
    joined: dict[str, MetricValues] = {}
    for profile_values in parts:
        for name, new in profile_values.items():
            old = joined.get(name)
            alike = old is not None and (old.unit, old.better) == (new.unit, new.better)
            joined[name] = old.joined(new) if old is not None and alike else new
    return joined


def _metric_of(repository: Repository, line: ConfigHistory) -> str | None:
    """The metric that decides, of the newest profile of a line."""
    profile = repository.store.load(line.versions[-1].profiles[-1])
    resources = profile.table("resources")
    return run_values.primary(column.name for column in resources.values()) if resources is not None else None


class _Columns(msgspec.Struct, frozen=True):
    """What all series of a line have for each of its versions."""

    versions: tuple[str, ...]
    environments: tuple[str, ...]
    next_versions: tuple[str, ...]

    @classmethod
    def of(cls, line: ConfigHistory) -> _Columns:
        rows = [(measured.version.id, measured.environment, measured.next_version) for measured in line.versions]
        return cls(*zip(*rows, strict=True)) if rows else cls((), (), ())


def _series(line: ConfigHistory, columns: _Columns, metric: str, resource: str, amounts: Amounts) -> Series:
    """The series in the unit of its newest amounts; what was measured in another unit has no values."""
    return Series(
        config_id=line.config_id,
        metric=metric,
        unit=amounts.unit,
        resource=resource,
        label=line.label,
        versions=columns.versions,
        environments=columns.environments,
        values=amounts.values,
        better=amounts.better,
        sessions=amounts.sessions,
        next_versions=columns.next_versions,
    )
