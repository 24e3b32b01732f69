"""What profiles tell about the machine and its users: listed before a push sends it to a remote for the first time."""

from __future__ import annotations

import contextlib
import getpass
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import PerfError
from perfcore.model.listener import Listener

if TYPE_CHECKING:
    from perfcore.model import Profile
    from perfcore.store.store import Store
    from perfcore_command_remote.rules import Rules

# Absolute paths of POSIX and Windows, also behind `--file=`; what a blank ends may have gone on, and is told as far.
_PATH = re.compile(r"(?:(?<![\w.~/:])/(?!/)|\b[A-Za-z]:\\)[^\s\"':;,|<>]+")


@attrs.define
class Leaving:
    """Each a set of texts, as the rules leave them: names of hosts, of this machine's user, commands, folders that
    paths name, and tags, which rules leave as they are. `facts` are the names of what is known of the machines."""

    hosts: set[str] = attrs.field(factory=set)
    users: set[str] = attrs.field(factory=set)
    commands: set[str] = attrs.field(factory=set)
    folders: set[str] = attrs.field(factory=set)
    tags: set[str] = attrs.field(factory=set)
    facts: set[str] = attrs.field(factory=set)

    def rows(self) -> Iterator[tuple[str, list[str]]]:
        """What there is, under the words for it."""
        for word in ("hosts", "users", "commands", "folders", "tags"):
            if texts := sorted(getattr(self, word)):
                yield word, texts


def leaving(store: Store, ids: Iterable[str], rules: Rules, listener: Listener) -> Leaving:
    """What these profiles tell after the rules. Those that cannot be read are left out: they are not sent either."""
    ids = list(ids)
    told = Leaving()
    names = _names()
    for done, (_, profile) in enumerate(store.load_many(ids), 1):
        listener.progress(done, len(ids), "looking at what leaves")
        host = rules.facts(profile.machine).get("host")
        told.hosts |= {host} if isinstance(host, str) and host else set()
        told.commands |= {rules.text(profile.label)} - {""}
        told.facts |= profile.machine.keys()
        for text in {rules.text(text) for text in _texts(profile, rules)}:
            told.folders |= {_folder(path) for path in _PATH.findall(text)}
            told.users |= {name for name, pattern in names.items() if pattern.search(text)}
    return told


def _names() -> Mapping[str, re.Pattern[str]]:
    """The names of who is at this machine, with what finds them."""
    home = Path.home()
    names = {home.name: re.compile(rf"{re.escape(str(home))}\b")}
    with contextlib.suppress(OSError, KeyError):  # a user without a name
        user = getpass.getuser()
        names[user] = re.compile(rf"\b{re.escape(user)}\b")
    return {name: pattern for name, pattern in names.items() if name}


def _folder(path: str) -> str:
    return path.rpartition("\\")[0] if "\\" in path else str(PurePosixPath(path).parent)


def _texts(profile: Profile, rules: Rules) -> Iterator[str]:
    header = profile.header
    yield from (*header.argv, header.cmd, header.args, header.workload, *profile.notes)
    for tool in (profile.collector, *profile.postprocessors):
        yield from _below(tool.params)
        yield from _below(tool.sampling)
    yield from _below({key: fact for key, fact in profile.machine.items() if key not in rules.omit})
    for name in profile.tables:
        try:
            columns = profile.tables[name].columns
        except PerfError:
            continue
        for column in columns:
            yield from column.dictionary


def _below(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _below(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _below(item)
