"""Find, check, load, call, block and explain plugins. The only module that knows stevedore and pluggy.

stevedore loads one driver by name, from its cache of entry points; when it finds none or several,
importlib.metadata is asked directly, since that cache can be stale and does not keep the distribution.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import attrs

from perfcore.errors import PerfError, PluginError, nearest
from perfcore.hookspecs import EVENTS, HOOKS_GROUP, KINDS, Events, Kind
from perfcore.settings import structure

PROJECT = "perfcore"
_PLATFORMS = {"linux": "POSIX :: Linux", "darwin": "MacOS", "win32": "Microsoft :: Windows"}
_OPERATING_SYSTEM = "Operating System :: "

Warn = Callable[[str], None]


@attrs.frozen(kw_only=True)
class Found:
    """A plugin as the metadata of its distribution announce it; nothing of it is imported yet."""

    kind: str
    name: str
    target: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} ({self.distribution} {self.version})"


@attrs.frozen(kw_only=True)
class Described:
    """A plugin for `perf plugins`: `state` is what would happen if it were used."""

    found: Found
    state: Literal["ok", "disabled", "broken", "conflict"]
    reason: str = ""
    help: str = ""
    settings: type[Any] | None = None


class Plugins:
    """The plugins of this environment, less those that are disabled.

    `disabled` holds names (`pin`), kinds with names (`collector:time`) or distributions; with `observers` off
    only the drivers that a command asks for by name are loaded. `warn` is told what went wrong on the side.
    """

    def __init__(self, *, disabled: Sequence[str] = (), observers: bool = True, warn: Warn = lambda text: None) -> None:
        self.disabled = frozenset(disabled)
        self.observers = observers
        self.warn = warn
        self._observers: dict[str, list[tuple[Found, Callable[..., Any]]]] = {}
        self._loaded: dict[tuple[str, str], tuple[Found, type[Any]]] = {}

    def found(self, kind: str) -> tuple[Found, ...]:
        """Every plugin of a kind that is not disabled, sorted by name."""
        return tuple(f for f in _scan(KINDS[kind].group, kind) if not self.is_disabled(f))

    def names(self, kind: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(found.name for found in self.found(kind)))

    def is_disabled(self, found: Found) -> bool:
        return bool(self.disabled & {found.name, f"{found.kind}:{found.name}", found.distribution})

    def find(self, kind: str, name: str) -> Found:
        """The one plugin of this name. PluginError when there is none (naming the nearest) or when two
        distributions bring one."""
        candidates = [f for f in _scan(KINDS[kind].group, kind) if f.name == name]
        usable = [found for found in candidates if not self.is_disabled(found)]
        if candidates and not usable:
            raise PluginError(f"{candidates[0]} is disabled", hint="see `plugins.disabled`, PERF_DISABLED_PLUGINS")
        if not usable:
            raise _unknown(kind, name, self.names(kind))
        _refuse_conflict(usable)
        return usable[0]

    def load(self, kind: str, name: str) -> tuple[Found, type[Any]]:
        """The driver class of this name, found by stevedore and checked by pluggy, once in a process."""
        if (kind, name) not in self._loaded:
            found = self._find_by_stevedore(kind, name)
            driver = _import(found)
            _check(KINDS[kind], driver, found)
            self._loaded[kind, name] = found, driver
        return self._loaded[kind, name]

    def make(
        self, kind: str, name: str, values: Mapping[str, Any] | None = None, *, place: Path | None = None
    ) -> tuple[Found, Any]:
        """A driver made with its Settings from these option values."""
        found, driver = self.load(kind, name)
        arguments: list[Any] = [place] if KINDS[kind].placed else []
        settings = settings_of(driver)
        if settings is not None:
            arguments.append(structure(settings, values or {}, where=f"{kind} {name}"))
        elif values:
            raise PluginError(f"{found} has no options, got {', '.join(map(str, values))}")
        with guard(found, "construction"):
            return found, driver(*arguments)

    def phases(self, found: Found, driver: Any) -> Phases:
        """The driver's phases as calls that observers can wrap."""
        return Phases(self, found, driver)

    def emit(self, event: str, **arguments: Any) -> list[Any]:
        """Tell an event to everybody who listens; their failures are warnings."""
        return [
            answer for found, listener in self.observing(event) for answer in self._told(found, listener, arguments)
        ]

    def observing(self, target: str) -> list[tuple[Found, Callable[..., Any]]]:
        """The observers of a phase (`collector.collect`) or event, loaded; broken ones are warned about."""
        if not self.observers:
            return []
        if target not in self._observers:
            wanted = [f for f in _scan(HOOKS_GROUP, "hook") if f.name.partition(":")[0] == target]
            self._observers[target] = list(self._load_observers(wanted))
        return self._observers[target]

    def describe(self, kinds: Sequence[str] = ()) -> Iterator[Described]:
        """Every plugin there is, imported to see whether it works."""
        for kind in kinds or (*KINDS, "hook"):
            group = HOOKS_GROUP if kind == "hook" else KINDS[kind].group
            every = _scan(group, kind)
            for found in every:
                yield self._describe(found, [other for other in every if other.name == found.name])

    def _describe(self, found: Found, same_name: Sequence[Found]) -> Described:
        if self.is_disabled(found):
            return Described(found=found, state="disabled")
        if found.kind != "hook" and len(same_name) > 1:
            others = ", ".join(f.distribution for f in same_name if f != found)
            return Described(found=found, state="conflict", reason=f"also brought by {others}")
        try:
            driver = _import(found)
            if found.kind == "hook":
                _check_observer(found, driver)
                return Described(found=found, state="ok", help=_first_line(driver))
            _check(KINDS[found.kind], driver, found)
            return Described(found=found, state="ok", help=_first_line(driver), settings=settings_of(driver))
        except PluginError as error:
            return Described(found=found, state="broken", reason=error.message)

    def _find_by_stevedore(self, kind: str, name: str) -> Found:
        if self.disabled:
            return self.find(kind, name)
        from stevedore.driver import DriverManager
        from stevedore.exception import MultipleMatches, NoMatches

        try:
            manager: DriverManager[Any] = DriverManager(
                KINDS[kind].group, name, on_load_failure_callback=_reraise, warn_on_missing_entrypoint=False
            )
        except (NoMatches, MultipleMatches, ImportError, AttributeError):
            return self.find(kind, name)
        except Exception:
            return self.find(kind, name)
        point = next(iter(manager)).entry_point
        return _found(kind, point, _distribution_of(point))

    def _load_observers(self, wanted: Sequence[Found]) -> Iterator[tuple[Found, Callable[..., Any]]]:
        for found in wanted:
            if self.is_disabled(found):
                continue
            try:
                observer = _import(found)
                _check_observer(found, observer)
            except PluginError as error:
                self.warn(f"{error} (left out)")
            else:
                yield found, observer

    def _told(self, found: Found, listener: Callable[..., Any], arguments: Mapping[str, Any]) -> Iterator[Any]:
        try:
            answer = listener(**_accepted(listener, arguments))
        except Exception as error:
            self.warn(f"{found} failed: {_brief(error)} (left out)")
        else:
            if answer is not None:
                yield answer


