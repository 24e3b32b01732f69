"""Requests beside one another, in threads.

A library that waits for a server outside of Python does not notice signals: with a silent server, Ctrl-C would do
nothing until the library gives up. So requests are made in threads, for which the main thread waits in Python. The end
of the process does not wait for them, as it would for those of a `ThreadPoolExecutor`.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from typing import TypeVar

AT_ONCE = 8  # requests; with more, their contents would take too much memory
_GRACE = 1.0  # seconds that an interrupt leaves to requests on the way: the most end, and what they wrote is whole
_A = TypeVar("_A")
_B = TypeVar("_B")


def in_parallel(function: Callable[[_A], _B], items: Iterable[_A]) -> Iterator[_B]:
    """The results in the order of the items, of which few are looked at before they are needed. Nothing is on the way
    at the end, also after an error. Only an interrupt, or who wants no more results, does not wait for a silent server.
    """
    iterator = iter(items)
    waiting = [_begun(function, item) for item in itertools.islice(iterator, AT_ONCE)]
    patience = None
    try:
        while waiting:
            result = waiting[0].result()
            del waiting[0]
            waiting += [_begun(function, item) for item in itertools.islice(iterator, 1)]
            yield result
    except (GeneratorExit, KeyboardInterrupt):
        patience = _GRACE
        raise
    finally:
        wait(waiting, patience)
        waiting.clear()  # an error holds this frame, and a future its error


def of_each(storage: object, function: Callable[[_A], _B], items: Iterable[_A]) -> Iterator[_B]:
    """The same with requests of a storage, which are beside one another only where its driver says that several threads
    may call it."""
    return (in_parallel if getattr(storage, "concurrent", False) else map)(function, items)


def interruptible(function: Callable[[], _B]) -> _B:
    """The result of a function. An interrupt of the main thread does not wait for it."""
    if threading.current_thread() is not threading.main_thread():
        return function()  # signals do not come here, and who waits for this thread does it in Python
    [result] = in_parallel(lambda _: function(), [None])
    return result


def _begun(function: Callable[[_A], _B], item: _A) -> Future[_B]:
    future: Future[_B] = Future()
    threading.Thread(target=_call, args=(future, function, item), daemon=True).start()
    return future


def _call(future: Future[_B], function: Callable[[_A], _B], item: _A) -> None:
    try:
        future.set_result(function(item))
    except BaseException as error:
        future.set_exception(error)
        del future  # the error holds this frame: with it, all frames of who waits would live until the next collection
