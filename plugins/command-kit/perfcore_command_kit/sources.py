"""Files of the project at any version, for views and reports. A failure of the VCS is an absent file: these readers
show source beside a result, and the result stands without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.config.layers import read_bytes
from perfcore.errors import PerfError

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository

_PENDING = "pending"  # `Sample.label` of a profile without a version
_DIRTY = "+dirty"


class VersionSources:
    """The `Sources` of `perfcore.hookspecs`; the VCS answers each question once."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._versions: dict[str, str | None] = {}
        self._paths: dict[tuple[str | None, str], tuple[str, ...]] = {}
        self._trees: dict[str, frozenset[str]] = {}

    def version(self, name: str = "") -> str | None:
        """The full id of a version as verdicts write it: of the head for an empty name."""
        name = name.removesuffix(_DIRTY)
        if name not in self._versions:
            try:
                self._versions[name] = self._repository.version(None if name in ("", _PENDING) else name)
            except PerfError:
                self._versions[name] = None
        return self._versions[name]

    def parent(self, version: str) -> str | None:
        """The first parent."""
        try:
            parents = self._repository.vcs.get_minor_version_info(version).parents
        except PerfError:
            return None
        return parents[0] if parents else None

    def changed(self, old: str | None, new: str) -> tuple[str, ...]:
        """Paths that differ between two versions, or all paths for None, as far as they are UTF-8."""
        if (old, new) not in self._paths:
            try:
                paths = self._repository.vcs.changed_files(old, new)
            except PerfError:
                paths = ()
            self._paths[old, new] = tuple(filter(_is_text, paths))
        return self._paths[old, new]

    def read(self, version: str | None, path: str) -> bytes | None:
        """The bytes of a file, of the working tree for None."""
        if version is None:
            return read_bytes(self._repository.root / path)
        if version not in self._trees:  # the list of paths first: an absent file costs the VCS a process each time
            self._trees[version] = frozenset(self.changed(None, version))
        return self.read_one(version, path) if path in self._trees[version] else None

    def read_one(self, version: str, path: str) -> bytes | None:
        """The bytes of one file of a version, without the list of paths."""
        try:
            return self._repository.vcs.read_file(version, path)
        except PerfError:  # absent, or a submodule
            return None


class NoSources:
    """The same outside of a repository: nothing is known."""

    def version(self, name: str = "") -> str | None:
        return None

    def parent(self, version: str) -> str | None:
        return None

    def changed(self, old: str | None, new: str) -> tuple[str, ...]:
        return ()

    def read(self, version: str | None, path: str) -> bytes | None:
        return None


def _is_text(path: str) -> bool:
    """Whether a name is UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:  # uploads of SARIF to GitHub fail at the URI of such a name
        return False
    return True
