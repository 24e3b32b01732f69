"""Several requests at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 8  # requests; with more, their contents would take too much memory
_A = TypeVar("_A")
_B = TypeVar("_B")


def in_parallel(function: Callable[[_A], _B], items: Iterable[_A]) -> Iterator[_B]:
    """The results in the order of the items, of which few are looked at before they are needed."""
    iterator = iter(items)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = [pool.submit(function, item) for item in itertools.islice(iterator, AT_ONCE)]
        while waiting:
            result = waiting.pop(0).result()
            waiting += [pool.submit(function, item) for item in itertools.islice(iterator, 1)]
            yield result
