"""The plugins of this environment: find, load, make and call them.

stevedore loads one driver by name, from its cache of entry points; when it finds none or several, or one that
nothing announces any more, the metadata are asked directly, since that cache can be stale and does not keep the
distribution. What they say is remembered (`perfcore.plugins.installed`), so that the next command needs neither.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from perfcore.config.trust import Trust
from perfcore.errors import PluginError, UntrustedError, UsageError, nearest
from perfcore.hookspecs import KINDS, D, Kind
from perfcore.plugins import installed
from perfcore.plugins.drivers import check_driver, code_stamp, guard, settings_of
from perfcore.plugins.installed import HOOK, PluginInfo, Remembered

if TYPE_CHECKING:
    from perfcore.plugins.description import Described
    from perfcore.plugins.drivers import Phases
    from perfcore.plugins.local import LocalPlugin
    from perfcore.plugins.observers import Observer, Warn


class Plugins:
    """The plugins of this environment, less those that are disabled.

    `disabled` holds names (`pin`), kinds with names (`collector:time`) or distributions; with `observers` off
    only the drivers that a command asks for by name are loaded. `environ` holds the variables that options may
    be taken from. `warn` is told what went wrong on the side. `memory` gives the folder where it is kept what is
    installed, for the next command; None where that is nowhere.
    """

    def __init__(
        self,
        *,
        disabled: Sequence[str] = (),
        observers: bool = True,
        environ: Mapping[str, str] | None = None,
        warn: Warn = lambda text: None,
        memory: Callable[[], Path | None] = lambda: None,
    ) -> None:
        self.disabled = frozenset(disabled)
        self.observers = observers
        self.environ = environ or {}
        self.warn = warn
        self._memory = memory
        self._observers: dict[str, list[tuple[PluginInfo, Observer]]] = {}
        self._loaded: dict[tuple[str, str], tuple[PluginInfo, type[Any]]] = {}
        self._local: dict[PluginInfo, LocalPlugin] = {}
        self._fitting: dict[str, str] = {}
        self._trust: Trust | None = None

    def register_local(self, plugins: Sequence[LocalPlugin], trust: Trust) -> None:
        """Take plugins that a configuration names beside the installed ones, in place of those of an earlier call."""
        if not plugins and not self._local:
            return
        self._local = {plugin.info(trust): plugin for plugin in plugins}
        self._trust = trust
        self._loaded.clear()
        self._observers.clear()
        self.__dict__.pop("_announced", None)

    @property
    def local(self) -> tuple[LocalPlugin, ...]:
        """Those that a configuration names."""
        return tuple(self._local.values())

    def is_local(self, info: PluginInfo) -> bool:
        """Whether a configuration names it, so that nobody else can import it."""
        return info in self._local

    def infos(self, kind: str) -> tuple[PluginInfo, ...]:
        """Every plugin of a kind that is not disabled, sorted by name."""
        return tuple(info for info in self._announced[kind] if not self.is_disabled(info))

    def names(self, kind: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(info.name for info in self.infos(kind)))

    def usual_collector(self) -> str:
        """`time`, or the first collector where that is not there: what a text proposes to measure with."""
        return min(self.names("collector"), key="time".__ne__, default="time")

    def commands(self) -> tuple[str, ...]:
        """The names of commands; with `observers` off only of those that perfcore's own distributions bring."""
        own = set(installed.COMMANDS.items())
        return tuple(
            info.name
            for info in self.infos("command")
            if self.observers or (info.name, installed.normalized(info.distribution)) in own
        )

    def is_announced(self, kind: str, name: str) -> bool:
        """Whether a plugin of this name is installed, disabled or not."""
        return any(info.name == name for info in self._announced[kind])

    def has(self, kind: str, name: str) -> bool:
        """Whether an enabled plugin has this name or full name."""
        return any(info.is_called(name) for info in self.infos(kind))

    def is_disabled(self, info: PluginInfo) -> bool:
        if not self.disabled:
            return False
        names = {info.name, info.name.rpartition(":")[2]}
        blocked = self.disabled & (names | {f"{info.kind}:{name}" for name in names} | {info.full_name})
        distribution = installed.normalized(info.distribution)
        return bool(blocked) or distribution in map(installed.normalized, self.disabled)

    def find(self, kind: str, name: str) -> PluginInfo:
        """The one plugin of this name, or of this full name such as `perfcore-collect-time:time`. PluginError when
        there is none (naming the nearest) or several."""
        candidates = [info for info in self._announced[kind] if info.is_called(name)]
        usable = [info for info in candidates if not self.is_disabled(info)]
        if candidates and not usable:
            raise PluginError(f"{candidates[0]} is disabled", hint="see `plugins.disabled`, PERF_DISABLED_PLUGINS")
        if not usable:
            for group in installed.unknown_groups():
                self.warn(str(group))
            raise _unknown(kind, name, self.names(kind))
        if len(usable) > 1:
            raise _conflict(usable)
        return usable[0]

    def load(self, kind: str, name: str) -> tuple[PluginInfo, type[Any]]:
        """The driver class of this name, found by stevedore and checked by pluggy, once in a process."""
        loaded = self._loaded.get((kind, name))
        if loaded is not None and not self.is_disabled(loaded[0]):
            return loaded
        loaded = None
        if self._recalled is not None:
            with contextlib.suppress(PluginError):  # the metadata may say something else by now
                loaded = self._take(self.find(kind, name), name)
        if loaded is None:
            if self._recalled is not None:
                self._forget()
            from perfcore.plugins.stevedore_driver import find_driver

            # stevedore knows nothing of disabled plugins, of full names and of plugins in files.
            is_local = any((info.kind, info.name) == (kind, name) for info in self._local)
            asked_directly = self.disabled or ":" in name or is_local
            info = (None if asked_directly else find_driver(kind, name)) or self.find(kind, name)
            loaded = self._take(info, name)
        self._remember()
        return loaded

    def _take(self, info: PluginInfo, name: str) -> tuple[PluginInfo, type[Any]]:
        driver = self.imported(info)
        key, stamp = f"{info.kind}:{info.target}", code_stamp(driver)
        if not stamp or self._recalled is None or self._recalled.fitting.get(key) != stamp:
            check_driver(info, driver)
            if stamp and info not in self._local:
                self._fitting[key] = stamp
        self._loaded[info.kind, name] = info, driver
        return info, driver

    def settings(
        self, kind: str, name: str, values: Mapping[str, Any] | None = None, *, others: Sequence[str] = ()
    ) -> Any:
        """The Settings of a driver, made of these option values and of the environment; None where it has none.
        `others` are options that can be written in the same place, to be named in an error."""
        info, driver = self.load(kind, name)
        cls, title = settings_of(driver), f"{kind} {name}"
        if cls is None:
            for key in values or ():
                raise UsageError(f"{title}: unknown option {key!r}", hint=nearest(str(key), others) or "it has none")
            return None
        from perfcore.config.settings import structure

        with guard(info, "settings"):
            return structure(cls, values or {}, where=title, environ=self.environ, others=others)

    @overload
    def make(
        self, kind: Kind[D], name: str, values: Mapping[str, Any] | None = None, *, place: Path | None = None
    ) -> tuple[PluginInfo, D]: ...

    @overload
    def make(
        self, kind: str, name: str, values: Mapping[str, Any] | None = None, *, place: Path | None = None
    ) -> tuple[PluginInfo, Any]: ...

    def make(
        self, kind: str | Kind[Any], name: str, values: Mapping[str, Any] | None = None, *, place: Path | None = None
    ) -> tuple[PluginInfo, Any]:
        """A driver made with its Settings from these option values. A kind such as `perfcore.hookspecs.VIEW` gives the
        driver its type; the name of a kind, which is not known before the program runs, does not."""
        kind = kind if isinstance(kind, Kind) else KINDS[kind]
        deferred = not values and isinstance(getattr(self.load(kind.name, name)[1], "Settings", None), str)
        return self.construct(kind, name, None if deferred else self.settings(kind.name, name, values), place=place)

    def construct(self, kind: Kind[D], name: str, settings: Any, *, place: Path | None = None) -> tuple[PluginInfo, D]:
        """A driver made with these Settings."""
        info, driver = self.load(kind.name, name)
        arguments: list[Any] = [place] if kind.placed else []
        if settings is not None:
            arguments.append(settings)
        with guard(info, "construction"):
            return info, driver(*arguments)

    def phases(self, info: PluginInfo, driver: Any) -> Phases:
        """The driver's phases as calls that observers can wrap."""
        from perfcore.plugins.drivers import Phases

        return Phases(self, info, driver)

    def emit(self, event: str, **arguments: Any) -> list[Mapping[str, Any]]:
        """Tell an event to everybody who listens, and give the answers; failures are warnings."""
        answers: list[Mapping[str, Any]] = []
        if not (observers := self.observing(event)):  # the usual case, which needs nothing of observers
            return answers
        from perfcore.plugins.observers import accepted, harmless

        for info, listener in observers:
            with harmless(info, self.warn):
                answer = listener(**accepted(listener, arguments))
                if answer is not None:
                    answers.append(_answer(answer))
        return answers

    def observing(self, target: str) -> list[tuple[PluginInfo, Observer]]:
        """The observers of a phase (`collector.collect`) or event, loaded; broken ones are warned about."""
        if not self.observers:
            return []
        if target not in self._observers:
            self._observers[target] = list(self._load_observers(target))
        return self._observers[target]

    def imported(self, info: PluginInfo) -> Any:
        """What the entry point or the configuration names, unchecked."""
        plugin = self._local.get(info)
        if plugin is None or self._trust is None:
            return installed.import_target(info)
        from perfcore.plugins import local

        return local.imported(plugin, self._trust)

    def describe(self, kinds: Sequence[str] = (), name: str = "") -> Iterator[Described]:
        """Every plugin by the metadata, or those of a name or `kind:name`, imported to see whether it works."""
        from perfcore.plugins.description import describe

        self._forget()
        for kind in kinds or (*KINDS, HOOK):
            for info in self._announced[kind]:
                if not name or info.is_called(name) or name == f"{kind}:{info.name}":
                    yield describe(self, info)

    @functools.cached_property
    def _recalled(self) -> Remembered | None:
        """What is installed, if that was known when this was asked for first."""
        directory = self._memory()
        return None if directory is None else installed.recall(directory)

    def _forget(self) -> None:
        self._recalled = None
        self.__dict__.pop("_announced", None)

    def _remember(self) -> None:
        """Keep what is installed for the next command."""
        directory = self._memory()
        known = self._recalled is not None and self._fitting.items() <= self._recalled.fitting.items()
        if directory is not None and not known:
            earlier = self._recalled or Remembered(installed.announced())
            self._recalled = earlier._replace(fitting={**earlier.fitting, **self._fitting})
            installed.remember(directory, self._recalled)

    @functools.cached_property
    def _announced(self) -> Mapping[str, tuple[PluginInfo, ...]]:
        announced = self._recalled.plugins if self._recalled else installed.announced()
        if not self._local:
            return announced
        return {
            kind: tuple(sorted((*infos, *self._local_beside(kind, infos)), key=lambda info: info.name))
            for kind, infos in announced.items()
        }

    def _local_beside(self, kind: str, infos: Sequence[PluginInfo]) -> Iterator[PluginInfo]:
        """Those of a kind."""
        names = {info.name for info in infos}  # one that nobody has trusted is no rival of what is installed
        for info, plugin in self._local.items():
            if info.kind == kind and (info.name not in names or (self._trust and self._trust.covers(plugin.layer))):
                yield info

    def _load_observers(self, target: str) -> Iterator[tuple[PluginInfo, Observer]]:
        hooks = self.infos(HOOK)
        if not hooks:
            return
        from perfcore.plugins.observers import check_observer, is_known, target_of

        for info in hooks:
            if target_of(info) != target and is_known(target_of(info)):
                continue
            try:
                observer = self.imported(info)
                check_observer(info, observer)
            except (PluginError, UntrustedError) as error:
                self.warn(f"{error} (left out{'; ' + error.hint if error.hint else ''})")
            else:
                yield info, observer


