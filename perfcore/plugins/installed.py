"""What is installed: the plugins that distributions announce in their metadata, and importing one of them.

Asking the metadata of everything that is installed takes longer than most commands, so the answer is kept in a small
file of the user's cache. The file is believed while the folders from which Python imports hold the same distributions
with the same files of entry points, for this interpreter and this perfcore; and where its answer does not hold, the
metadata are asked again. It may be removed at any time.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore import __version__, files
from perfcore.digests import sha1
from perfcore.errors import PluginError
from perfcore.hookspecs import HOOKS_GROUP, KINDS
from perfcore.named_tuple import NamedTuple

if TYPE_CHECKING:
    from importlib import metadata

HOOK = "hook"
GROUPS: Mapping[str, str] = {**{name: kind.group for name, kind in KINDS.items()}, HOOK: HOOKS_GROUP}
COMMANDS: Mapping[str, str] = {
    verb: distribution
    for distribution, verbs in {
        "perfcore-command-ack": "check.ack check.triage",
        "perfcore-command-bisect": "bisect",
        "perfcore-command-check": "check",
        "perfcore-command-compare": "compare",
        "perfcore-command-config": "config",
        "perfcore-command-demo": "demo",
        "perfcore-command-derive": "aggregate postprocess",
        "perfcore-command-diff": "diff",
        "perfcore-command-doctor": "doctor",
        "perfcore-command-exchange": "export import",
        "perfcore-command-plugins": "plugins",
        "perfcore-command-publish": "publish",
        "perfcore-command-remote": "fetch pull push remote",
        "perfcore-command-run": "run",
        "perfcore-command-show": "show",
        "perfcore-command-store": "fsck gc rm tag",
        "perfcore-testing": "plugins.check plugins.new",
        "perfcore-view-history": "history",
    }.items()
    for verb in verbs.split()
}
"""The distributions of commands that users expect and that may not be installed. Errors name them."""
_SUFFIXES = (".dist-info", ".egg-info", ".egg")  # of metadata: wheels, then what setuptools left before them
_MANY = 50  # interpreters and environments of one user; the oldest files go first
_LAYOUT = "4"  # raised with every change of the fields of PluginInfo, so that no old file is read as a new one

_SYSTEM = "Operating System :: "  # trove classifiers: https://pypi.org/classifiers
_ANYWHERE = ("OS Independent",)
_UNIX = ("POSIX", "POSIX :: Other", "Unix")  # macOS is one, too
_SYSTEMS: Mapping[str, tuple[str, ...]] = {
    "linux": (*_UNIX, "POSIX :: Linux"),
    "darwin": (*_UNIX, "MacOS", "MacOS :: MacOS X"),
    "win32": ("Microsoft", "Microsoft :: Windows"),
}


class PluginInfo(NamedTuple):
    """A plugin as the metadata of its distribution announce it; nothing of it is imported yet. The kind of an
    observer is `hook`. `systems` are the operating systems that it is for, as far as it names any; `misfit` is
    its requirement on perfcore-core if the installed core does not meet it; two that differ only in these are equal."""

    kind: str
    name: str
    target: str
    distribution: str
    version: str
    misfit: str = ""
    systems: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """The name that no other distribution can have, such as `perfcore-collect-time:time`."""
        return f"{normalized(self.distribution)}:{self.name}"

    def is_called(self, name: str) -> bool:
        """Whether this is its name, or its full name."""
        distribution, colon, plain = name.rpartition(":")
        return name == self.name or bool(colon and f"{normalized(distribution)}:{plain}" == self.full_name)

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} ({self.distribution} {self.version})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PluginInfo) and self[:5] == other[:5]

    def __hash__(self) -> int:
        return hash(self[:5])


Announced = Mapping[str, tuple[PluginInfo, ...]]


def announced() -> Announced:
    """Every plugin by kind, sorted by name, from one pass over the metadata of everything that is installed."""
    from importlib import metadata  # imports a parser of mail: nobody pays for it who remembers what is installed

    points = metadata.entry_points()
    read = functools.cache(_read_distribution)
    return {
        kind: tuple(
            sorted(
                {PluginInfo(kind, point.name, point.value, *read(point.dist)) for point in points.select(group=group)},
                key=lambda info: (info.name, info.distribution, info.target),
            )
        )
        for kind, group in GROUPS.items()
    }


@functools.cache  # as entry points are remembered; `plugins.forget_installed` forgets both
def announced_as(kind: str, point: metadata.EntryPoint) -> PluginInfo | None:
    """The plugin behind an entry point that has lost its distribution; None where nothing announces it any more,
    or more than one distribution does."""
    from importlib import metadata

    read = functools.cache(_read_distribution)
    named = metadata.entry_points(group=GROUPS[kind], name=point.name)
    infos = {PluginInfo(kind, candidate.name, candidate.value, *read(candidate.dist)) for candidate in named}
    same = [info for info in infos if info.target == point.value]
    return same[0] if len(infos) == 1 and same else None


class Remembered(NamedTuple):
    """What was announced; and of drivers that were compared with their contract, by kind and target, the stamps of the
    files that they were read from (`perfcore.plugins.drivers.code_stamp`)."""

    plugins: Announced
    fitting: Mapping[str, str] = {}


def recall(place: Path) -> Remembered | None:
    """Every plugin by kind, as it was announced; None where that is not known, or not any more."""
    data = files.cached(_file(place))
    stamp, *lines = (data or b"").decode("utf-8", "surrogateescape").split("\n")
    if not stamp or stamp != _stamp():
        return None
    rows = [line.split("\0") for line in lines]
    infos = [PluginInfo._make((*row[:6], tuple(row[6:]))) for row in rows if row[0]]
    plugins = {kind: tuple(info for info in infos if info.kind == kind) for kind in GROUPS}
    return Remembered(plugins, {row[1]: row[2] for row in rows if not row[0]})


def remember(place: Path, memory: Remembered) -> None:
    """Remember it. A folder that cannot be written costs time, nothing else."""
    rows: list[Sequence[str]] = [(*info[:6], *info.systems) for infos in memory.plugins.values() for info in infos]
    rows += [("", name, stamp) for name, stamp in memory.fitting.items()]
    text = "\n".join((_stamp() or "", *map("\0".join, rows)))
    if text.startswith("\n") or text.count("\n") != len(rows) or text.count("\0") != sum(map(len, rows)) - len(rows):
        return  # a text that holds what separates them
    files.cache(_file(place), text.encode("utf-8", "surrogateescape"))
    forget_oldest(place)


def forget_oldest(place: Path) -> None:
    """Remove the files of a cache that were written before the newest 50."""
    with contextlib.suppress(OSError):
        for old in sorted(place.iterdir(), key=os.path.getmtime)[:-_MANY]:
            old.unlink()


def _file(place: Path) -> Path:
    """One for each interpreter and its folders."""
    setup = "\0".join((_LAYOUT, sys.executable, sys.prefix, __version__, *sys.path))
    return place / sha1(setup.encode("utf-8", "replace")).hexdigest()


def _stamp() -> str | None:
    """Another one whenever a distribution comes, goes or announces something else; None where distributions can
    come from elsewhere than from folders."""
    if any(_finds_elsewhere(finder) for finder in sys.meta_path):
        return None
    lines = "\n".join(line for folder in sys.path for line in (folder, *_distributions(folder or ".")))
    return sha1(lines.encode("utf-8", "surrogateescape")).hexdigest()


def _finds_elsewhere(finder: object) -> bool:
    """Whether a finder of modules announces distributions that are in no folder of `sys.path`."""
    # The backport importlib_metadata, which many libraries bring, puts its own finder in place of Python's.
    ours = finder is PathFinder or type(finder).__module__ == "importlib_metadata"
    return hasattr(finder, "find_distributions") and not ours


def _distributions(folder: str) -> Iterator[str]:
    """What tells the distributions in a folder apart; of a file, when it was changed."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_SUFFIXES))
    except OSError:
        yield file_state(folder)
        return
    for name in names:
        yield name
        points = "EGG-INFO/entry_points.txt" if name.endswith(".egg") else "entry_points.txt"
        yield file_state(os.path.join(folder, name, points))


