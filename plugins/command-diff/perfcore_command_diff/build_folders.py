"""Names of files without the folder that a version was built in, so that a function of two builds is one function.

Debug information holds absolute paths: `/tmp/build-1/src/sort.c` and `/tmp/build-2/src/sort.c` are one file of two
builds. Nothing in a profile says what the folder was. It is the part of the paths in which two functions of one name
differ, before the longest common end of their files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from perfcore.model import Profile
from perfcore.profile.stacks import has_stacks
from perfcore.profile.table import Table, column

_ABSOLUTE = re.compile(r"/|[A-Za-z]:[/\\]|\\\\")
_SEPARATOR = re.compile(r"[/\\]")

_Function: TypeAlias = tuple[str, str]  # name and file, which identify a function


def without_build_folders(baseline: Profile, target: Profile) -> tuple[Profile, Profile]:
    """Both profiles with relative names of files where both have the same function below two folders."""
    if not (has_stacks(baseline.tables) and has_stacks(target.tables)):
        return baseline, target
    tables = baseline.tables["functions"], target.tables["functions"]
    before, after = map(_functions, tables)
    folders = _folders(set(before) - set(after), set(after) - set(before))
    if not folders:
        return baseline, target
    shared = {file for _, file in before} & {file for _, file in after}  # such as libraries of the system
    sides = zip((baseline, target), tables, zip(*folders, strict=True), strict=True)
    first, second = (
        profile.replace_tables(functions=_shortened(functions, set(prefixes) - {""}, shared))
        for profile, functions, prefixes in sides
    )
    return first, second


def _functions(functions: Table) -> list[_Function]:
    return [(str(name), str(file or "")) for name, file in zip(functions["name"], functions["file"], strict=True)]


def _folders(before: set[_Function], after: set[_Function]) -> list[tuple[str, str]]:
    """Pairs of folders below which both sides have the same functions, the most frequent pair first; empty for a side
    that has relative names. Each folder is in one pair: a third build has no counterpart."""
    by_name: dict[str, list[str]] = {}
    for name, file in sorted(after):
        by_name.setdefault(name, []).append(file)
    votes: Counter[tuple[str, str]] = Counter()
    for name, file in sorted(before):
        pairs = {pair for other in by_name.get(name, ()) if (pair := _prefixes(file, other)) is not None}
        votes.update(sorted(pairs))
    chosen: list[tuple[str, str]] = []
    for pair, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0])):
        if not any(folder and folder in (first, second) for folder in pair for first, second in chosen):
            chosen.append(pair)
    return chosen


def _prefixes(before: str, after: str) -> tuple[str, str] | None:
    """The folders of two files before the longest common end of their paths; None where they have none, or no folder
    would be left."""
    if not (_ABSOLUTE.match(before) or _ABSOLUTE.match(after)):
        return None  # two relative files are two files
    paths = [_SEPARATOR.split(path) for path in (before, after)]
    common = 0
    while common < min(map(len, paths)) and paths[0][-1 - common] == paths[1][-1 - common]:
        common += 1
    lengths = [sum(len(part) + 1 for part in path[: len(path) - common]) for path in paths]
    folders = before[: lengths[0]], after[: lengths[1]]
    sides = zip((before, after), folders, strict=True)
    # A relative name has to be the end of the other one as a whole; the root is no folder of a build.
    fits = all(len(folder) > 1 if _ABSOLUTE.match(path) else not folder for path, folder in sides)
    return folders if common and fits else None


def _shortened(functions: Table, folders: set[str], shared: set[str]) -> Table:
    longest_first = sorted(folders, key=lambda folder: (-len(folder), folder))
    names: Mapping[str, str] = {
        file: _relative(file, longest_first) for file in {str(file or "") for file in functions["file"]} - shared
    }
    files = [names.get(str(file or ""), str(file or "")) for file in functions["file"]]
    return functions.with_columns(column("file", files, dtype="str"))


def _relative(file: str, folders: Sequence[str]) -> str:
    prefix = next((folder for folder in folders if file.startswith(folder)), "")
    return file[len(prefix) :]
