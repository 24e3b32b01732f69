"""Load, check, make, call, block and explain plugins. The only module that knows stevedore and pluggy.

stevedore loads one driver by name, from its cache of entry points; when it finds none or several, or one that
nothing announces any more, the metadata are asked directly, since that cache can be stale and does not keep the
distribution. What they say is remembered (`perfcore.plugins.cache`), so that the next command needs neither.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

from perfcore.config.settings import options_of, structure
from perfcore.config.trust import Trust
from perfcore.errors import PluginError, UntrustedError, UsageError, nearest
from perfcore.hookspecs import KINDS, Kind
from perfcore.plugins import cache, installed, local
from perfcore.plugins.guard import guard
from perfcore.plugins.installed import HOOK, Found, brief
from perfcore.plugins.local import Own
from perfcore.plugins.observers import Observer, Warn, accepted, check_observer, harmless, is_known, target_of, wrapper

PROJECT = "perfcore"


class Described(NamedTuple):
    """A plugin for `perf plugins`: `state` is what would happen if it were used."""

    found: Found
    state: Literal["ok", "disabled", "broken", "conflict", "untrusted"]
    reason: str = ""
    help: str = ""
    settings: type[Any] | None = None


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
        self._observers: dict[str, list[tuple[Found, Observer]]] = {}
        self._loaded: dict[tuple[str, str], tuple[Found, type[Any]]] = {}
        self._own: dict[Found, Own] = {}
        self._trust: Trust | None = None

    def bring(self, own: Sequence[Own], trust: Trust) -> None:
        """Take plugins that a configuration names beside those that are installed, in the place of those of an
        earlier call."""
        if not own and not self._own:
            return
        self._own = {each.found(trust): each for each in own}
        self._trust = trust
        self._loaded.clear()
        self._observers.clear()
        self.__dict__.pop("_announced", None)

    @property
    def _own_names(self) -> set[tuple[str, str]]:
        return {(found.kind, found.name) for found in self._own}

    @property
    def own(self) -> tuple[Own, ...]:
        """Those that a configuration names."""
        return tuple(self._own.values())

    def is_own(self, found: Found) -> bool:
        """Whether a configuration names it, so that nobody else can import it."""
        return found in self._own

    def found(self, kind: str) -> tuple[Found, ...]:
        """Every plugin of a kind that is not disabled, sorted by name."""
        return tuple(found for found in self._announced[kind] if not self.is_disabled(found))

    def names(self, kind: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(found.name for found in self.found(kind)))

    def is_announced(self, kind: str, name: str) -> bool:
        """Whether a plugin of this name is installed, disabled or not."""
        return any(found.name == name for found in self._announced[kind])

    def is_disabled(self, found: Found) -> bool:
        names = {found.name, found.name.rpartition(":")[2]}
        blocked = self.disabled & (names | {f"{found.kind}:{name}" for name in names})
        distribution = installed.normalized(found.distribution)
        return bool(blocked) or distribution in map(installed.normalized, self.disabled)

    def find(self, kind: str, name: str) -> Found:
        """The one plugin of this name. PluginError when there is none (naming the nearest) or several."""
        candidates = [found for found in self._announced[kind] if found.name == name]
        usable = [found for found in candidates if not self.is_disabled(found)]
        if candidates and not usable:
            raise PluginError(f"{candidates[0]} is disabled", hint="see `plugins.disabled`, PERF_DISABLED_PLUGINS")
        if not usable:
            raise _unknown(kind, name, self.names(kind))
        if len(usable) > 1:
            raise _conflict(usable)
        return usable[0]

    def load(self, kind: str, name: str) -> tuple[Found, type[Any]]:
        """The driver class of this name, found by stevedore and checked by pluggy, once in a process."""
        known = self._loaded.get((kind, name))
        if known is None or self.is_disabled(known[0]):
            asked_directly = self.disabled or (kind, name) in self._own_names
            if self._recalled is not None:
                with contextlib.suppress(PluginError):  # the metadata may say something else by now
                    return self._take(self.find(kind, name))
                self._forget()
            known = self._take((None if asked_directly else _find_by_stevedore(kind, name)) or self.find(kind, name))
            self._remember()
        return known

    def _take(self, found: Found) -> tuple[Found, type[Any]]:
        driver = self.imported(found)
        _check(found, driver)
        self._loaded[found.kind, found.name] = found, driver
        return found, driver

    def settings(
        self, kind: str, name: str, values: Mapping[str, Any] | None = None, *, others: Sequence[str] = ()
    ) -> Any:
        """The Settings of a driver, made of these option values and of the environment; None where it has none.
        `others` are options that can be written in the same place, to be named in an error."""
        found, driver = self.load(kind, name)
        cls, where = settings_of(driver), f"{kind} {name}"
        if cls is None:
            for key in values or ():
                raise UsageError(f"{where}: unknown option {key!r}", hint=nearest(str(key), others) or "it has none")
            return None
        with guard(found, "settings"):
            return structure(cls, values or {}, where=where, environ=self.environ, others=others)

    def make(
        self, kind: str, name: str, values: Mapping[str, Any] | None = None, *, place: Path | None = None
    ) -> tuple[Found, Any]:
        """A driver made with its Settings from these option values."""
        return self.construct(kind, name, self.settings(kind, name, values), place=place)

    def construct(self, kind: str, name: str, settings: Any, *, place: Path | None = None) -> tuple[Found, Any]:
        """A driver made with these Settings."""
        found, driver = self.load(kind, name)
        arguments: list[Any] = [place] if KINDS[kind].placed else []
        if settings is not None:
            arguments.append(settings)
        with guard(found, "construction"):
            return found, driver(*arguments)

    def phases(self, found: Found, driver: Any) -> Phases:
        """The driver's phases as calls that observers can wrap."""
        return Phases(self, found, driver)

    def emit(self, event: str, **arguments: Any) -> list[Mapping[str, Any]]:
        """Tell an event to everybody who listens, and give the answers; failures are warnings."""
        answers: list[Mapping[str, Any]] = []
        for found, listener in self.observing(event):
            with harmless(found, self.warn):
                answer = listener(**accepted(listener, arguments))
                if answer is not None:
                    answers.append(_answer(answer))
        return answers

    def observing(self, target: str) -> list[tuple[Found, Observer]]:
        """The observers of a phase (`collector.collect`) or event, loaded; broken ones are warned about."""
        if not self.observers:
            return []
        if target not in self._observers:
            self._observers[target] = list(self._load_observers(target))
        return self._observers[target]

    def imported(self, found: Found) -> Any:
        """What the entry point or the configuration names, unchecked."""
        own = self._own.get(found)
        if own is None or self._trust is None:
            return installed.import_target(found)
        return local.imported(own, self._trust)

    def describe(self, kinds: Sequence[str] = ()) -> Iterator[Described]:
        """Every plugin there is by the metadata, imported to see whether it works."""
        self._forget()
        for kind in kinds or (*KINDS, HOOK):
            for found in self._announced[kind]:
                yield self._describe(found)

    @functools.cached_property
    def _recalled(self) -> Mapping[str, tuple[Found, ...]] | None:
        """What is installed, if that was known when this was asked for first."""
        place = self._memory()
        return None if place is None else cache.recall(place)

    def _forget(self) -> None:
        self._recalled = None
        self.__dict__.pop("_announced", None)

    def _remember(self) -> None:
        """Keep what is installed for the next command."""
        place = self._memory()
        if place is not None and self._recalled is None:
            self._recalled = installed.announced()
            cache.keep(place, self._recalled)

    @functools.cached_property
    def _announced(self) -> Mapping[str, tuple[Found, ...]]:
        announced = self._recalled or installed.announced()
        if not self._own:
            return announced
        return {
            kind: tuple(sorted((*found, *self._own_beside(kind, found)), key=lambda each: each.name))
            for kind, found in announced.items()
        }

    def _own_beside(self, kind: str, found: Sequence[Found]) -> Iterator[Found]:
        """Those of a kind; one that nobody has trusted is no rival of what is installed."""
        names = {each.name for each in found}
        for each, own in self._own.items():
            if each.kind == kind and (each.name not in names or (self._trust and self._trust.covers(own.layer))):
                yield each

    def _describe(self, found: Found) -> Described:
        if self.is_disabled(found):
            return Described(found=found, state="disabled")
        rivals = [f for f in self.found(found.kind) if f.name == found.name and f != found]
        if found.kind != HOOK and rivals:
            listed = ", ".join(f"{rival.distribution} {rival.version}" for rival in rivals)
            return Described(found=found, state="conflict", reason=f"also brought by {listed}")
        try:
            plugin = self.imported(found)
            (check_observer if found.kind == HOOK else _check)(found, plugin)
        except UntrustedError as error:
            return Described(found=found, state="untrusted", reason=f"{error.message} ({error.hint})")
        except PluginError as error:
            hint = f" ({error.hint})" if error.hint and found.kind == HOOK else ""
            return Described(found=found, state="broken", reason=error.message + hint)
        settings = None if found.kind == HOOK else settings_of(plugin)
        return Described(found=found, state="ok", help=installed.first_line(plugin), settings=settings)

    def _load_observers(self, target: str) -> Iterator[tuple[Found, Observer]]:
        for found in self.found(HOOK):
            if target_of(found) != target and is_known(target_of(found)):
                continue
            try:
                observer = self.imported(found)
                check_observer(found, observer)
            except (PluginError, UntrustedError) as error:
                self.warn(f"{error} (left out{'; ' + error.hint if error.hint else ''})")
            else:
                yield found, observer


