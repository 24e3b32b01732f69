"""The driver: what perfcore asks, answered by the other modules. GitPython is imported for what changes something."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore.errors import NotFoundError, VersionError
from perfcore.model import MajorVersion, MinorVersion
from perfcore.text import printable
from perfcore_vcs_git import discovery, head, history
from perfcore_vcs_git.command import Runner
from perfcore_vcs_git.discovery import Places
from perfcore_vcs_git.kept_walk import KeptWalk
from perfcore_vcs_git.objects import Found, Objects
from perfcore_vcs_git.revisions import Revisions, require_full_id

if TYPE_CHECKING:
    from perfcore_vcs_git.settings import GitSettings
    from perfcore_vcs_git.state import State
    from perfcore_vcs_git.trees import Trees


class Git:
    """One git repository, at the root of a working tree or in a bare repository's folder."""

    Settings = "perfcore_vcs_git.settings:GitSettings"
    contract = "perfcore_vcs_git.contract:GitContract"

    def __init__(self, root: Path, settings: GitSettings | None = None) -> None:
        self.root = place = Path(os.path.realpath(root))
        self.settings = settings
        # Not `self._places`: what the finalizer holds must not hold the driver.
        allowed = frozenset(settings.filters if settings else ())
        self._runner = Runner(place, lambda: discovery.places(place).common_dir, filters=allowed)
        self._objects = Objects(self._runner)
        weakref.finalize(self, self._objects.close)

    def close(self) -> None:
        """End the git process that answers questions. The next question starts one again."""
        self._objects.close()

    @classmethod
    def detect(cls, path: Path) -> Path | None:
        """The root of the working tree or bare repository that holds `path`, found by looking at files."""
        return discovery.detect(path)

    def init(self) -> None:
        """Make an empty repository. VersionError where there is one."""
        if discovery.detect(self.root) == self.root:
            raise VersionError(f"{printable(str(self.root))} is a git repository already")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise VersionError(f"cannot make {printable(str(self.root))}: {error.strerror}") from error
        branch = self.settings.initial_branch if self.settings else None
        self._runner.change("init", "--quiet", config=(f"init.defaultBranch={branch}",) if branch else ())

    def home(self) -> Path:
        """The main working tree; for a bare repository, and for one whose main working tree git itself does not
        know, the folder of administration."""
        return discovery.home(self._places)

    def walk_minor_versions(self, head: str) -> Iterator[MinorVersion]:
        """`head` and its ancestors, streamed from one git process; of a long history git is asked for what came since
        the last walk. In a shallow clone the walk ends where the clone does; the last versions then have no parents."""
        require_full_id(head)
        return self._explained(head, lambda: history.walk(self._runner, head, KeptWalk(self._places)))

    def newest_minor_versions(self, head: str, count: int) -> Iterator[MinorVersion]:
        """As `git log -n COUNT` lists them: by the times of commits, each after one of its children."""
        require_full_id(head)
        return self._explained(head, lambda: history.newest(self._runner, head, count))

    def walk_major_versions(self) -> Iterator[MajorVersion]:
        """The local branches."""
        out = self._runner.run("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads")
        branches = (line.partition(b" ") for line in out.splitlines())
        names = {os.fsdecode(ref)[len(head.BRANCH) :]: id.decode("ascii") for id, _, ref in branches}
        return iter([MajorVersion(name=name, head=names[name]) for name in sorted(names)])

    def get_minor_head(self) -> str:
        """The commit that is checked out."""
        return self._head().version()

    def get_head_major_version(self) -> MajorVersion:
        """The branch that is checked out."""
        current = self._head()
        return MajorVersion(name=current.name, head=current.id)

    def get_minor_version_info(self, version: str) -> MinorVersion:
        """One commit."""
        return self._revisions.commit(version)

    def last_release(self, version: str) -> str | None:
        """The commit of the newest tag that a version contains and that is not its own. VersionError where there may
        be one in the history that a shallow clone lacks."""
        # `*objectname` is the commit behind an annotated tag, and empty for a light one.
        form = "--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)"
        out = self._runner.run("for-each-ref", "--sort=-creatordate", f"--merged={version}", form, "refs/tags")
        parent = next((id for id in out.decode("ascii").split() if id != version), None)
        if parent is None and (cut := self._revisions.unshallow()):
            raise VersionError("no release before this version is here", hint=cut)
        return parent

    def missing_history(self) -> str | None:
        """What a shallow clone lacks, and the command that brings it."""
        return self._revisions.unshallow()

    def tags(self) -> dict[str, str]:
        """The commits of all tags. A tag of something else, such as a file, is left out."""
        names = self._runner.run("for-each-ref", "--format=%(refname)", "refs/tags").splitlines()
        # A tag of a tag is followed to the end, which `%(*objectname)` of git before 2.45 does not.
        objects = {name: self._objects.ask(f"{os.fsdecode(name)}^{{}}") for name in names}
        return {
            os.fsdecode(name).removeprefix("refs/tags/"): tagged.id
            for name, tagged in objects.items()
            if tagged is not None and tagged.kind == "commit"
        }

    def remotes(self) -> dict[str, str]:
        """Their URLs for pushing, as git rewrites them (`url.*.pushInsteadOf`); of several the first."""
        lines = map(os.fsdecode, self._runner.run("remote", "--verbose").splitlines())
        remotes = [line.removesuffix(" (push)").partition("\t") for line in lines if line.endswith(" (push)")]
        return {name: url for name, _, url in reversed(remotes)}

    def author(self) -> str:
        """The author of a commit that were made now, without its time."""
        try:
            said = self._runner.run("var", "GIT_AUTHOR_IDENT")
        except VersionError:
            return ""
        # `Jane <jane@example.org> 1700000000 +0100`: the last two words are the time.
        return printable(said.decode("utf-8", "backslashreplace").rsplit(" ", 2)[0].strip())

    def check_minor_version_validity(self, version: str) -> None:
        """VersionError unless the id is the full one of a commit that is here."""
        self._revisions.commit(version)

    def massage_parameter(self, parameter: str) -> str:
        """The commit that git would take for a revision; VersionError also where git would only warn."""
        return self._revisions.resolve(parameter)

    def is_dirty(self) -> bool:
        """Whether tracked files differ from the head: staged, not staged, or in a submodule."""
        from perfcore_vcs_git import changes

        return not self._places.bare and any(not change.ours for change in changes.changed(self._runner))

    def save_state(self) -> str:
        """Put uncommitted changes of tracked files aside. Untracked files stay."""
        self._require_tree("put changes aside")
        return self._state.save(self._head)

    def restore_state(self, state: str) -> None:
        """Put everything back. It may be killed and called again."""
        self._require_tree("put changes back")
        self._state.restore(state)

    def saved_state(self) -> str | None:
        """The token of the state of a process that died."""
        return self._state.abandoned() if self._places.journal.exists() else None

    def checkout(self, version: str) -> None:
        """Put the working tree at a version, with a detached head."""
        self._require_tree("check out a version")
        self._revisions.commit(version)
        self._state.checkout(version, self.get_minor_head())

    def export(self, version: str, directory: Path) -> None:
        """All files of a version, as a checkout would write them, in an empty folder."""
        self._revisions.commit(version)
        self._trees.export(version, directory)

    def worktree(self, version: str, directory: Path) -> None:
        """A linked working tree of a version, as `git worktree add --detach` makes it. No hook runs."""
        self._revisions.commit(version)
        self._trees.worktree(version, directory)

    def remove_worktree(self, directory: Path) -> None:
        """Take away a linked working tree, or what is left of one."""
        self._trees.remove_worktree(directory)

    def read_file(self, version: str, path: str) -> bytes:
        """A file's content as it is stored; of a symbolic link, where it points to."""
        require_full_id(version)
        plain = not any(part in ("", ".", "..") for part in path.split("/")) and "\0" not in path
        object = self._objects.ask(f"{version}:{path}") if plain and "\n" not in path else None
        if object is None:
            object = self._object_in_tree(version, path, plain)
        if object.kind != "blob":
            raise NotFoundError(f"{printable(path) or '.'} is a folder in version {version[:10]}")
        return object.data

    def changed_files(self, old: str | None, new: str) -> tuple[str, ...]:
        """Paths of files and submodules that differ."""
        from perfcore_vcs_git import changes

        for version in (new,) if old is None else (old, new):
            self._revisions.commit(version)
        return changes.between(self._runner, old, new)

    def install_trigger(self, command: Sequence[str]) -> Path:
        """Have git's hooks run a command after commits and merges; in a bare repository after pushes."""
        from perfcore_vcs_git import trigger

        return trigger.install(self._runner, self._places, command)

    def ignore(self, path: Path) -> None:
        """Keep a directory out of every version, by a line in `info/exclude`. A bare repository has no directories."""
        from perfcore_vcs_git import exclude

        if not self._places.bare:
            exclude.add(self.root, self._places.common_dir, path)

    @functools.cached_property
    def _places(self) -> Places:
        return discovery.places(self.root)

    @functools.cached_property
    def _revisions(self) -> Revisions:
        return Revisions(self._runner, self._objects, self._places)

    @functools.cached_property
    def _trees(self) -> Trees:
        from perfcore_vcs_git.trees import Trees

        return Trees(self._runner, self._places)

    @functools.cached_property
    def _state(self) -> State:
        from perfcore_vcs_git.state import State

        return State(self._runner, self._places)

    def _head(self) -> head.Head:
        return head.read(self._runner, self._objects, self._places)

    def _explained(self, head: str, walk: Callable[[], Iterator[MinorVersion]]) -> Iterator[MinorVersion]:
        try:
            yield from walk()
        except VersionError:
            self._revisions.commit(head)  # says it better where the head itself is the reason
            raise

    def _object_in_tree(self, version: str, path: str, plain: bool) -> Found:
        """An object that could not be read by its name: with a line break in it, damaged, or not there."""
        self._revisions.commit(version)
        missing = NotFoundError(f"version {version[:10]} has no file '{printable(path)}'")
        if not plain:
            raise missing
        listed = self._runner.run("ls-tree", "-z", "--full-tree", version, "--", path)
        head, _, name = listed.split(b"\0", 1)[0].partition(b"\t")
        if name != os.fsencode(path):
            raise missing
        _, kind, id = head.split()
        if kind == b"commit":
            raise NotFoundError(f"{printable(path)} is a submodule in version {version[:10]}")
        object = self._objects.ask(id.decode("ascii"))
        if object is not None:
            return object
        raise VersionError(
            f"the content of {printable(path)} in version {version[:10]} is missing or damaged", hint="see `git fsck`"
        )

    def _require_tree(self, doing: str) -> None:
        if self._places.bare:
            raise VersionError(
                f"a bare repository has no working tree: cannot {doing}", hint="measure in a tree elsewhere instead"
            )
