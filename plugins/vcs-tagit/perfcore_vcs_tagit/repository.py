"""One repository: looking at it, and saving."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path

import attrs

from perfcore import files
from perfcore.config.trust import Commands, command_digest
from perfcore.errors import UsageError, VersionError
from perfcore.locks import Lock
from perfcore.model import MinorVersion
from perfcore.repository.location import UserPlaces
from perfcore.text import printable
from perfcore_vcs_tagit import cache, ignore, journal, line, places, scan, tree, version
from perfcore_vcs_tagit.cache import Cache
from perfcore_vcs_tagit.failures import shown, told
from perfcore_vcs_tagit.journal import Journal
from perfcore_vcs_tagit.line import Refs
from perfcore_vcs_tagit.objects import Nowhere, Objects, Sink, Writer, remove_unfinished
from perfcore_vcs_tagit.places import Places
from perfcore_vcs_tagit.revisions import Revisions
from perfcore_vcs_tagit.scan import Rules, Scan
from perfcore_vcs_tagit.tree import Change, Lookup
from perfcore_vcs_tagit.version import Version

# Seconds for another process: saving a small tree takes less, and nobody waits for a large one without a word.
_PATIENCE = 10.0


@attrs.frozen
class Saved:
    """What a save made. `same` is the tag of the version before, if nothing changed since."""

    id: str
    version: Version
    left_out: tuple[bytes, ...]
    same: str | None = None


class Repository:
    """A repository and one of its working trees."""

    def __init__(self, found: Places) -> None:
        self.places = found
        self.objects = Objects(found.packs)
        self.get = tree.reader(self.objects)
        self._lock = Lock(found.folder / "lock")

    @classmethod
    def create(cls, root: Path) -> Repository:
        """Make an empty repository. VersionError where there is one."""
        found = Places(root, root)
        if found.folder.is_symlink() or places.detect(root) == root:
            raise VersionError(f"{shown(root)} is a tagit repository already", hint="`tagit log` shows its versions")
        with told("make the repository"):
            found.packs.mkdir(parents=True, exist_ok=True)
            line.write(found.refs, Refs())
        return cls(found)

    # --- looking

    def refs(self) -> Refs:
        """All names, as they are now. A linked tree has a head of its own."""
        refs = line.read(self.places.refs)
        return refs if self.places.version is None else attrs.evolve(refs, line=None, at=self.places.version)

    def head(self) -> str:
        """The version that is checked out. VersionError before the first one."""
        head = self.refs().head
        if head is None:
            raise VersionError("there is no version yet", hint="`tagit save TAG` makes one")
        return head

    def resolve(self, text: str) -> str:
        """The full id of what people write for a version."""
        return self.revisions().resolve(text)

    def require(self, id: str) -> None:
        """VersionError unless it is the full id of a version."""
        self.revisions().require(id)

    def revisions(self) -> Revisions:
        return Revisions(self.refs(), lambda id: self._version(id).parent)

    def version(self, id: str) -> Version:
        """One version. VersionError where there is no such one."""
        self.require(id)
        return self._version(id)

    def walk(self, id: str) -> Iterator[tuple[str, Version]]:
        """A version and those before it."""
        self.require(id)
        return self._walk(id)

    def minor(self, id: str) -> MinorVersion:
        """A version in perfcore's words."""
        return self.version(id).minor(id)

    def scan(self) -> Scan:
        """The working tree as it is. Nothing is written."""
        file_cache = cache.read(self.places.cache) if self.places.version is None else Cache()
        return scan.scan(self.places.root, self._rules(), file_cache, Nowhere())

    def look(self, sink: Sink | None = None) -> Scan:
        """The same for whoever writes: so that it can be remembered, and everything in it kept in a sink."""
        begun = cache.begin(self.places.cache)
        rules = self._rules() if sink is None else attrs.evolve(self._rules(), has=self.objects.__contains__)
        snapshot = scan.scan(self.places.root, rules, cache.read(self.places.cache), sink or Nowhere())
        return attrs.evolve(snapshot, begun=begun)

    def changes(self) -> tuple[list[Change], Scan]:
        """How the working tree differs from the head."""
        snapshot = self.scan()
        return self.compare(self.tree_of(self.refs().head), snapshot.tree, snapshot), snapshot

    def compare(self, old: str, new: str, seen: Scan | None = None) -> list[Change]:
        """How two trees differ, of which one may be the working tree's."""
        return tree.compare(tree.reader(self.objects, seen.trees if seen else None), old, new)

    def tree_of(self, id: str | None) -> str:
        """The tree of a version; the empty one for None."""
        return self._version(id).tree if id is not None else tree.EMPTY

    # --- changing

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """While this lasts, no other process changes the repository."""
        if self.places.version is not None:
            raise VersionError(
                f"{shown(self.places.root)} was made to be measured and stays as it is",
                hint=f"work in {shown(self.places.home)}",
            )
        message = f"another process is at work in {shown(self.places.root)}"
        busy = VersionError(message, hint="try again when it is done")
        with told("write to the repository"), self._lock.hold(_PATIENCE, busy):
            self.places.packs.mkdir(exist_ok=True)
            remove_unfinished(self.places.packs)
            self.objects.forget()
            yield

    def refuse_journal(self) -> None:
        """VersionError while the working tree is not the user's."""
        if self.places.journal.exists():
            raise VersionError(
                "the working tree is being put at other versions", hint="wait until the process that does it is done"
            )

    def save(self, tag: str, *, message: str, author: str, date: int) -> Saved:
        """Keep the working tree as the next version of the line. It happens at one instant, or not at all."""
        with self.writing(), told("save"):
            self.refuse_journal()
            refs = self.refs()
            with Writer(self.objects) as writer:
                self.refuse_name(refs, tag)
                snapshot = self.look(writer)
                saved = self.add_version(writer, refs, snapshot.tree, tag, message=message, author=author, date=date)
                writer.finish()
            self.advance(refs, saved)
            cache.write(self.places.cache, Cache(snapshot.begun, snapshot.files))
        return attrs.evolve(saved, left_out=snapshot.left_out)

    def refuse_name(self, refs: Refs, tag: str) -> str:
        """The tag as it is written. UsageError where it cannot be one, VersionError where there is no line."""
        name = line.valid(tag)
        refs.refuse_taken(name)
        if refs.line is None:
            current_tag = self._version(refs.head).tag if refs.head else ""
            raise VersionError(
                f"{printable(current_tag)} is checked out, and no line", hint="begin a line here: tagit branch NAME"
            )
        return name

    def add_version(
        self, sink: Sink, refs: Refs, tree: str, tag: str, *, message: str, author: str, date: int
    ) -> Saved:
        """The next version of the line as an object."""
        name = self.refuse_name(refs, tag)
        new = Version(tree=tree, parent=refs.head, tag=name, date=date, author=author, message=message)
        parent = self._version(refs.head) if refs.head else None
        same = parent.tag if parent is not None and parent.tree == tree else None
        return Saved(sink.add("version", version.encode(new)), new, (), same)

    def advance(self, refs: Refs, saved: Saved) -> None:
        """Have the line end at a new version."""
        assert refs.line is not None
        tags = {**refs.tags, saved.version.tag: saved.id}
        line.write(self.places.refs, attrs.evolve(refs, lines={**refs.lines, refs.line: saved.id}, tags=tags))

    def branch(self, name: str) -> str:
        """Begin a line at the head, and go to it."""
        with self.writing(), told("begin a line"):
            self.refuse_journal()
            refs = self.refs()
            name = line.valid(name, "line")
            refs.refuse_taken(name)
            lines = {**refs.lines, name: refs.head} if refs.head is not None else refs.lines
            line.write(self.places.refs, attrs.evolve(refs, line=name, at=None, lines=lines))
        return name

    def delete_line(self, name: str) -> str:
        """Forget a line. Its versions stay, as they have tags. Gives where it was."""
        with self.writing(), told("delete a line"):
            refs = self.refs()
            if name == refs.line:
                raise UsageError(f"the line {printable(name)} is checked out", hint="go to another one first")
            if name not in refs.lines:
                raise VersionError(f"there is no line '{printable(name)}'", hint="`tagit lines` lists them")
            lines = {other: id for other, id in refs.lines.items() if other != name}
            line.write(self.places.refs, attrs.evolve(refs, lines=lines))
        return refs.lines[name]

    def fire(self) -> str | None:
        """Run the trigger after a new version; gives what became of one that failed, or that somebody else set: who
        copies a repository brings it along."""
        try:
            command = json.loads(self.places.trigger.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return f"{shown(self.places.trigger)} cannot be read"
        if not _own_commands().hold(self._digest(command)):
            return f"the trigger in {shown(self.places.trigger)} was not run: you have not set it on this machine"
        import subprocess

        try:
            code = subprocess.run(command, cwd=self.places.root, stdin=subprocess.DEVNULL, check=False).returncode
        except (OSError, TypeError, ValueError) as error:
            return f"the trigger could not be started: {printable(str(error))}"
        return f"the trigger {printable(command[0])} ended with code {code}" if code else None

    def set_trigger(self, command: list[str]) -> Path:
        """Have a command run after every new version."""
        _own_commands().note(self._digest(command))
        with self.writing(), told("write the trigger"):
            files.write_atomically(self.places.trigger, json.dumps(command).encode())
        return self.places.trigger

    def _digest(self, command: object) -> str:
        return command_digest(self.places.root, of="trigger", command=command)

    def ignore(self, directory: Path) -> None:
        """Keep a directory out of every version."""
        if os.fsencode(directory.name) in ignore.OURS:  # wherever it is
            return
        with self.writing(), told("write what is ignored"):
            ignore.add(self.places.ignore, self.places.root, directory)

    def _version(self, id: str) -> Version:
        return version.decode(self.objects.read(id, "version"), id)

    def _walk(self, id: str | None) -> Iterator[tuple[str, Version]]:
        while id is not None:
            version = self._version(id)
            yield id, version
            id = version.parent

    def _rules(self) -> Rules:
        """What counts: all but what `.tagitignore` says. While a state is put aside, it is that state's file that
        says so, and what a version brought with it counts too."""
        state = journal.read(self.places.journal) if self.places.version is None else None
        if state is None:
            lookup = functools.cache(lambda: Lookup(self.get, self.tree_of(self.refs().head)))
            return Rules(
                ignore.read(self.places.root, self.places.ignore).matches, known=lambda path: lookup().at(path)
            )
        return self._rules_of(state)

    def _rules_of(self, state: Journal) -> Rules:
        found = Lookup(self.get, state.tree).at(ignore.NAME.encode())
        own_rules = self.objects.read(found.id, "blob") if found is not None and not found.is_folder else b""
        saved = ignore.parse(self.places.ignore, own_rules)
        brought = [Lookup(self.get, self.tree_of(id)) for id in {self.refs().head, state.moving}]

        def at(path: bytes) -> tree.Entry | None:
            return next((entry for lookup in brought if (entry := lookup.at(path)) is not None), None)

        return Rules(saved.matches, known=at, tracked=lambda path: at(path) is not None)


def _own_commands() -> Commands:
    """What the user has had run on this machine."""
    return Commands(UserPlaces.default().trust.with_name("commands"))