def _answer(answer: Any) -> Mapping[str, Any]:
    """What a listener answered, which is kept as JSON."""
    if not isinstance(answer, Mapping):
        raise TypeError(f"it answered with {type(answer).__name__}, not with a mapping")
    import json

    plain: Mapping[str, Any] = json.loads(json.dumps(dict(answer), allow_nan=False))  # for JSON, which has no NaN
    return plain


def _conflict(rivals: Sequence[PluginInfo]) -> PluginError:
    title = f"{rivals[0].kind} {rivals[0].name!r}"
    if len({info.distribution for info in rivals}) == 1:
        targets = " and ".join(info.target for info in rivals)
        return PluginError(f"{rivals[0].distribution} {rivals[0].version} brings more than one {title}: {targets}")
    return PluginError(
        f"several distributions bring a {title}: {' and '.join(f'{f.distribution} {f.version}' for f in rivals)}",
        hint=f"name one in full ({' or '.join(sorted({f.full_name for f in rivals}))}), uninstall one, or put its "
        "distribution into `plugins.disabled`",
    )


def _unknown(kind: str, name: str, known: Sequence[str]) -> PluginError:
    if kind == "command" and name in installed.COMMANDS:
        distribution = installed.requirement(installed.COMMANDS[name])
        return PluginError(f"the command {name} is not installed", hint=f"pip install {distribution}")
    import shutil

    if kind == "collector" and known and shutil.which(name):
        hint = f"name one first: perf collect {min(known, key='time'.__ne__)} -- COMMAND"
        return PluginError(f"there is no collector {name!r}", hint=hint)
    hint = nearest(name, known) or (f"there are {', '.join(known)}" if known else f"no {kind} is installed")
    if distribution := name.rpartition(":")[0]:
        return PluginError(f"there is no {kind} {name!r}", hint=f"install its distribution: pip install {distribution}")
    usual = {"collector": "collect", "postprocessor": "postprocess", "notifier": "notify"}.get(kind, kind)
    stem = "environment-python" if kind == "environment" and not known else f"{usual}-{name}"
    place = installed.requirement(f"perfcore-{stem}")
    where = f"this one: pip install {place}" if place[:1] == "-" else f"it may be in a distribution such as {place}"
    return PluginError(f"there is no {kind} {name!r}", hint=f"{hint}{'' if hint.endswith('?') else ';'} {where}")
