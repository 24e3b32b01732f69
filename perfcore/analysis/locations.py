"""In which file of the repository a verdict is shown, for reports that want one for each.

A contract stands in a file; a change of speed does not. So the file that is named for a change is a hint, chosen by the
first of these that there is, and `Location.why` says which it was:

- the source file that changed most in the range of versions, at the first line that differs. Documents, tests and the
  files that configure perfcore are no source; what counts are the lines that went and came;
- the project's configuration, `.perfcore.yml`, where it names the command;
- a file that the command names;
- the contract whose pattern fits the command;
- `.perfcore.yml`, or else the first file of the version.

All of them are read at the version that the verdict is on.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

import attrs
from perfcore_check_contract import contract as contracts
from perfcore_check_contract.contract import Contract
from perfcore_check_contract.evaluate import verdict_id
from perfcore_command_bisect import prior

from perfcore.analysis.check_result import CheckResult, Location
from perfcore.analysis.pairing import Unpaired
from perfcore.config.layers import PROJECT_FILE, read_bytes
from perfcore.errors import PerfError, UsageError
from perfcore.model import Change
from perfcore.repository.repository import Repository
from perfcore.text import plural

_LOOKED_AT = 1000  # changed files that are read
_PENDING = "pending"


@attrs.frozen
class _Subject:
    """What a location is wanted for: a command, and the versions between which it changed, as far as they are known."""

    label: str
    before: str | None
    version: str | None


def of_outcome(repository: Repository, outcome: CheckResult) -> dict[Change | Unpaired, Location]:
    """The location of everything that an outcome holds; of some nothing, where a version has no file at all."""
    finder = _Finder(repository)
    verdicts: list[Change | Unpaired] = [*outcome.changes, *outcome.unpaired]
    found = {each: finder.of(each) for each in verdicts}
    return {each: location for each, location in found.items() if location is not None}


class _Finder:
    """Asks the VCS once for what several verdicts need."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._contract = read_bytes(repository.root / contracts.FILE) or b""
        self._agreed = _agreed(self._contract)
        self._found: dict[_Subject, Location | None] = {}
        self._files: dict[tuple[str | None, str], tuple[str, ...]] = {}
        self._trees: dict[str, frozenset[str]] = {}
        self._versions: dict[str, str | None] = {}

    def of(self, verdict: Change | Unpaired) -> Location | None:
        if isinstance(verdict, Change) and verdict.contract and (stated := self._stated(verdict)):
            return stated
        subject = self._subject(verdict)
        if subject not in self._found:
            self._found[subject] = self._hint(subject)
        return self._found[subject]

    def _stated(self, verdict: Change) -> Location | None:
        """Where the contract says what the verdict is on."""
        version = self._version(verdict.target) or ""
        for agreed in self._agreed:
            if verdict_id(agreed, verdict.config_id, version) == verdict.id:
                return _at(contracts.FILE, self._contract, agreed.line, "")
        return None

    def _subject(self, verdict: Change | Unpaired) -> _Subject:
        if isinstance(verdict, Unpaired):
            return _Subject(verdict.label, None, self._version(verdict.version))
        latest, before = self._version(verdict.latest or verdict.target), self._version(verdict.baseline)
        if verdict.earliest:
            before = self._parent(verdict.earliest) or before
        return _Subject(verdict.label, before, latest)

    def _hint(self, subject: _Subject) -> Location | None:
        version = subject.version or self._version("")
        if version is None:
            return None
        changed = self._changed_most(subject.before, version) if subject.before and subject.version else None
        return changed or next(self._others(subject.label, version), None)

    def _changed_most(self, before: str, version: str) -> Location | None:
        """The source file with the most lines that went or came, at the first line that differs."""
        sources = [path for path in self._differing(before, version) if _is_source(path)]
        read = sources[:_LOOKED_AT]
        texts = [(path, self._read(before, path) or b"", self._read(version, path)) for path in read]
        known = [(_lines_changed(old, new), path, old, new) for path, old, new in texts if new and b"\0" not in new]
        if not known:
            return None
        count, path, old, new = min(known, key=lambda each: (-each[0], each[1]))
        which = "the source files" if len(read) == len(sources) else f"the first {len(read):,} source files"
        why = f"of {which} that changed after {before[:10]} it changed most ({plural(count, 'line')})"
        return _at(path, new, _first_difference(old, new), why)

    def _others(self, label: str, version: str) -> Iterator[Location]:
        project, words = self._read(version, PROJECT_FILE) or b"", _words(label)
        for text, what in ((label, "the command"), (words[0], "its program")):
            if line := _line_with(project, text):
                yield _at(PROJECT_FILE, project, line, f"it names {what}")
        for word in words:
            path = posixpath.normpath(word)
            if (data := self._read(version, path)) is not None:
                yield _at(path, data, 1, "the command names it")
        fitting = next((agreed for agreed in self._agreed if agreed.fits(label)), None)
        if fitting is not None:
            yield _at(contracts.FILE, self._contract, fitting.line, "it has a contract for the command")
        for path in (PROJECT_FILE, *self._differing(None, version)):
            if (data := self._read(version, path)) is not None:
                yield _at(path, data, 1, "no file tells more")

    def _differing(self, before: str | None, version: str) -> tuple[str, ...]:
        """Changed files, or all where there is none before, whose names can stand in a URI."""
        if (before, version) not in self._files:
            try:
                found = self._repository.vcs.changed_files(before, version)
            except PerfError:
                found = ()
            self._files[before, version] = tuple(path for path in found if _is_text(path))
        return self._files[before, version]

    def _read(self, version: str, path: str) -> bytes | None:
        if path not in self._present(version):  # which is quicker than to be told so by the VCS for each
            return None
        try:
            return self._repository.vcs.read_file(version, path)
        except PerfError:  # it is no file but a submodule
            return None

    def _present(self, version: str) -> frozenset[str]:
        if version not in self._trees:
            self._trees[version] = frozenset(self._differing(None, version))
        return self._trees[version]

    def _version(self, name: str) -> str | None:
        """The full id of what a verdict calls a version; of the head where it names none."""
        name = name.removesuffix("+dirty")
        if name not in self._versions:
            try:
                self._versions[name] = self._repository.version(None if name in ("", _PENDING) else name)
            except PerfError:
                self._versions[name] = None
        return self._versions[name]

    def _parent(self, version: str) -> str | None:
        try:
            parents = self._repository.vcs.get_minor_version_info(version).parents
        except PerfError:
            return None
        return parents[0] if parents else None