class Phases:
    """Calls the wrapped phases of one driver through pluggy, with exactly one active implementation."""

    def __init__(self, plugins: Plugins, found: Found, driver: Any) -> None:
        self.found = found
        self.driver = driver
        kind = KINDS[found.kind]
        self._manager = _manager(kind)
        self._manager.register(driver, name=found.name)
        for method in kind.wrapped:
            for observer, function in plugins.observing(f"{kind.name}.{method}"):
                wrapper = _guarded(observer, function, plugins.warn)
                self._manager.register(
                    SimpleNamespace(**{method: wrapper}), name=f"{observer.distribution}:{observer.name}"
                )

    def call(self, method: str, **arguments: Any) -> Any:
        """One phase. What the driver raises that is not a PerfError becomes a PluginError naming the phase."""
        hook = getattr(self._manager.hook, f"{self.found.kind}_{method}")
        with guard(self.found, method):
            return hook(**arguments)


class guard:  # noqa: N801  (reads as a statement)
    """Turns a plugin's unexpected exception into a PluginError that names plugin, version and phase."""

    def __init__(self, found: Found, phase: str) -> None:
        self.found = found
        self.phase = phase

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, PerfError):
            raise PluginError(
                _brief(error),
                plugin=str(self.found),
                phase=self.phase,
                hint="run again with --debug for the traceback",
            ) from error


