"""The versions between two others: those that contain the one and are contained in the other."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from perfcore.errors import VersionError
from perfcore.hookspecs import Vcs
from perfcore.model import MinorVersion


@attrs.frozen
class VersionRange:
    """From the good end to the bad one, parents before children. `contains[i]` has a bit for every place that version
    i contains; it is empty where each contains all before it."""

    versions: tuple[MinorVersion, ...]
    contains: tuple[int, ...] = ()


def between(vcs: Vcs, good: str, bad: str) -> VersionRange:
    """VersionError where the bad version does not contain the good one."""
    walked = []
    for version in vcs.walk_minor_versions(bad):
        walked.append(version)
        if version.id == good:
            return _range(walked[::-1])
    if any(version.id == bad for version in vcs.walk_minor_versions(good)):
        raise VersionError(
            f"{good[:10]} is newer than {bad[:10]}", hint="the good version comes first: perf bisect GOOD BAD"
        )
    raise VersionError(
        f"{good[:10]} is no ancestor of {bad[:10]}, so no row of versions leads from one to the other",
        hint=f"take their common ancestor: git merge-base {good[:10]} {bad[:10]}",
    )


def fork(vcs: Vcs, first: str, second: str) -> str:
    """The newest version that both contain; empty where there is none."""
    ancestors = {version.id for version in vcs.walk_minor_versions(first)}
    return next((version.id for version in vcs.walk_minor_versions(second) if version.id in ancestors), "")


def _range(walked: Iterable[MinorVersion]) -> VersionRange:
    """Of versions from the good one on, parents before children, those that contain it."""
    places: dict[str, int] = {}
    versions: list[MinorVersion] = []
    contains: list[int] = []
    for version in walked:
        inside = [contains[places[parent]] for parent in version.parents if parent in places]
        if places and not inside:
            continue
        # One big integer per version instead of a set: what two versions contain together is a single operation.
        bits = 1 << len(versions)
        for ancestor in inside:
            bits |= ancestor
        places[version.id] = len(versions)
        versions.append(version)
        contains.append(bits)
    # Without branches the bits tell nothing, and 10,000 versions would have 12 MB of them in the journal.
    straight = all(bits == (2 << index) - 1 for index, bits in enumerate(contains))
    return VersionRange(tuple(versions), () if straight else tuple(contains))
