"""What people write for a version, and which version it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from perfcore.errors import PerfError, VersionError, nearest
from perfcore.named_tuple import NamedTuple
from perfcore.text import printable
from perfcore_vcs_git.history import parse_commit

if TYPE_CHECKING:
    from perfcore.model import MinorVersion
    from perfcore_vcs_git.command import Runner
    from perfcore_vcs_git.discovery import Places
    from perfcore_vcs_git.objects import Objects

_FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# git takes no fewer than four digits for an abbreviated id (gitrevisions(7), core.abbrev).
_SHORT = r"[0-9a-fA-F]{4,64}"
_MODIFIERS = r"[~^:]|@\{"
_SEVERAL = r"\^(@|!|-\d*)$"
_HARMLESS = r"is ambiguous|expected commit type"
_KINDS = {"blob": "a file", "tree": "a folder", "tag": "a tag of something else"}
# Names that a misspelt one is compared with. A compromise: of more a nearer one may be found, but it takes longer.
_SUGGESTED = 5000
_LISTED = 10


def is_full_id(text: str) -> bool:
    """Whether a text is written like the full id of a version."""
    return _FULL.fullmatch(text) is not None


def require_full_id(text: str) -> None:
    """VersionError unless a text is written like the full id of a version."""
    if not is_full_id(text):
        raise VersionError(f"'{printable(text)}' is not the full id of a version")


class Revisions(NamedTuple):
    """Versions of one repository by what they are called."""

    runner: Runner
    objects: Objects
    places: Places

    def resolve(self, text: str) -> str:
        """The full id of a revision as people write it (gitrevisions(7)), an annotated tag being what it points
        to. VersionError where it names no version, or several."""
        _refuse_nonsense(text)
        # Behind `:/text` everything is part of what is searched for, `^{commit}` too.
        name = text if text.startswith(":/") else f"{text}^{{commit}}"
        git_object = self.objects.ask(name)
        if git_object is None or git_object.kind != "commit":
            raise self._unknown(text)
        self._refuse_clash(text)
        return git_object.id

    def commit(self, version: str) -> MinorVersion:
        """What is known of a full id. VersionError where it is none of a version."""
        require_full_id(version)
        git_object = self.objects.ask(version)
        if git_object is None:
            raise self._damage() or self._not_here(version)
        if git_object.kind != "commit":
            raise VersionError(f"'{version}' names {_KINDS.get(git_object.kind, git_object.kind)}, not a version")
        return parse_commit(git_object.id, git_object.data, ends_here=version in self._boundary())

    def _boundary(self) -> frozenset[str]:
        """Where the history of a shallow clone ends."""
        try:
            return frozenset(self.places.shallow.read_text("ascii").split())
        except FileNotFoundError:
            return frozenset()

    def _refuse_clash(self, text: str) -> None:
        """VersionError where branches and tags of one name are different versions: git would take the tag."""
        base = _base(text)
        if base in ("", "HEAD", "@") or is_full_id(base) or base.startswith("refs/"):
            return
        full = [f"refs/{folder}/{base}" for folder in ("tags", "heads", "remotes")]
        objects_by_name = {name: self.objects.ask(f"{name}^{{commit}}") for name in full}
        ids = {name: commit.id for name, commit in objects_by_name.items() if commit is not None}
        if len(set(ids.values())) > 1:
            listed = " and ".join(f"{name} ({id[:10]})" for name, id in ids.items())
            raise VersionError(
                f"'{printable(text)}' is ambiguous: {printable(listed)}",
                hint=f"write {printable(' or '.join(name + text[len(base) :] for name in ids))}",
            )

    def _unknown(self, text: str) -> PerfError:
        damage = self._damage()
        if damage is not None:
            return damage
        printable_text = printable(text)
        candidates = self._candidates(text)
        if candidates is not None:
            return VersionError(f"'{printable_text}' is ambiguous", hint=candidates)
        kind = self._kind(text)
        if kind == "tag":
            kind = self._kind(f"{text}^{{}}")
        if kind in ("blob", "tree"):
            return VersionError(f"'{printable_text}' names {_KINDS[kind]}, not a version")
        if _base(text) in ("HEAD", "@") and self._kind("HEAD") is None:
            return VersionError("there is no commit yet", hint="commit something first")
        return self._not_here(text)

    def _not_here(self, text: str) -> VersionError:
        error = self._unnamed(text)
        error.is_cut_off = bool(self._boundary())
        return error

    def _unnamed(self, text: str) -> VersionError:
        printable_text = printable(text)
        if is_full_id(text):
            return VersionError(f"version {text} is not in this repository", hint=self.unshallow())
        base = _base(text)
        if base and base != text and self._kind(base) is not None:
            return VersionError(
                f"'{printable_text}' names no version, though '{printable(base)}' does", hint=self.unshallow()
            )
        hint = nearest(text, self._names())
        return VersionError(
            f"there is no version '{printable_text}'", hint=printable(hint) if hint else self.unshallow()
        )

    def unshallow(self) -> str | None:
        """What to do where the history of this clone was cut; None where all of it is here."""
        if not self._boundary():
            return None
        return "this clone is shallow, its older history is not here: git fetch --unshallow"

    def _damage(self) -> PerfError | None:
        """The error where git could not read an object, rather than not find it."""
        complaint = self.objects.complaints()
        complaints = [line for line in complaint.splitlines() if line.startswith(("error: ", "fatal: "))]
        complaints = [line for line in complaints if not re.search(_HARMLESS, line)]
        return self.runner.explain(("cat-file",), 128, complaints[0].encode()) if complaints else None

    def _kind(self, text: str) -> str | None:
        out = self.runner.run("cat-file", "--batch-check", stdin=text.encode("utf-8", "surrogateescape") + b"\n")
        words = out.split()
        return words[-2].decode() if len(words) >= 3 and words[-1].isdigit() else None

    def _names(self) -> list[str]:
        """The names of branches and tags, as many as can be compared quickly."""
        out = self.runner.run(
            "for-each-ref", f"--count={_SUGGESTED}", "--format=%(refname)", "refs/heads", "refs/tags", "refs/remotes"
        )
        return [name.split("/", 2)[2] for name in _lines(out)]

    def _candidates(self, text: str) -> str | None:
        """The versions whose ids begin as a short id does, where they are several."""
        prefix = _base(text)
        if not re.fullmatch(_SHORT, prefix):
            return None
        ids = self.runner.run("rev-parse", f"--disambiguate={prefix}").decode("ascii").split()
        answers = map(self.objects.ask, ids)
        commits = [candidate for candidate in answers if candidate is not None and candidate.kind == "commit"]
        if len(commits) < 2:
            return None
        listed = [f"{c.id[:10]} ({printable(parse_commit(c.id, c.data).subject)[:40]})" for c in commits[:_LISTED]]
        further = f" and {len(commits) - _LISTED} more" if len(commits) > _LISTED else ""
        return f"it may be {', '.join(listed)}{further}"


def _base(text: str) -> str:
    """A revision without what goes on from it, such as `~2`."""
    return re.split(_MODIFIERS, text, maxsplit=1)[0]


def _refuse_nonsense(text: str) -> None:
    printable_text = printable(text)
    if not text.strip():
        raise VersionError("the name of a version is empty")
    if "\n" in text or "\0" in text:
        raise VersionError(f"'{printable_text}' is not the name of a version")
    # What is searched for in messages may hold `..` as any text may.
    searching = text.startswith(":/") or "^{/" in text
    if not searching and (".." in text.partition(":")[0] or text.startswith("^") or re.search(_SEVERAL, text)):
        raise VersionError(f"'{printable_text}' names several versions; name one")


def _lines(out: bytes) -> Iterable[str]:
    return out.decode("utf-8", "surrogateescape").splitlines()
