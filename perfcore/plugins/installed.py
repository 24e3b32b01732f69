"""What is installed: the plugins that distributions announce in their metadata, and importing one of them."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import PluginError
from perfcore.hookspecs import HOOKS_GROUP, KINDS

if TYPE_CHECKING:
    from importlib import metadata

HOOK = "hook"
GROUPS: Mapping[str, str] = {**{name: kind.group for name, kind in KINDS.items()}, HOOK: HOOKS_GROUP}
_SYSTEM = "Operating System :: "
_ANYWHERE = ("OS Independent",)
_UNIX = ("POSIX", "POSIX :: Other", "Unix")
_SYSTEMS: Mapping[str, tuple[str, ...]] = {
    "linux": (*_UNIX, "POSIX :: Linux"),
    "darwin": (*_UNIX, "MacOS", "MacOS :: MacOS X"),
    "win32": ("Microsoft", "Microsoft :: Windows"),
}


@attrs.frozen(kw_only=True)
class Found:
    """A plugin as the metadata of its distribution announce it; nothing of it is imported yet. The kind of an
    observer is `hook`. `systems` are the operating systems that it is for, as far as it names any."""

    kind: str
    name: str
    target: str
    distribution: str
    version: str
    systems: tuple[str, ...] = attrs.field(default=(), eq=False, repr=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} ({self.distribution} {self.version})"


def announced() -> Mapping[str, tuple[Found, ...]]:
    """Every plugin by kind, sorted by name, from one pass over the metadata of everything that is installed."""
    from importlib import metadata  # imports a parser of mail: nobody pays for it who remembers what is installed

    points = metadata.entry_points()
    read = functools.cache(_said_by)
    return {
        kind: tuple(
            sorted(
                {_found(kind, point, *read(point.dist)) for point in points.select(group=group)},
                key=lambda found: (found.name, found.distribution, found.target),
            )
        )
        for kind, group in GROUPS.items()
    }


@functools.cache  # as entry points are remembered; `plugins.forget_installed` forgets both
def announced_as(kind: str, point: metadata.EntryPoint) -> Found | None:
    """The plugin behind an entry point that has lost its distribution; None where nothing announces it any more,
    or more than one distribution does."""
    from importlib import metadata

    read = functools.cache(_said_by)
    named = metadata.entry_points(group=GROUPS[kind], name=point.name)
    found = {_found(kind, each, *read(each.dist)) for each in named}
    same = [each for each in found if each.target == point.value]
    return same[0] if len(found) == 1 and same else None


def import_target(found: Found) -> Any:
    """What the entry point names. PluginError where it is for other systems, cannot be imported, or lacks it."""
    _check_platform(found)
    name, _, attribute = (part.strip() for part in found.target.partition("[")[0].partition(":"))
    try:
        value: Any = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"cannot be imported: {brief(error)}",
            plugin=str(found),
            phase="loading",
            hint=f"`perf plugins list` shows all; `pip show {found.distribution}` says what it needs",
        ) from error
    try:
        return functools.reduce(getattr, filter(None, attribute.split(".")), value)
    except AttributeError as error:
        raise PluginError(f"module {name} has no {attribute}", plugin=str(found), phase="loading") from error


def normalized(distribution: str) -> str:
    """The name of a distribution as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def brief(error: BaseException) -> str:
    """An exception in one line."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def first_line(item: Any) -> str:
    """The first sentence of its documentation, in one line however it is wrapped there."""
    paragraph = " ".join((inspect.getdoc(item) or "").strip().split("\n\n")[0].split())
    sentence, stop, _ = paragraph.partition(". ")
    return sentence + stop.strip()


def _found(kind: str, point: metadata.EntryPoint, name: str, version: str, systems: tuple[str, ...]) -> Found:
    return Found(kind=kind, name=point.name, target=point.value, distribution=name, version=version, systems=systems)


def _said_by(distribution: metadata.Distribution | None) -> tuple[str, str, tuple[str, ...]]:
    """Name, version and systems: what of them a half removed distribution still says."""
    known: Any = distribution.metadata if distribution is not None else None
    if known is None:
        return "unknown", "?", ()
    classifiers = known.get_all("Classifier") or ()
    systems = tuple(c.removeprefix(_SYSTEM) for c in classifiers if c.startswith(_SYSTEM))
    return known.get("Name") or "unknown", known.get("Version") or "?", systems


def _check_platform(found: Found) -> None:
    here = _SYSTEMS.get(sys.platform)
    if here and found.systems and not any(_is_for(here, system) for system in found.systems):
        raise PluginError(
            f"needs {' or '.join(found.systems)}, this is {sys.platform}",
            plugin=str(found),
            phase="loading",
            hint=f"`pip uninstall {found.distribution}`, or put it into `plugins.disabled`",
        )


def _is_for(here: tuple[str, ...], system: str) -> bool:
    return system in (*_ANYWHERE, *here) or system.startswith(f"{here[-1]} :: ")