class Phases:
    """Calls the wrapped phases of one driver through pluggy, with exactly one active implementation."""

    def __init__(self, plugins: Plugins, found: Found, driver: Any) -> None:
        self.found = found
        kind = KINDS[found.kind]
        self._manager = _manager(kind)
        self._manager.register(driver)
        for method in kind.wrapped:
            for observer, function in plugins.observing(f"{kind.name}.{method}"):
                wrapped = wrapper(observer, function, getattr(kind.protocol, method), plugins.warn)
                self._manager.register(SimpleNamespace(**{method: wrapped}))

    def call(self, method: str, **arguments: Any) -> Any:
        """One phase. What the driver raises that is not a PerfError becomes a PluginError naming the phase."""
        hook = getattr(self._manager.hook, f"{self.found.kind}_{method}")
        with guard(self.found, method):
            return hook(**arguments)


def settings_of(driver: type[Any]) -> type[Any] | None:
    """The Settings class of a driver, if it has options."""
    settings: type[Any] | None = getattr(driver, "Settings", None)
    return settings


def owner_of(error: BaseException) -> str | None:
    """The distribution in whose code an exception was raised, if that is not perfcore's own."""
    trace, packages = error.__traceback__, []
    while trace is not None:
        packages.append(str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
        trace = trace.tb_next
    own = [package for package in packages if package.startswith(local.PREFIX) and package in sys.modules]
    if own:
        return str(sys.modules[own[-1]].__file__)
    owners = {f.target.partition(":")[0].partition(".")[0]: f for kind in installed.announced().values() for f in kind}
    theirs = [owners[package] for package in reversed(packages) if package in owners and package != PROJECT]
    return f"{theirs[0].distribution} {theirs[0].version}" if theirs else None


def forget_installed() -> None:
    """Look anew at what is installed: for a process in which that changes, as in tests."""
    from stevedore import ExtensionManager

    importlib.invalidate_caches()
    ExtensionManager.ENTRY_POINT_CACHE.clear()
    installed.announced_as.cache_clear()


def _find_by_stevedore(kind: str, name: str) -> Found | None:
    """What stevedore finds and can load; None for all its other outcomes, which `Plugins.find` explains."""
    from stevedore.driver import DriverManager

    try:
        # 5.10 deprecates the option, and its DriverManager does not pass on the callback that should replace it.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The warn_on_missing_entrypoint option", DeprecationWarning)
            manager: DriverManager[Any] = DriverManager(
                KINDS[kind].group, name, on_load_failure_callback=_reraise, warn_on_missing_entrypoint=False
            )
    except (Exception, SystemExit):  # the plugin's own: it is imported again, and then its failure is told
        return None
    extensions = list(manager)
    return installed.announced_as(kind, extensions[0].entry_point) if len(extensions) == 1 else None


def _reraise(manager: object, point: object, error: BaseException) -> None:
    raise error


def _check(found: Found, driver: Any) -> None:
    """PluginError unless the class fits the specification of its kind, and its options can be shown."""
    kind = KINDS[found.kind]
    if not isinstance(driver, type):
        raise _unfit(found, f"{found.target} is not a class")
    missing = [method for method in kind.required if not callable(getattr(driver, method, None))]
    if missing:
        raise _unfit(found, f"{driver.__qualname__} lacks {', '.join(missing)} of the kind {kind.name}")
    with guard(found, "loading"):
        for reason in misfits(kind, object.__new__(driver)):  # only its methods are looked at
            raise _unfit(found, f"does not fit the kind {kind.name}: {reason}")
    if settings_of(driver) is not None:
        try:
            options_of(settings_of(driver))  # type: ignore[arg-type]
        except Exception as error:
            raise _unfit(found, f"has no usable Settings: {brief(error)}") from error


def misfits(kind: Kind, driver: Any) -> Iterator[str]:
    """Why the methods of a driver do not fit its kind. What observers can wrap is called by pluggy, which refuses
    arguments that the specification lacks, and may leave out arguments at the end; the others take all of them."""
    if kind.wrapped:
        yield from _refused_by_pluggy(kind, driver)
    for method in kind.methods:
        function, specified = getattr(driver, method, None), getattr(kind.protocol, method)
        if not callable(function):
            continue
        if _plain(function) is _plain(specified):
            yield f"it inherits {method} from the specification, where it does nothing"
        elif method in kind.shortened:
            if not _fits_shortened(inspect.signature(function), inspect.signature(specified)):
                yield f"it has {method}{inspect.signature(function)}, the specification {method}{_shown(specified)}"
        elif not _fits(inspect.signature(function), _arguments(kind, method), leaving_out=method in kind.wrapped):
            wanted = f"{method}({', '.join(_arguments(kind, method))})"
            yield f"it has {method}{inspect.signature(function)}, the specification {wanted}"


def _refused_by_pluggy(kind: Kind, driver: Any) -> Iterator[str]:
    import pluggy

    try:
        _manager(kind).register(driver)
    except pluggy.PluginValidationError as error:
        yield " ".join(str(error).split())


def _fits(signature: inspect.Signature, wanted: Sequence[str], *, leaving_out: bool) -> bool:
    parameters = list(signature.parameters.values())
    theirs, own = parameters[: len(wanted)], parameters[len(wanted) :]
    return (
        [p.name for p in theirs] == list(wanted[: len(theirs)])
        and all(p.default is p.empty and p.kind is not p.KEYWORD_ONLY for p in theirs)
        and all(p.default is not p.empty for p in own)
        and (leaving_out or len(theirs) == len(wanted))
    )


def _fits_shortened(signature: inspect.Signature, specified: inspect.Signature) -> bool:
    """Whether a method has the arguments of the specification, those with a default in the end left out or not."""
    wanted = list(specified.parameters.values())[1:]  # without `self`
    theirs = list(signature.parameters.values())
    required = [parameter.name for parameter in wanted if parameter.default is parameter.empty]
    names = [parameter.name for parameter in wanted][: len(theirs)]
    return (
        len(theirs) >= len(required)
        and [parameter.name for parameter in theirs[: len(wanted)]] == names
        and all(parameter.default is parameter.empty for parameter in theirs[: len(required)])
        and all(parameter.default is not parameter.empty for parameter in theirs[len(required) :])
    )


def _shown(specified: Any) -> str:
    parameters = list(inspect.signature(specified).parameters.values())[1:]
    return f"({', '.join(str(parameter).partition(':')[0] for parameter in parameters)})"


def _plain(function: Any) -> Any:
    return getattr(function, "__func__", function)


def _arguments(kind: Kind, method: str) -> tuple[str, ...]:
    names = inspect.signature(getattr(kind.protocol, method)).parameters
    return tuple(name for name in names if name not in ("self", "cls"))


@functools.cache
def _manager_class() -> type[Any]:
    """A pluggy manager for whom method `m` of a driver of kind `k` implements the specification `k_m`."""
    import pluggy

    class Manager(pluggy.PluginManager):
        kind: Kind

        def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
            if name not in self.kind.methods or not callable(getattr(plugin, name)):
                return None
            return {
                "wrapper": isinstance(plugin, SimpleNamespace),
                "hookwrapper": False,
                "optionalhook": False,
                "tryfirst": False,
                "trylast": False,
                "specname": f"{self.kind.name}_{name}",
            }

        def parse_hookspec_opts(self, module_or_class: object, name: str) -> Any:
            if not name.startswith(f"{self.kind.name}_"):
                return None
            return {"firstresult": True, "historic": False, "warn_on_impl": None, "warn_on_impl_args": None}

    return Manager


def _manager(kind: Kind) -> Any:
    manager = _manager_class()(PROJECT)
    manager.kind = kind
    manager.add_hookspecs(
        SimpleNamespace(**{f"{kind.name}_{method}": getattr(kind.protocol, method) for method in kind.methods})
    )
    return manager


def _answer(answer: Any) -> Mapping[str, Any]:
    """What a listener answered, which is kept as JSON."""
    if not isinstance(answer, Mapping):
        raise TypeError(f"it answered with {type(answer).__name__}, not with a mapping")
    plain: Mapping[str, Any] = json.loads(json.dumps(dict(answer), allow_nan=False))
    return plain


def _conflict(rivals: Sequence[Found]) -> PluginError:
    what = f"{rivals[0].kind} {rivals[0].name!r}"
    if len({found.distribution for found in rivals}) == 1:
        targets = " and ".join(found.target for found in rivals)
        return PluginError(f"{rivals[0].distribution} {rivals[0].version} brings more than one {what}: {targets}")
    return PluginError(
        f"several distributions bring a {what}: {' and '.join(f'{f.distribution} {f.version}' for f in rivals)}",
        hint="uninstall one, or put its distribution into `plugins.disabled`",
    )


def _unknown(kind: str, name: str, known: Sequence[str]) -> PluginError:
    hint = nearest(name, known) or (f"there are {', '.join(known)}" if known else f"no {kind} is installed")
    usual = {"collector": "collect", "postprocessor": "postprocess", "notifier": "notify"}.get(kind, kind)
    return PluginError(
        f"there is no {kind} {name!r}",
        hint=f"{hint}{'' if hint.endswith('?') else ';'} it may be in a distribution such as perfcore-{usual}-{name}",
    )


def _unfit(found: Found, reason: str) -> PluginError:
    return PluginError(reason, plugin=str(found), phase="loading")
