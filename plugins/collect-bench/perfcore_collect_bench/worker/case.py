"""A benchmark with one combination of its parameters, as every kind of suite gives it to the worker."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

KINDS = ("time", "memory", "peak_memory", "amount")
_LONGEST_MESSAGE = 500  # characters: an assertion may show all of two large lists


class SkippedError(Exception):
    """The benchmark does not want to be measured."""


class Description(NamedTuple):
    """What is known of a benchmark before it runs. `kind` is the metric that it gives; `parameters` are the texts by
    name. It is loaded again from `module`; `cache` is the key of what its suite prepares once for all runs."""

    name: str
    kind: str
    module: str
    parameters: Mapping[str, str]
    unit: str = ""
    timeout: float | None = None
    own_process: bool = False
    cache: str | None = None

    @property
    def key(self) -> str:
        return json.dumps([self.name, *self.parameters.items()])

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "parameters": dict(self.parameters)}


class Broken(NamedTuple):
    """A module or function of which no benchmark can be made, and why."""

    name: str
    message: str


class Case(Protocol):
    """A benchmark that can be measured in this process."""

    description: Description

    def prepare(self) -> Any:
        """What the suite prepares once for all runs; only with a key of the cache."""

    def measure(self, order: Order) -> dict[str, Any]:
        """Its values: `wall` and `cpu` in ns per call and the `plan`, or `amount`. Raises `SkippedError` or an error of
        the benchmark."""


class Order(NamedTuple):
    """How a benchmark is to be measured: by this plan, which may be replaced where it does not fit if `adapt`. Without
    a plan it is made. `load_cache` gives what was prepared."""

    plan: Mapping[str, Any] | None
    adapt: bool
    load_cache: Callable[[], Any]


def message(error: BaseException) -> str:
    """An error in one line."""
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return " ".join(words.split())[:_LONGEST_MESSAGE]


def amount(number: Any) -> dict[str, Any]:
    """A number that a benchmark gave. NaN is how suites of asv leave a benchmark out."""
    if number is None:
        raise TypeError("it gave no number")
    amount = float(number)
    if math.isnan(amount):
        raise SkippedError("it gave NaN")
    if math.isinf(amount) or amount < 0:
        raise ValueError(f"it gave {amount:g}, which is no amount")
    return {"amount": amount}


def text(parameter: Any) -> str:
    """A parameter in the name of a benchmark. It has to be the same in every process."""
    if isinstance(parameter, str):
        return parameter
    name = getattr(parameter, "__qualname__", None) or getattr(parameter, "__name__", None)
    if isinstance(name, str):
        return name
    shown = repr(parameter)
    if " at 0x" in shown:
        raise ValueError(f"the parameter {shown} has no text that stays: give it a name, or a __repr__")
    return shown


def peak_memory() -> int:
    """The most memory that this process had since it began, in bytes."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        import resource

        unit = 1 if os.uname().sysname == "Darwin" else 1024  # of ru_maxrss in getrusage(2)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    # Linux keeps in ru_maxrss what the process had before exec(2), which is that of perf.
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(peak.split()[1]) * 1024