def file_state(path: str) -> str:
    """Another one whenever the file is changed or replaced; empty where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_mtime_ns:x}.{status.st_size:x}.{status.st_ino:x}"


def import_target(info: PluginInfo) -> Any:
    """What the entry point names. PluginError where it is for other systems, cannot be imported, or lacks it."""
    _check_platform(info)
    if info.misfit:
        from perfcore.plugins.requirement import CORE

        raise PluginError(
            f"needs {info.misfit}, and {__version__} is installed",
            plugin=str(info),
            phase="loading",
            hint=f"`pip install --upgrade {CORE} {info.distribution}`, or put it into `plugins.disabled`",
        )
    name, _, attribute = (text.strip() for text in info.target.partition("[")[0].partition(":"))  # without extras
    try:
        value: Any = importlib.import_module(name)
    except (Exception, SystemExit) as error:  # a module may call sys.exit
        raise PluginError(
            f"cannot be imported: {brief(error)}",
            plugin=str(info),
            phase="loading",
            hint=f"`perf plugins list` shows all; `pip show {info.distribution}` says what it needs",
        ) from error
    try:
        return functools.reduce(getattr, filter(None, attribute.split(".")), value)
    except AttributeError as error:
        raise PluginError(f"module {name} has no {attribute}", plugin=str(info), phase="loading") from error


def normalized(distribution: str) -> str:
    """The name of a distribution as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()  # PEP 503


