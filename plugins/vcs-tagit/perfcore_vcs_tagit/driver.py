"""The driver: what perfcore asks, answered by the other modules."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from perfcore.errors import NotFoundError, VersionError
from perfcore.model import MajorVersion, MinorVersion
from perfcore.text import printable
from perfcore_vcs_tagit import places, working
from perfcore_vcs_tagit.failures import shown, told
from perfcore_vcs_tagit.repository import Repository
from perfcore_vcs_tagit.state import State
from perfcore_vcs_tagit.tree import Lookup


class Tagit:
    """One tagit repository, at the root of a working tree."""

    contract = "perfcore_vcs_tagit.contract:TagitContract"

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    @classmethod
    def detect(cls, path: Path) -> Path | None:
        """The root of the working tree that holds `path`, found by looking at files."""
        return places.detect(path)

    def init(self) -> None:
        """Make an empty repository. VersionError where there is one."""
        Repository.create(self.root)

    def home(self) -> Path:
        """The working tree that has the repository."""
        return self._repository.places.home

    def walk_minor_versions(self, head: str) -> Iterator[MinorVersion]:
        """`head` and the versions before it, one read after another."""
        return (version.minor(id) for id, version in self._repository.walk(head))

    def walk_major_versions(self) -> Iterator[MajorVersion]:
        """The lines."""
        lines = self._repository.refs().lines
        return iter([MajorVersion(name=name, head=lines[name]) for name in sorted(lines)])

    def get_minor_head(self) -> str:
        """The version that is checked out."""
        return self._repository.head()

    def get_head_major_version(self) -> MajorVersion:
        """The line that is checked out."""
        refs = self._repository.refs()
        return MajorVersion(name=refs.line or "", head=refs.head)

    def get_minor_version_info(self, version: str) -> MinorVersion:
        """One version. Its subject is its tag where it has no message."""
        return self._repository.minor(version)

    def check_minor_version_validity(self, version: str) -> None:
        """VersionError unless the id is the full one of a version."""
        self._repository.require(version)

    def massage_parameter(self, parameter: str) -> str:
        """The version of a tag, a line, the beginning of an id, `HEAD`; with `~2` behind it."""
        return self._repository.resolve(parameter)

    def tags(self) -> dict[str, str]:
        """The versions of all tags; in tagit each version has one."""
        return dict(self._repository.refs().tags)

    def is_dirty(self) -> bool:
        """Whether the working tree is other than the head, but for what is ignored. Files that did not change since
        the last save or checkout are not read."""
        repository = self._repository
        return repository.scan().tree != repository.tree_of(repository.refs().head)

    def save_state(self) -> str:
        """Put all changes aside, new files too. What is ignored stays."""
        return self._state.save()

    def restore_state(self, state: str) -> None:
        """Put everything back. It may be killed and called again."""
        self._state.restore(state)

    def saved_state(self) -> str | None:
        """The token of the state of a process that died."""
        return self._state.abandoned() if self._repository.places.version is None else None

    def checkout(self, version: str) -> None:
        """Put the working tree at a version, with no line."""
        self._repository.require(version)
        self._state.checkout(version)

    def export(self, version: str, directory: Path) -> None:
        """All of a version, empty folders too, in an empty folder."""
        tree = self._repository.version(version).tree
        working.export(self._repository.objects, self._repository.get, tree, directory)

    def worktree(self, version: str, directory: Path) -> None:
        """The same in a folder that knows which version it is, and shares the `.perf` of the repository."""
        repository = self._repository
        tree = repository.version(version).tree
        with told("make the tree"):
            if os.path.lexists(directory):
                raise VersionError(f"{shown(directory)} is there already", hint="choose another folder")
            directory.mkdir(parents=True)
            places.mark(directory, version, repository.places.home)
        try:
            working.fill(repository.objects, repository.get, tree, directory)
        except BaseException:
            self.remove_worktree(directory)
            raise

    def remove_worktree(self, directory: Path) -> None:
        """Take away a linked working tree, or what is left of one."""
        with told("remove the tree"):
            if not os.path.lexists(directory):
                return
            empty = directory.is_dir() and not directory.is_symlink() and not any(directory.iterdir())
            if not empty and not places.is_linked(directory, self._repository.places.home):
                raise VersionError(f"{shown(directory)} is not a tree that was made to be measured")
            working.remove(directory, last=places.FOLDER)

    def read_file(self, version: str, path: str) -> bytes:
        """A file's content; of a symbolic link, where it points to."""
        repository = self._repository
        tree = repository.version(version).tree
        entry = Lookup(repository.get, tree).at(os.fsencode(path))
        if entry is None or entry.is_folder:
            reason = "no file" if entry is None else "a folder and no file"
            raise NotFoundError(f"version {version[:10]} has {reason} '{printable(path)}'")
        return repository.objects.read(entry.id, "blob")

    def changed_files(self, old: str | None, new: str) -> tuple[str, ...]:
        """Paths that differ; of folders, those that are empty."""
        repository = self._repository
        for version in (new,) if old is None else (old, new):
            repository.require(version)
        changes = repository.compare(repository.tree_of(old), repository.tree_of(new))
        return tuple(sorted(os.fsdecode(change.path) for change in changes))

    def install_trigger(self, command: Sequence[str]) -> Path:
        """Have tagit run a command after every new version."""
        if not command or any("\0" in word for word in command):
            raise VersionError("there is no command that could be run")
        return self._repository.set_trigger(list(command))

    def ignore(self, path: Path) -> None:
        """Keep a directory out of every version, by a line in `.tagit/ignore`. `.perf` and `.tagit` need none."""
        self._repository.ignore(path)

    @functools.cached_property
    def _repository(self) -> Repository:
        return Repository(places.find(self.root))

    @functools.cached_property
    def _state(self) -> State:
        return State(self._repository)
