"""The file and line of the project that a report shows a verdict at: tools of code review want one for each.

A contract stands in a file; a change of speed does not. So the file that is named for a change is a hint, the first of
these that exists, and `Location.why` says which it was:

- the source file that changed most in the range of versions, at the first line that differs. Documents, tests and the
  files that configure perfcore are not source; removed and added lines count;
- the project's configuration, `.perfcore.yml`, where it names the command;
- a file that the command names;
- the contract whose pattern fits the command;
- `.perfcore.yml`, or else the first file of the version.

Everything but the contract is read at the version of the verdict.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs
from perfcore_check_contract import contract as contracts
from perfcore_check_contract.evaluate import verdict_id
from perfcore_check_kit.labels import in_folder
from perfcore_command_bisect import prior

from perfcore.config.layers import PROJECT_FILE
from perfcore.errors import UsageError
from perfcore.model import Change, Unpaired
from perfcore.text import plural

if TYPE_CHECKING:
    from perfcore_check_contract.contract import Contract

    from perfcore.hookspecs import Sources

# A merge of a vendored library changes ten thousands of files; reading a thousand takes about a second with git.
_MOST_FILES = 1000


@attrs.frozen(kw_only=True)
class Location:
    """A line of a file, and how many characters it has. `path` is relative to the root of the project; `why` explains a
    hint, and is empty for the line that the verdict is on."""

    path: str
    line: int = 1
    length: int = 0
    why: str = ""


@attrs.frozen
class _Range:
    """A command, and the versions between which it changed, as far as they are known."""

    label: str
    before: str | None
    version: str | None


class Locator:
    """Finds locations; many verdicts share a range of versions, which is looked at once."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._contract_file = sources.read(None, contracts.FILE) or b""
        self._contracts = _contracts(self._contract_file)
        self._hints: dict[_Range, Location | None] = {}

    def locate(self, verdict: Change | Unpaired) -> Location | None:
        """None where the version has no file, or is unknown."""
        if isinstance(verdict, Change) and verdict.contract and (stated := self._statement(verdict)):
            return stated
        versions = self._range(verdict)
        if versions not in self._hints:
            self._hints[versions] = self._hint(versions)
        return self._hints[versions]

    def _statement(self, verdict: Change) -> Location | None:
        """The line of the contract that the verdict is on."""
        version = self._sources.version(verdict.target) or ""
        for contract in self._contracts:
            if verdict_id(contract, verdict.config_id, version) == verdict.id:
                return _at(contracts.FILE, self._contract_file, contract.line, "")
        return None

    def _range(self, verdict: Change | Unpaired) -> _Range:
        sources = self._sources
        if isinstance(verdict, Unpaired):
            return _Range(verdict.label, None, sources.version(verdict.version))
        latest, before = sources.version(verdict.latest or verdict.target), sources.version(verdict.baseline)
        if verdict.earliest:
            before = sources.parent(verdict.earliest) or before
        return _Range(verdict.label, before, latest)

    def _hint(self, versions: _Range) -> Location | None:
        version = versions.version or self._sources.version("")
        if version is None:
            return None
        changed = self._most_changed(versions.before, version) if versions.before and versions.version else None
        return changed or next(self._fallbacks(versions.label, version), None)

    def _most_changed(self, before: str, version: str) -> Location | None:
        """The source file with the most removed and added lines, at the first line that differs."""
        paths = [path for path in self._sources.changed(before, version) if _is_source(path)]
        candidates = []
        for path in paths[:_MOST_FILES]:
            old, new = self._sources.read(before, path) or b"", self._sources.read(version, path)
            if new and b"\0" not in new:  # neither removed nor binary
                candidates.append((-_lines_changed(old, new), path, old, new))
        if not candidates:
            return None
        lines, path, old, new = min(candidates)
        which = "the source files" if len(paths) <= _MOST_FILES else f"the first {_MOST_FILES:,} source files"
        why = f"of {which} that changed after {before[:10]} it changed most ({plural(-lines, 'line')})"
        return _at(path, new, _first_difference(old, new), why)

    def _fallbacks(self, label: str, version: str) -> Iterator[Location]:
        read = self._sources.read
        folder, typed = in_folder(label)
        project, words = read(version, PROJECT_FILE) or b"", _words(typed)
        for text, noun in ((typed, "the command"), (words[0], "its program")):
            if line := _line_with(project, text):
                yield _at(PROJECT_FILE, project, line, f"it names {noun}")
        for word in words:
            path = posixpath.normpath(posixpath.join(folder, word))
            if (content := read(version, path)) is not None:
                yield _at(path, content, 1, "the command names it")
        fitting = next((contract for contract in self._contracts if contract.fits(label)), None)
        if fitting is not None:
            yield _at(contracts.FILE, self._contract_file, fitting.line, "it has a contract for the command")
        for path in (PROJECT_FILE, *self._sources.changed(None, version)):
            if (content := read(version, path)) is not None:
                yield _at(path, content, 1, "no file tells more")


def _contracts(content: bytes) -> Sequence[Contract]:
    try:
        return contracts.parse(content, contracts.FILE)
    except UsageError:  # the check itself has reported it
        return ()


def _is_source(path: str) -> bool:
    return path not in (PROJECT_FILE, contracts.FILE) and prior.share([path], frozenset(), frozenset()) >= prior.COMMON


def _lines_changed(old: bytes, new: bytes) -> int:
    # Multisets and no diff: difflib takes quadratic time, and for a hint a moved line need not count.
    before, after = Counter(old.splitlines()), Counter(new.splitlines())
    return (before - after).total() + (after - before).total()


def _first_difference(old: bytes, new: bytes) -> int:
    """The number of the first line that differs, or of the last one where only lines behind it were removed."""
    before, after = old.splitlines(), new.splitlines()
    for index, line in enumerate(after):
        if index >= len(before) or before[index] != line:
            return index + 1
    return max(1, len(after))


def _words(label: str) -> Sequence[str]:
    try:
        return shlex.split(label) or [label]
    except ValueError:
        return label.split() or [label]


def _line_with(content: bytes, text: str) -> int | None:
    """The first line that holds this text, and not as a part of a word."""
    pattern = re.escape(text.encode("utf-8", "backslashreplace"))
    # Not `\b`, which a command that begins with `./` has not in front of it.
    match = re.search(rb"(?<![\w-])" + pattern + rb"(?![\w-])", content) if text else None
    return content[: match.start()].count(b"\n") + 1 if match else None


def _at(path: str, content: bytes, line: int, why: str) -> Location:
    lines = content.splitlines()
    text = lines[line - 1] if line <= len(lines) else b""
    return Location(path=path, line=line, length=len(text.decode("utf-8", "replace")), why=why)