def brief(error: BaseException) -> str:
    """An exception in one line."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def first_line(item: Any) -> str:
    """The first sentence of its documentation, in one line however it is wrapped there."""
    import inspect

    paragraph = " ".join((inspect.getdoc(item) or "").strip().split("\n\n")[0].split())
    sentence, stop, _ = paragraph.partition(". ")
    return sentence + stop.strip()


class UnknownGroup(NamedTuple):
    """A group of entry points that looks like one of perfcore's and is none: nothing in it is ever loaded."""

    group: str
    names: tuple[str, ...]
    distribution: str

    @property
    def nearest(self) -> str | None:
        """The group that is probably meant."""
        import difflib

        return next(iter(difflib.get_close_matches(self.group, list(GROUPS.values()), 1)), None)

    def __str__(self) -> str:
        listed = ", ".join(self.names)
        return f"{self.distribution} announces {listed} in {self.group!r}, which is no group" + (
            f": did you mean '{self.nearest}'?" if self.nearest else ""
        )


def unknown_groups() -> list[UnknownGroup]:
    """The groups `perfcore.*` of all distributions that no kind has, sorted."""
    from importlib import metadata

    points = metadata.entry_points()
    names: dict[tuple[str, str], list[str]] = {}
    for group in points.groups:
        if group.startswith("perfcore.") and group not in GROUPS.values():
            for point in points.select(group=group):
                names.setdefault((group, _read_distribution(point.dist)[0]), []).append(point.name)
    return [UnknownGroup(group, tuple(sorted(points)), owner) for (group, owner), points in sorted(names.items())]


def requirement(distribution: str) -> str:
    """What pip takes for a distribution of perfcore: its folder, where this perfcore runs from its sources."""
    from shlex import join

    folder = Path(__file__).parents[2] / "plugins" / distribution.removeprefix("perfcore-")
    return join(["-e", str(folder)]) if (folder / "pyproject.toml").is_file() else distribution


def _read_distribution(distribution: metadata.Distribution | None) -> tuple[str, str, str, tuple[str, ...]]:
    """Name, version, unmet requirement and systems, as far as a half removed distribution still has them."""
    from perfcore.plugins.requirement import misfit

    fields: Any = None
    with contextlib.suppress(OSError):  # newer readers of metadata raise where the file is gone
        fields = distribution.metadata if distribution is not None else None
    if fields is None:
        return "unknown", "?", "", ()
    classifiers = fields.get_all("Classifier") or ()
    systems = tuple(c.removeprefix(_SYSTEM) for c in classifiers if c.startswith(_SYSTEM))
    unmet = misfit(fields.get_all("Requires-Dist") or (), __version__)
    return fields.get("Name") or "unknown", fields.get("Version") or "?", unmet, systems


def _check_platform(info: PluginInfo) -> None:
    classifiers = _SYSTEMS.get(sys.platform)
    if classifiers and info.systems and not any(_is_for(classifiers, system) for system in info.systems):
        raise PluginError(
            f"needs {' or '.join(info.systems)}, this is {sys.platform}",
            plugin=str(info),
            phase="loading",
            hint=f"`pip uninstall {info.distribution}`, or put it into `plugins.disabled`",
        )


def _is_for(classifiers: tuple[str, ...], system: str) -> bool:
    return system in (*_ANYWHERE, *classifiers) or system.startswith(f"{classifiers[-1]} :: ")
