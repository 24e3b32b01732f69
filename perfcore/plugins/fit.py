"""Whether a class is a driver of its kind: its methods have the arguments of the specification."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from perfcore.config.settings import options_of
from perfcore.errors import PluginError
from perfcore.hookspecs import KINDS, Kind
from perfcore.plugins.guard import guard
from perfcore.plugins.installed import PluginInfo, brief


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
    if settings_of(driver) is not None:
        try:
            options_of(settings_of(driver))  # type: ignore[arg-type]
        except Exception as error:
            raise _unfit(info, f"has no usable Settings: {brief(error)}") from error


def misfits(kind: Kind[Any], driver: Any) -> Iterator[str]:
    """Why the methods of a driver do not fit its kind. What observers can wrap is called by pluggy, which refuses
    arguments that the specification lacks, and may leave out arguments at the end; the others take all of them."""
    if kind.wrapped:
        from perfcore.plugins.phases import refusals

        yield from refusals(kind, driver)
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
            expected = f"{method}({', '.join(_arguments(kind, method))})"
            yield f"it has {method}{inspect.signature(function)}, the specification {expected}"


def _fits(signature: inspect.Signature, expected: Sequence[str], *, leaving_out: bool) -> bool:
    parameters = list(signature.parameters.values())
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
    parameters = list(inspect.signature(specified).parameters.values())[1:]
    return f"({', '.join(str(parameter).partition(':')[0] for parameter in parameters)})"


def _plain(function: Any) -> Any:
    return getattr(function, "__func__", function)


def _arguments(kind: Kind[Any], method: str) -> tuple[str, ...]:
    names = inspect.signature(getattr(kind.protocol, method)).parameters
    return tuple(name for name in names if name not in ("self", "cls"))


def settings_of(driver: type[Any]) -> type[Any] | None:
    """The Settings class of a driver, if it has options."""
    settings: type[Any] | None = getattr(driver, "Settings", None)
    return settings


def _unfit(info: PluginInfo, reason: str) -> PluginError:
    return PluginError(reason, plugin=str(info), phase="loading")
