"""Requests beside one another, in threads.

The library waits for a server outside of Python, where no signal is noticed: with a silent server, Ctrl-C would do
nothing for minutes. So requests are made in threads that nothing waits for at the end of the process, as it would for
those of a `ThreadPoolExecutor`.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from typing import TypeVar

AT_ONCE = 8  # requests; with more, their contents would take too much memory
_A = TypeVar("_A")
_B = TypeVar("_B")


def in_parallel(function: Callable[[_A], _B], items: Iterable[_A]) -> Iterator[_B]:
    """The results in the order of the items, of which few are looked at before they are needed. Nothing is on the way
    at the end, unless it is an interrupt."""
    iterator = iter(items)
    waiting = [_begun(function, item) for item in itertools.islice(iterator, AT_ONCE)]
    try:
        while waiting:
            result = waiting.pop(0).result()
            waiting += [_begun(function, item) for item in itertools.islice(iterator, 1)]
            yield result
    except KeyboardInterrupt:
        waiting.clear()
        raise
    finally:
        wait(waiting)


def interruptible(function: Callable[[], _B]) -> _B:
    """The result of a function; an interrupt in the main thread does not wait for it."""
    if threading.current_thread() is not threading.main_thread():
        return function()
    return _begun(lambda _: function(), None).result()


def _begun(function: Callable[[_A], _B], item: _A) -> Future[_B]:
    """The result of a call in a thread of its own."""
    future: Future[_B] = Future()

    def call() -> None:
        try:
            future.set_result(function(item))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return future
