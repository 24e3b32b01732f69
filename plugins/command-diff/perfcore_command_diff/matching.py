"""Functions of two profiles under equal names: without the folders of builds, and after renames of files."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from perfcore_command_kit.sources import VersionSources

from perfcore.model import EMPTY, PairSide, Profile
from perfcore.profile.stacks import has_stacks
from perfcore.profile.table import column
from perfcore.repository.repository import Repository
from perfcore_command_diff.build_folders import without_build_folders
from perfcore_command_diff.renames import renames

_REPLICATES = 20  # of a side: each is loaded


@attrs.frozen
class MatchedPair:
    """Baseline and target with equal names for equal functions. `renamed` are the old names by the new ones."""

    profiles: tuple[Profile, Profile]
    renamed: Mapping[str, str] = EMPTY


def match(
    repository: Repository, baseline: Profile, target: Profile, versions: tuple[str | None, str | None]
) -> MatchedPair:
    """The pair in the names of the target. Renames are looked for where both versions are known."""
    baseline, target = without_build_folders(baseline, target)
    old, new = versions
    if old is None or new is None or old == new or not (has_stacks(baseline.tables) and has_stacks(target.tables)):
        return MatchedPair((baseline, target))
    before, after = _functions(baseline), _functions(target)
    removed = {file: before[file] for file in before.keys() - after.keys()}
    added = {file: after[file] for file in after.keys() - before.keys()}
    if not removed or not added:
        return MatchedPair((baseline, target))
    sources = VersionSources(repository)
    changed = set(sources.changed(old, new))
    removed = {file: names for file, names in removed.items() if file in changed and not sources.read(new, file)}
    added = {file: names for file, names in added.items() if file in changed and not sources.read(old, file)}
    new_names = renames(removed, added, old, new, sources.read)
    if not new_names:
        return MatchedPair((baseline, target))
    return MatchedPair((_renamed(baseline, new_names), target), {name: file for file, name in new_names.items()})


def sides(
    repository: Repository, pair: MatchedPair, versions: tuple[str | None, str | None]
) -> tuple[PairSide, PairSide]:
    """What else is known of both sides, in the names of the pair."""
    old, new = (_replicates(repository, pair, side, version) for side, version in enumerate(versions))
    return (
        PairSide(version=versions[0], replicates=old, paths=pair.renamed),
        PairSide(version=versions[1], replicates=new),
    )


def _replicates(repository: Repository, pair: MatchedPair, side: int, version: str | None) -> tuple[Profile, ...]:
    """All profiles of the version that were measured alike."""
    profile, other = pair.profiles[side], pair.profiles[1 - side]
    if version is None or not profile.config_id:
        return (profile,)
    entries = [
        entry
        for entry in repository.entries(version)
        if (entry.config_id, entry.environment_id) == (profile.config_id, profile.environment_id)
    ]
    new_names = {old: new for new, old in pair.renamed.items()} if side == 0 else {}
    loaded = (repository.store.load(entry.profile) for entry in entries[:_REPLICATES])
    return tuple(_renamed(without_build_folders(each, other)[0], new_names) for each in loaded) or (profile,)


def _functions(profile: Profile) -> dict[str, set[str]]:
    """The names of functions by their file."""
    functions = profile.tables["functions"]
    files: dict[str, set[str]] = {}
    for name, file in zip(functions["name"], functions["file"], strict=True):
        if file:
            files.setdefault(str(file), set()).add(str(name))
    return files


def _renamed(profile: Profile, names: Mapping[str, str]) -> Profile:
    if not names:
        return profile
    functions = profile.tables["functions"]
    files = [names.get(str(file or ""), str(file or "")) for file in functions["file"]]
    return profile.replace_tables(functions=functions.with_columns(column("file", files, dtype="str")))