def settings_of(driver: type[Any]) -> type[Any] | None:
    """The Settings class of a driver, if it has options."""
    settings = getattr(driver, "Settings", None)
    return settings if isinstance(settings, type) and attrs.has(settings) else None


def owner_of(error: BaseException) -> str | None:
    """The distribution in whose code an exception was raised, if that is not perfcore's own."""
    trace, modules = error.__traceback__, []
    while trace is not None:
        modules.append(str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
        trace = trace.tb_next
    packages = {f.target.partition(":")[0].partition(".")[0]: f for k in KINDS.values() for f in _scan(k.group, k.name)}
    for module in reversed(modules):
        if module in packages and module != PROJECT:
            return f"{packages[module].distribution} {packages[module].version}"
    return None


@functools.cache
def _scan(group: str, kind: str) -> tuple[Found, ...]:
    """What the metadata of all installed distributions announce, read directly."""
    found = {_found(kind, point, point.dist) for point in metadata.entry_points(group=group)}
    return tuple(sorted(found, key=lambda f: (f.name, f.distribution)))


def _found(kind: str, point: metadata.EntryPoint, distribution: metadata.Distribution | None) -> Found:
    name, version = "unknown", "?"
    if distribution is not None:
        name, version = distribution.metadata["Name"], distribution.version
    return Found(kind=kind, name=point.name, target=point.value, distribution=name, version=version)


def _distribution_of(point: metadata.EntryPoint) -> metadata.Distribution | None:
    """The distribution that stevedore's cache has forgotten: asked for by the package's usual name first."""
    guess = point.value.partition(":")[0].partition(".")[0].replace("_", "-")
    try:
        distribution = metadata.distribution(guess)
    except metadata.PackageNotFoundError:
        return next((other.dist for other in metadata.entry_points(group=point.group, name=point.name)), None)
    return distribution


def _import(found: Found) -> Any:
    module, _, attribute = found.target.partition(":")
    point = metadata.EntryPoint(name=found.name, value=found.target, group=found.kind)
    try:
        return point.load()
    except AttributeError as error:
        raise PluginError(f"module {module} has no {attribute}", plugin=str(found), phase="loading") from error
    except Exception as error:
        raise PluginError(
            f"cannot be imported: {_brief(error)}",
            plugin=str(found),
            phase="loading",
            hint=_platform_hint(found),
        ) from error


def _platform_hint(found: Found) -> str:
    systems = _systems(found)
    return f"it runs on {', '.join(systems)} only" if systems else f"`pip show {found.distribution}` says what it needs"


def _systems(found: Found) -> list[str]:
    try:
        classifiers = metadata.metadata(found.distribution).get_all("Classifier") or []
    except metadata.PackageNotFoundError:
        return []
    return [c.removeprefix(_OPERATING_SYSTEM) for c in classifiers if c.startswith(_OPERATING_SYSTEM)]


def _check_platform(found: Found) -> None:
    here = _PLATFORMS.get(sys.platform)
    systems = _systems(found)
    if here and systems and not any(s == "OS Independent" or here.startswith(s) for s in systems):
        raise PluginError(f"needs {' or '.join(systems)}, this is {sys.platform}", plugin=str(found), phase="loading")


@functools.cache
def _manager_class() -> type[Any]:
    """A pluggy manager for whom method `m` of a driver of kind `k` implements the specification `k_m`."""
    import pluggy

    class Manager(pluggy.PluginManager):
        kind: Kind

        def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
            if name not in self.kind.methods:
                return None
            wrapper = bool(getattr(getattr(plugin, name), "__perfcore_wrapper__", False))
            return {
                "wrapper": wrapper,
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


def _check(kind: Kind, driver: Any, found: Found) -> None:
    """PluginError unless the class fits the specification of its kind."""
    import pluggy

    _check_platform(found)
    if not isinstance(driver, type):
        raise PluginError(f"{found.target} is not a class", plugin=str(found), phase="loading")
    missing = [method for method in kind.required if not callable(getattr(driver, method, None))]
    if missing:
        raise PluginError(
            f"{driver.__qualname__} lacks {', '.join(missing)} of the kind {kind.name}",
            plugin=str(found),
            phase="loading",
        )
    try:
        _manager(kind).register(object.__new__(driver), name=found.name)  # only its methods are looked at
    except pluggy.PluginValidationError as error:
        reason = " ".join(str(error).split())
        raise PluginError(f"does not fit the kind {kind.name}: {reason}", plugin=str(found), phase="loading") from error


def _check_observer(found: Found, observer: Any) -> None:
    target = found.name.partition(":")[0]
    kind, _, method = target.partition(".")
    if target in EVENTS:
        allowed = list(inspect.signature(getattr(Events, target)).parameters)[1:]
    elif kind in KINDS and method in KINDS[kind].wrapped:
        allowed = list(inspect.signature(getattr(KINDS[kind].protocol, method)).parameters)[1:]
    else:
        known = [*EVENTS, *(f"{k.name}.{m}" for k in KINDS.values() for m in k.wrapped)]
        raise PluginError(
            f"there is nothing called {target!r} to observe",
            plugin=str(found),
            phase="loading",
            hint=nearest(target, known),
        )
    if not callable(observer):
        raise PluginError(f"{found.target} cannot be called", plugin=str(found), phase="loading")
    extra = [name for name in inspect.signature(observer).parameters if name not in allowed]
    if extra:
        raise PluginError(
            f"{target} has no argument {extra[0]!r}; it has {', '.join(allowed) or 'none'}",
            plugin=str(found),
            phase="loading",
        )


def _guarded(found: Found, observer: Callable[..., Any], warn: Warn) -> Callable[..., Any]:
    """The observer as a pluggy wrapper whose own failures are warnings and change nothing."""
    names = list(inspect.signature(observer).parameters)
    is_generator = inspect.isgeneratorfunction(observer)

    def failed(error: Exception) -> None:
        warn(f"{found} failed: {_brief(error)} (the measurement goes on)")

    def wrap(arguments: dict[str, Any]) -> Any:
        running = None
        try:
            running = observer(**arguments)
            if is_generator:
                next(running)
        except StopIteration:
            running = None
        except Exception as error:
            failed(error)
            running = None
        try:
            result = yield
        except BaseException as error:
            if is_generator and running is not None:
                _throw(running, error, failed)
            raise
        return _finish(running, result, failed) if is_generator and running is not None else result

    @functools.wraps(observer)  # pluggy reads the names of the arguments off what is wrapped
    def wrapper(*values: Any) -> Any:
        return (yield from wrap(dict(zip(names, values, strict=True))))

    wrapper.__perfcore_wrapper__ = True  # type: ignore[attr-defined]
    return wrapper


def _throw(running: Any, error: BaseException, failed: Callable[[Exception], None]) -> None:
    """Let the observer see what happened, so that its `finally` runs; it cannot swallow the error."""
    try:
        running.throw(error)
    except StopIteration:
        return
    except Exception as own:
        if own is not error:
            failed(own)


def _finish(running: Any, result: Any, failed: Callable[[Exception], None]) -> Any:
    """What the observer returns in the place of the result; without a return of its own, the result."""
    try:
        running.send(result)
    except StopIteration as stop:
        return result if stop.value is None else stop.value
    except Exception as error:
        failed(error)
        return result
    running.close()
    failed(RuntimeError("it yielded twice"))
    return result


def _accepted(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    names = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in names}


def _refuse_conflict(candidates: Sequence[Found]) -> None:
    providers = {found.distribution for found in candidates}
    if len(providers) > 1:
        listed = " and ".join(f"{found.distribution} {found.version}" for found in candidates)
        first = candidates[0]
        raise PluginError(
            f"two distributions bring a {first.kind} {first.name!r}: {listed}",
            hint="uninstall one, or put its distribution into `plugins.disabled`",
        )


def _unknown(kind: str, name: str, known: Sequence[str]) -> PluginError:
    hint = nearest(name, known) or (f"there are {', '.join(known)}" if known else f"no {kind} is installed")
    usual = {"collector": "collect", "vcs": "vcs"}.get(kind, kind)
    return PluginError(
        f"there is no {kind} {name!r}",
        hint=f"{hint}; it may be in a distribution such as perfcore-{usual}-{name}",
    )


def _reraise(manager: object, point: object, error: BaseException) -> None:
    raise error


def _brief(error: BaseException) -> str:
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _first_line(item: Any) -> str:
    return (inspect.getdoc(item) or "").strip().split("\n")[0]
