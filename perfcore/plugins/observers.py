"""Observers: functions of other distributions around the phases of a driver. What they do wrong is a warning; the
phase they observe goes on as if they were not there."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from perfcore.errors import PluginError, nearest
from perfcore.hookspecs import EVENTS, KINDS, Events
from perfcore.plugins.installed import PluginInfo, brief

Warn = Callable[[str], None]
Observer = Callable[..., Any]


def check_observer(info: PluginInfo, observer: Any) -> None:
    """PluginError unless what the entry point's name says can be observed, and by this function."""
    target = target_of(info)
    allowed = _arguments_of(target)
    if allowed is None:
        raise _unfit(info, f"there is nothing called {target!r} to observe", hint=nearest(target, _observable()))
    if not callable(observer):
        raise _unfit(info, f"{info.target} cannot be called")
    if inspect.iscoroutinefunction(observer) or inspect.isasyncgenfunction(observer):
        raise _unfit(info, f"{info.target} is asynchronous; a plain function is wanted")
    if target in EVENTS and inspect.isgeneratorfunction(observer):
        raise _unfit(info, f"{target} is an event and has nothing to wrap; a function without yield is wanted")
    try:
        parameters = inspect.signature(observer).parameters.values()
    except (TypeError, ValueError) as error:
        raise _unfit(info, f"{info.target} does not tell its arguments") from error
    for parameter in parameters:
        if parameter.name not in allowed and parameter.default is parameter.empty:
            listed = ", ".join(allowed) or "none"
            raise _unfit(info, f"{target} has no argument {parameter.name!r}; it has {listed}")


def target_of(info: PluginInfo) -> str:
    """What an observer's name says it observes: `collector.collect` of `collector.collect:pin`."""
    return info.name.partition(":")[0]


def is_known(target: str) -> bool:
    return target in _observable()


def accepted(function: Observer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the arguments that the function takes."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in names}


def wrapper(info: PluginInfo, observer: Observer, phase: Callable[..., Any], warn: Warn) -> Callable[..., Any]:
    """The observer as a pluggy wrapper of a phase, given by its specification."""
    names = list(inspect.signature(phase).parameters)[1:]

    @functools.wraps(phase)  # pluggy reads the names of the arguments off what is wrapped
    def wrap(*values: Any) -> Generator[None, Any, Any]:
        watch = _Watch(info, warn)
        watch.begin(observer, dict(zip(names, values, strict=True)))
        try:
            result = yield
        except BaseException as error:
            watch.failed(error)
            raise
        return watch.finished(result)

    return wrap


@contextlib.contextmanager
def harmless(info: PluginInfo, warn: Warn) -> Iterator[None]:
    """What fails within is a warning. An interrupt by the user goes through."""
    try:
        yield
    except (Exception, SystemExit) as error:
        warn(f"{info} failed: {brief(error)} (left out)")


class _Watch:
    """One observer during one call of a phase; `running` is its generator while it waits at its yield."""

    def __init__(self, info: PluginInfo, warn: Warn) -> None:
        self.info = info
        self.warn = warn
        self.running: Generator[Any, Any, Any] | None = None

    def begin(self, observer: Observer, arguments: Mapping[str, Any]) -> None:
        with harmless(self.info, self.warn):
            answer = observer(**accepted(observer, arguments))
            if inspect.isgenerator(answer) and next(answer, self) is not self:  # `self` says: it ended without a yield
                self.running = answer

    def failed(self, error: BaseException) -> None:
        """Let the observer see what happened, so that its `finally` runs; it cannot swallow the error."""
        if self.running is None:
            return
        with harmless(self.info, self.warn):
            try:
                self.running.throw(error)
            except StopIteration:
                return
            except BaseException as own:
                if own is error:  # it let the error through, as it should
                    return
                raise
            self._end_of_a_second_yield()

    def finished(self, result: Any) -> Any:
        """The result, or what the observer returns in its place, which is of the same type."""
        if self.running is None:
            return result
        with harmless(self.info, self.warn):
            try:
                self.running.send(result)
            except StopIteration as stop:
                return self._chosen(result, stop.value)
            self._end_of_a_second_yield()
        return result

    def _chosen(self, result: Any, other: Any) -> Any:
        if other is None or other is result:
            return result
        if result is None or not isinstance(other, type(result)):
            raise TypeError(f"it returned {type(other).__name__} in the place of {type(result).__name__}")
        return other

    def _end_of_a_second_yield(self) -> None:
        assert self.running is not None
        self.running.close()
        raise RuntimeError("it yielded twice")


def _arguments_of(target: str) -> list[str] | None:
    """The arguments of an event or a phase; None where there is no such thing."""
    if not is_known(target):
        return None
    kind, _, method = target.partition(".")
    function = getattr(KINDS[kind].protocol, method) if method else getattr(Events, target)
    return list(inspect.signature(function).parameters)[1:]


def _observable() -> tuple[str, ...]:
    return (*EVENTS, *(f"{kind.name}.{method}" for kind in KINDS.values() for method in kind.wrapped))


def _unfit(info: PluginInfo, reason: str, *, hint: str | None = None) -> PluginError:
    return PluginError(reason, plugin=str(info), phase="loading", hint=hint)
