"""`@benchmark`: marks a function as a benchmark. Calls of the function are not changed by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])
ATTRIBUTE = "__perfcore_benchmark__"
SCOPES = ("run", "value", "call")


class Declaration(NamedTuple):
    """The arguments of `@benchmark`. The function has it in the attribute `ATTRIBUTE`."""

    parameters: Mapping[str, Sequence[Any] | Mapping[str, Any]]
    setup: Callable[..., Any] | None
    teardown: Callable[[Any], Any] | None
    per: str
    timeout: float | None
    own_process: bool


@overload
def benchmark(function: F, /) -> F: ...
@overload
def benchmark(
    *,
    params: Mapping[str, Sequence[Any] | Mapping[str, Any]] | None = None,
    setup: Callable[..., Any] | None = None,
    teardown: Callable[[Any], Any] | None = None,
    per: str = "value",
    timeout: float | None = None,
    own_process: bool = False,
) -> Callable[[F], F]: ...
def benchmark(
    function: F | None = None,
    /,
    *,
    params: Mapping[str, Sequence[Any] | Mapping[str, Any]] | None = None,
    setup: Callable[..., Any] | None = None,
    teardown: Callable[[Any], Any] | None = None,
    per: str = "value",
    timeout: float | None = None,
    own_process: bool = False,
) -> Any:
    """A benchmark of the time that a function takes:

        @benchmark(params={"size": [10, 1000]}, setup=lambda size: list(range(size)))
        def reverse(numbers):
            numbers[::-1]

    `params` gives the values of each parameter, in a list, or by their names in a mapping; every combination is a
    benchmark. `setup` gets them by name, and its result is the only argument of the function and of `teardown`. Without
    it the function gets the parameters by name. Both are called outside of the measured time, around each value
    (`per="value"`), each call (`"call"`) or all values of a run (`"run"`). `timeout` is in seconds. With `own_process`
    the benchmark shares its process with no other.
    """
    if per not in SCOPES:
        raise ValueError(f"per is {per!r}, and has to be one of {', '.join(SCOPES)}")
    if teardown is not None and setup is None:
        raise ValueError("a teardown gets what setup returned: a benchmark with a teardown needs a setup")

    def mark(marked: F) -> F:
        declaration = Declaration(dict(params or {}), setup, teardown, per, timeout, own_process)
        setattr(marked, ATTRIBUTE, declaration)
        return marked

    return mark if function is None else mark(function)
