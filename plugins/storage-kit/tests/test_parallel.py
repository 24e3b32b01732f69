"""Requests beside one another."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
from perfcore_storage_kit.parallel import in_parallel, interruptible

from perfcore.errors import StorageError


def test_results_have_the_order_of_their_items() -> None:
    assert list(in_parallel(lambda number: number * 2, range(100))) == list(range(0, 200, 2))


def test_nothing_is_on_its_way_after_a_failure() -> None:
    ended: list[int] = []

    def request(number: int) -> None:
        if number == 0:
            raise StorageError("refused")
        ended.append(number)

    with pytest.raises(StorageError, match="refused"):
        list(in_parallel(request, range(8)))
    assert sorted(ended) == list(range(1, 8))


def test_an_interrupt_does_not_wait_for_requests_that_never_end() -> None:
    never = threading.Event()

    def request(number: int) -> None:
        if number == 0:
            raise KeyboardInterrupt
        never.wait()

    with pytest.raises(KeyboardInterrupt):
        list(in_parallel(request, range(8)))
    results = in_parallel(lambda number: number or never.wait(), [1, 0])
    assert next(results) == 1
    results.close()  # type: ignore[attr-defined]
    never.set()


def test_an_error_keeps_nothing_of_its_caller_alive() -> None:
    class Held:
        pass

    def call() -> weakref.ref[Held]:
        held = Held()
        with pytest.raises(ZeroDivisionError):
            interruptible(lambda: 1 / 0)
        return weakref.ref(held)

    gc.disable()
    try:
        assert call()() is None
    finally:
        gc.enable()
