"""Drivers, the code of plugins: whether a class is one of its kind, a border where their exceptions get the plugin's
name, and their phases, which observers can wrap, as pluggy makes them. No other module knows pluggy."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from perfcore.errors import PerfError, PluginError
from perfcore.hookspecs import KINDS, Kind
from perfcore.plugins.installed import PluginInfo, brief, file_state

if TYPE_CHECKING:
    import inspect

    from perfcore.plugins.registry import Plugins

PROJECT = "perfcore"


class guard:  # noqa: N801  (reads as a statement)
    """Turns a plugin's unexpected exception into a PluginError that names plugin, version and phase. A plugin that
    wants to exit the process has failed, too; an interrupt by the user goes through."""

    def __init__(self, info: PluginInfo, phase: str) -> None:
        self.info = info
        self.phase = phase

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception | SystemExit) and not isinstance(error, PerfError):
            raise PluginError(
                brief(error), plugin=str(self.info), phase=self.phase, hint="run again with --debug for the traceback"
            ) from error


class Phases:
    """Calls the wrapped phases of one driver: through pluggy, with exactly one active implementation, where there are
    observers, and without where there are none, as pluggy takes as long to import as some runs take."""

    def __init__(self, plugins: Plugins, info: PluginInfo, driver: Any) -> None:
        self.info, self._driver = info, driver
        kind = KINDS[info.kind]
        seen = {method: plugins.observing(f"{kind.name}.{method}") for method in kind.wrapped}
        self.observed = any(seen.values())
        self._wrappers = [(plugins.warn, method, *each) for method, observers in seen.items() for each in observers]

    @functools.cached_property
    def _manager(self) -> Any:
        kind = KINDS[self.info.kind]
        manager = _manager(kind)
        manager.register(self._driver)
        for warn, method, observer, function in self._wrappers:
            from perfcore.plugins.observers import wrapper

            wrapped = wrapper(observer, function, getattr(kind.protocol, method), warn)
            manager.register(SimpleNamespace(**{method: wrapped}))
        return manager

    def call(self, method: str, **arguments: Any) -> Any:
        """One phase. What the driver raises that is not a PerfError becomes a PluginError naming the phase."""
        with guard(self.info, method):
            phase: Any = getattr(self._driver, method, None)
            function = getattr(phase, "__func__", None)
            if self.observed or type(function) is not FunctionType or vars(function):  # as of a decorated one
                return getattr(self._manager.hook, f"{self.info.kind}_{method}")(**arguments)
            code, own = function.__code__, len(function.__defaults__ or ())  # the driver's, with defaults
            return phase(*map(arguments.__getitem__, code.co_varnames[1 : code.co_argcount - own]))


def refusals(kind: Kind[Any], driver: Any) -> Iterator[str]:
    """Why pluggy refuses a driver as one of this kind."""
    import pluggy

    try:
        _manager(kind).register(driver)
    except pluggy.PluginValidationError as error:
        yield " ".join(str(error).split())


@functools.cache
def _manager_class() -> type[Any]:
    """A pluggy manager for whom method `m` of a driver of kind `k` implements the specification `k_m`."""
    import pluggy

    class Manager(pluggy.PluginManager):
        kind: Kind[Any]

        def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
            if name not in self.kind.methods or not callable(getattr(plugin, name)):
                return None
            off = dict.fromkeys(("hookwrapper", "optionalhook", "tryfirst", "trylast"), False)
            return {**off, "wrapper": isinstance(plugin, SimpleNamespace), "specname": f"{self.kind.name}_{name}"}

        def parse_hookspec_opts(self, module_or_class: object, name: str) -> Any:
            if not name.startswith(f"{self.kind.name}_"):
                return None
            return {"firstresult": True, "historic": False, "warn_on_impl": None, "warn_on_impl_args": None}

    return Manager


def _manager(kind: Kind[Any]) -> Any:
    manager = _manager_class()(PROJECT)
    manager.kind = kind
    manager.add_hookspecs(
        SimpleNamespace(**{f"{kind.name}_{method}": getattr(kind.protocol, method) for method in kind.methods})
    )
    return manager


def check_driver(info: PluginInfo, driver: Any) -> None:
    """PluginError unless the class fits the specification of its kind, and its options can be shown."""
    kind = KINDS[info.kind]
    if not isinstance(driver, type):
        raise _unfit(info, f"{info.target} is not a class")
    missing = [method for method in kind.required if not callable(getattr(driver, method, None))]
    if missing:
        raise _unfit(info, f"{driver.__qualname__} lacks {', '.join(missing)} of the kind {kind.name}")
    with guard(info, "loading"):
        for reason in misfits(kind, object.__new__(driver)):  # only its methods are looked at
            raise _unfit(info, f"does not fit the kind {kind.name}: {reason}")
    if getattr(driver, "Settings", None) is not None:
        from perfcore.config.settings import options_of

        try:
            options = options_of(settings_of(driver))  # type: ignore[arg-type]
        except Exception as error:
            raise _unfit(info, f"has no usable Settings: {brief(error)}") from error
        needed = [option.name for option in options if option.required or option.info.env]
        if needed and isinstance(getattr(driver, "Settings", None), str):
            raise _unfit(info, f"names its Settings by a text, and {needed[0]} is required or has a variable")


def code_stamp(driver: Any) -> str:
    """Another one whenever a file changes that makes a class fit its kind or not; empty where that cannot be told."""
    modules = [sys.modules.get(cls.__module__) for cls in driver.__mro__[:-1]] if isinstance(driver, type) else []
    paths = [str(getattr(module, "__file__", "")) for module in modules]
    states = [file_state(path) for path in (*paths, os.path.join(os.path.dirname(__file__), "../hookspecs.py"))]
    return " ".join(states) if paths and all(states) else ""


def misfits(kind: Kind[Any], driver: Any) -> Iterator[str]:
    """Why the methods of a driver do not fit its kind. What observers can wrap is called by pluggy, which refuses
    arguments that the specification lacks, and may leave out arguments at the end; the others take all of them."""
    for method in kind.methods:
        function, specified = getattr(driver, method, None), getattr(kind.protocol, method)
        if not callable(function):
            continue
        if _plain(function) is _plain(specified):
            yield f"it inherits {method} from the specification, where it does nothing"
        elif method in kind.shortened:
            if not _fits_shortened(_signature(function), _signature(specified)):
                yield f"it has {method}{_signature(function)}, the specification {method}{_shown(specified)}"
        elif not _fits(function, expected := argument_names(_plain(specified)), leaving_out=method in kind.wrapped):
            specification = f"{method}({', '.join(expected)})"
            yield f"it has {method}{_signature(function)}, the specification {specification}"
    if kind.wrapped:
        yield from refusals(kind, driver)


def _fits(function: Any, expected: Sequence[str], *, leaving_out: bool) -> bool:
    parameters = list(_signature(function).parameters.values())
    specified, additional = parameters[: len(expected)], parameters[len(expected) :]
    return (
        [p.name for p in specified] == list(expected[: len(specified)])
        and all(p.default is p.empty and p.kind is not p.KEYWORD_ONLY for p in specified)
        and all(p.default is not p.empty for p in additional)
        and (leaving_out or len(specified) == len(expected))
    )


def _fits_shortened(signature: inspect.Signature, specified: inspect.Signature) -> bool:
    """Whether a method has the arguments of the specification, those with a default in the end left out or not."""
    expected = list(specified.parameters.values())[1:]  # without `self`
    parameters = list(signature.parameters.values())
    required = [parameter.name for parameter in expected if parameter.default is parameter.empty]
    names = [parameter.name for parameter in expected][: len(parameters)]
    return (
        len(parameters) >= len(required)
        and [parameter.name for parameter in parameters[: len(expected)]] == names
        and all(parameter.default is parameter.empty for parameter in parameters[: len(required)])
        and all(parameter.default is not parameter.empty for parameter in parameters[len(required) :])
    )


def _shown(specified: Any) -> str:
    parameters = list(_signature(specified).parameters.values())[1:]
    return f"({', '.join(str(parameter).partition(':')[0] for parameter in parameters)})"


def _signature(function: Any) -> inspect.Signature:
    import inspect  # only where a driver was not compared before

    return inspect.signature(function)


def _plain(function: Any) -> Any:
    return getattr(function, "__func__", function)


def argument_names(function: Any) -> tuple[str, ...]:
    """Those of a function or method, without the object's or class's own."""
    if hasattr(function, "__wrapped__") or not hasattr(function, "__code__"):
        return tuple(_signature(function).parameters)
    code: CodeType = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tuple(name for name in names if name not in ("self", "cls"))


def settings_of(driver: type[Any]) -> type[Any] | None:
    """The Settings class of a driver, if it has options."""
    settings: Any = getattr(driver, "Settings", None)
    if isinstance(settings, str):
        module, _, name = settings.partition(":")
        settings = getattr(importlib.import_module(module), name)
    return settings  # type: ignore[no-any-return]


def _unfit(info: PluginInfo, reason: str) -> PluginError:
    return PluginError(reason, plugin=str(info), phase="loading")
