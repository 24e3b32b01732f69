"""Programs that a repository's own configuration names, which git would run.

Who copies or unpacks a repository brings its `.git/config` along, and did not write it. Hooks and the file system
monitor are switched off by name (`command`); filters have any name, so they are looked up. What the user's own
configuration says of a filter, global or of the system, stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from perfcore.errors import PerfError, VersionError
from perfcore.named_tuple import NamedTuple
from perfcore.text import printable
from perfcore_vcs_git import discovery

if TYPE_CHECKING:
    from perfcore_vcs_git.command import Runner

_OWN = ("local", "worktree")
# Compiled when they are first used: every command imports this module, and few need them.
_FILTER = r"(?s:filter\.(.*)\.(clean|smudge|process))"
_FAILED = r"(?:clean|smudge) filter '?(.*?)'? failed"
# What git runs to reach another repository, or which unusual ways it may take there.
_TRANSPORT = (
    r"(?s:core\.(sshcommand|gitproxy|askpass|alternaterefscommand)|credential\.(.*\.)?helper|"
    r"remote\..*\.(vcs|uploadpack)|protocol\.(.*\.)?allow|gc\.recentobjectshook)"
)
# A configuration without any of these words names none of them; nearly all do, and git need not be asked.
_WORDS = (
    rb"(?i:filter|include|sshcommand|gitproxy|askpass|alternaterefscommand|helper|vcs|uploadpack|protocol|"
    rb"recentobjectshook)"
)
# 0160000 as an entry of the index has it, 32 bits big endian (gitformat-index(5)). A split index (`link`) has its
# entries in another file.
_GITLINK_MODE = b"\x00\x00\xe0\x00"


class Programs(NamedTuple):
    """What the own configuration of a repository, and of the submodules in its tree, makes git run. `filters` has
    for each filter the commands that it sets, with what the user's own configuration has instead (empty: nothing),
    and whether that wants the filter."""

    filters: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    transport: bool = False

    def config(self, *, strict: bool) -> tuple[str, ...]:
        """Settings that switch these filters off. `strict`: git fails where one would be needed, rather than do
        without."""
        filters = sorted(self.filters.items())
        return tuple(line for name, commands in filters for line in _switched_off(name, commands, strict))

    def explain(self, error: PerfError) -> PerfError:
        """The error that names the filter which was switched off, where that is the reason."""
        match = re.search(_FAILED, str(error))
        if match is None or match[1] not in self.filters:
            return error
        name = printable(match[1])
        return VersionError(
            f"the filter {name} is set in the repository's own git configuration, which perfcore does not run",
            hint=f"set filter.{name} in your own (git config --global), or allow it: "
            f"perf config set vcs.git.filters '[{name}]'",
        )


def of(runner: Runner, *, submodules: bool) -> Programs:
    """The programs of a repository, and of the submodules that are checked out in it where git looks into those,
    without the filters that the user allows."""
    filters: dict[str, dict[str, str]] = {}
    transport = False
    for inner in (runner, *(_submodules(runner) if submodules else ())):
        if not _may_name_programs(inner):
            continue
        own_settings, outer = _settings(inner)
        transport = transport or any(re.fullmatch(_TRANSPORT, key) for key in own_settings)
        for name, command_kind in _commands(own_settings):
            if name not in runner.filters:
                commands = filters.setdefault(name, {"required": outer.get(f"filter.{name}.required", "false")})
                commands[command_kind] = outer.get(f"filter.{name}.{command_kind}", "")
    return Programs(filters, transport)


def _switched_off(name: str, commands: Mapping[str, str], strict: bool) -> Iterator[str]:
    """Only what is set is set anew: an empty `process` would switch off the user's own `smudge`, too."""
    if "=" in name or "\n" in name:  # git takes what is behind the first `=` for the value
        raise VersionError(
            f"the repository's own git configuration has a filter of an odd name: {printable(name)}",
            hint="remove it from .git/config, or give it another name",
        )
    lacking = not all(commands.values())
    settings = {**commands, "required": str(strict).lower()} if lacking else commands
    yield from (f"filter.{name}.{setting}={value}" for setting, value in settings.items())


def _commands(keys: Collection[str]) -> list[tuple[str, str]]:
    """(filter, clean | smudge | process) of the keys that set one."""
    return [(match[1], match[2]) for key in sorted(keys) if (match := re.fullmatch(_FILTER, key))]


def _may_name_programs(runner: Runner) -> bool:
    try:
        places = discovery.places(runner.folder)
        files = (places.common_dir / "config", places.git_dir / "config.worktree")
        return any(re.search(_WORDS, file.read_bytes()) for file in files if file.exists())
    except (PerfError, OSError):
        return True


def _settings(runner: Runner) -> tuple[set[str], dict[str, str]]:
    """(keys that the repository's own configuration sets, values of all others)."""
    try:
        fields = runner.run("config", "--list", "--show-scope", "-z").split(b"\0")[:-1]
    except PerfError:  # git before 2.26 knows no scopes
        items = runner.run("config", "--local", "--includes", "--list", "-z").split(b"\0")[:-1]
        return {os.fsdecode(item.partition(b"\n")[0]) for item in items}, {}
    own_settings: set[str] = set()
    outer: dict[str, str] = {}
    for scope, item in zip(fields[::2], fields[1::2], strict=True):
        key, _, value = os.fsdecode(item).partition("\n")
        if scope.decode("ascii") in _OWN:
            own_settings.add(key)
        else:
            outer[key] = value
    return own_settings, outer


def _submodules(runner: Runner) -> Iterator[Runner]:
    """Runners in the submodules of a tree, and in theirs: git looks into all of them when it looks at the tree."""
    for path in _gitlinks(runner):
        if os.path.lexists(path / ".git"):
            inner = runner._replace(folder=path, options=())
            yield inner
            with contextlib.suppress(PerfError):
                yield from _submodules(inner)


def _gitlinks(runner: Runner) -> list[Path]:
    """Where an index has submodules. Nearly none has, and listing a great one takes long: its bytes tell sooner."""
    try:
        data = (discovery.places(runner.folder).git_dir / "index").read_bytes()
    except (PerfError, OSError):
        return []
    if _GITLINK_MODE not in data and b"link" not in data:
        return []
    items = runner.run("ls-files", "--stage", "-z").split(b"\0")[:-1]
    return [runner.folder / os.fsdecode(item.partition(b"\t")[2]) for item in items if item.startswith(b"160000 ")]
