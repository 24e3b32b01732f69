"""The contract of generators of workloads: one that keeps it, and some that do not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.workload import WorkloadContract

from perfcore.errors import UsageError


class Sizes:
    """Files of so many bytes each."""

    def generate(self, spec: Mapping[str, Any], directory: Path) -> Iterator[Path]:
        sizes = spec.get("sizes")
        if set(spec) != {"sizes"} or not isinstance(sizes, list) or not all(type(s) is int and s > 0 for s in sizes):
            raise UsageError("a workload of sizes wants `sizes`, a list of whole numbers above 0")
        return self._files(sorted(set(sizes)), directory)

    def _files(self, sizes: list[int], directory: Path) -> Iterator[Path]:
        for size in sizes:
            path = directory / f"bytes-{size}.txt"
            path.write_bytes(b"x" * size)
            yield path


class TestSizes(WorkloadContract):
    specs = ({"sizes": [1, 10, 1000]}, {"sizes": [7, 3]}, {"sizes": [5]})
    wrong = ({}, {"sizes": "10"}, {"sizes": [0]}, {"sizes": [True]}, {"sizes": [1], "seed": 3})

    @pytest.fixture
    def driver(self) -> Sizes:
        return Sizes()


class Contract(WorkloadContract):
    specs = ({"sizes": [1, 2]},)
    wrong = ({"sizes": "many"},)


class Made:
    """Generates as it is told."""

    def __init__(self, make: Callable[[Path], Iterator[Path]]) -> None:
        self.make = make

    def generate(self, spec: Mapping[str, Any], directory: Path) -> Iterator[Path]:
        return self.make(directory)


def by_chance(directory: Path) -> Iterator[Path]:
    path = directory / "chance"
    path.write_bytes(os.urandom(16))
    yield path


def all_at_once(directory: Path) -> Iterator[Path]:
    paths = [directory / "one", directory / "two"]
    for path in paths:
        path.write_bytes(path.name.encode())
    yield from paths


def over_again(directory: Path) -> Iterator[Path]:
    for number in range(2):
        path = directory / "same"
        path.write_bytes(b"%d" % number)
        yield path


def above(directory: Path) -> Iterator[Path]:
    path = directory.parent / "above"
    path.write_bytes(b"x")
    yield path


@pytest.mark.parametrize(
    ("law", "make"),
    [
        ("test_the_same_spec_gives_the_same_files", by_chance),
        ("test_a_file_is_not_made_before_it_is_asked_for", all_at_once),
        ("test_files_come_in_growing_size", all_at_once),
        ("test_every_file_is_whole_when_it_is_given", over_again),
        ("test_every_file_is_whole_when_it_is_given", above),
        ("test_every_file_is_whole_when_it_is_given", lambda directory: iter(())),
    ],
)
def test_a_law_finds_the_generator_that_breaks_it(
    law: str, make: Callable[[Path], Iterator[Path]], tmp_path: Path
) -> None:
    method = getattr(Contract(), law)
    folder = tmp_path / "directory"
    folder.mkdir()
    known = {"directory": folder, "tmp_path": tmp_path}
    wanted = method.__code__.co_varnames[2 : method.__code__.co_argcount]
    with pytest.raises(AssertionError):
        method(Made(make), **{name: known[name] for name in wanted})


def test_a_generator_that_refuses_nothing_is_found(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception):
        Contract().test_a_spec_that_makes_no_sense_is_refused(Made(by_chance), tmp_path)