def _agreed(data: bytes) -> Sequence[Contract]:
    try:
        return contracts.parse(data, contracts.FILE)
    except UsageError:  # who asked for a verdict on it was told
        return ()


def _is_source(path: str) -> bool:
    return path not in (PROJECT_FILE, contracts.FILE) and prior.share([path], frozenset(), frozenset()) >= prior.COMMON


def _is_text(path: str) -> bool:
    """Whether a name is UTF-8: what uploads SARIF to GitHub fails at the URI of one that is not."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _lines_changed(old: bytes, new: bytes) -> int:
    before, after = Counter(old.splitlines()), Counter(new.splitlines())
    return (before - after).total() + (after - before).total()


def _first_difference(old: bytes, new: bytes) -> int:
    """The number of the first line that differs, or of the last one where only lines behind it went."""
    before, after = old.splitlines(), new.splitlines()
    for number, line in enumerate(after):
        if number >= len(before) or before[number] != line:
            return number + 1
    return max(1, len(after))


def _words(label: str) -> Sequence[str]:
    try:
        return shlex.split(label) or [label]
    except ValueError:
        return label.split() or [label]


def _line_with(data: bytes, text: str) -> int | None:
    """The first line that has this text, and not as a part of a word."""
    wanted = re.escape(text.encode("utf-8", "backslashreplace"))
    found = re.search(rb"(?<![\w-])" + wanted + rb"(?![\w-])", data) if text else None
    return data[: found.start()].count(b"\n") + 1 if found else None


def _at(path: str, data: bytes, line: int, why: str) -> Location:
    lines = data.splitlines()
    text = lines[line - 1] if line <= len(lines) else b""
    return Location(path=path, line=line, length=len(text.decode("utf-8", "replace")), why=why)
