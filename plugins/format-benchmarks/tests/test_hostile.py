"""Every sample cut, changed and filled with what no harness writes: a profile that can be kept, or a FormatError.

The changes are drawn from a fixed seed, so that a failure can be repeated.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_command_exchange.native import PerfFormat
from perfcore_format_benchmarks.asv import AsvFormat
from perfcore_format_benchmarks.catch2 import Catch2Format
from perfcore_format_benchmarks.criterion import CriterionFormat
from perfcore_format_benchmarks.gobench import GobenchFormat
from perfcore_format_benchmarks.googlebenchmark import GoogleBenchmarkFormat
from perfcore_format_benchmarks.hyperfine import HyperfineFormat
from perfcore_format_benchmarks.pyperf import PyperfFormat
from perfcore_format_benchmarks.pytest_benchmark import PytestBenchmarkFormat
from perfcore_testing import hostile

from perfcore.errors import FormatError
from perfcore.hookspecs import Format
from perfcore.profile import benchmarks

from .suites import SAMPLES

FORMATS: dict[str, Callable[[], Any]] = {
    "asv/box/2d122e16-virtualenv-py3.11-setuptools-wheel.json": AsvFormat,
    "catch2/out.xml": Catch2Format,
    "criterion/sort/new/sample.json": CriterionFormat,
    "gobench/out.txt": GobenchFormat,
    "gobench/test-json.ndjson": GobenchFormat,
    "googlebenchmark/single.json": GoogleBenchmarkFormat,
    "hyperfine/fail.json": HyperfineFormat,
    "pyperf/mem.json": PyperfFormat,
    "pytest-benchmark/single.json": PytestBenchmarkFormat,
}
SEED, MUTATIONS = 20261122, 40
WORDS: tuple[Any, ...] = (
    *(None, True, "", 0, -1, 10**400, -(10**30), 1e308, float("nan"), float("inf"), 0.1, [], {}, [[]], {"a": 1}),
    *hostile.NAMES,
    "\ud800",
    "9" * 400,
    [[["deep"]]],
)


@pytest.fixture(params=FORMATS)
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Format, Path]:
    """A format, and a copy of one of its samples with all that stands beside it."""
    folder, _, rest = request.param.partition("/")
    shutil.copytree(SAMPLES / folder, tmp_path / folder)
    return FORMATS[request.param](), tmp_path / folder / rest


def assert_read_or_refused(driver: Format, path: Path) -> None:
    profile = refusal = None
    try:
        profile = driver.read(path)
    except FormatError as error:
        refusal = error.message
    if profile is None:
        assert refusal is not None
        assert hostile.unsafe(refusal) == set()
        assert str(path) in refusal
        return
    assert profile.tables["resources"].rows > 0
    assert benchmarks.split(profile)
    assert hostile.unsafe("".join(profile.notes)) == set()
    PerfFormat().write(profile, path.with_name("kept.perf"))
    assert dict(PerfFormat().read(path.with_name("kept.perf")).tables) == dict(profile.tables)


def test_cuts(sample: tuple[Format, Path]) -> None:
    driver, path = sample
    content, source = path.read_bytes(), random.Random(SEED)
    for _ in range(MUTATIONS):
        path.write_bytes(content[: source.randrange(len(content))])
        assert_read_or_refused(driver, path)


def test_changed_bytes(sample: tuple[Format, Path]) -> None:
    driver, path = sample
    content, source = path.read_bytes(), random.Random(SEED)
    for _ in range(MUTATIONS):
        changed = bytearray(content)
        for _ in range(source.randint(1, 4)):
            changed[source.randrange(len(changed))] = source.randrange(256)
        path.write_bytes(changed)
        assert_read_or_refused(driver, path)


def test_pieces_in_other_places(sample: tuple[Format, Path]) -> None:
    """As after a failed merge, or two writers of one file."""
    driver, path = sample
    content, source = path.read_bytes(), random.Random(SEED)
    for _ in range(MUTATIONS):
        start, target = source.randrange(len(content)), source.randrange(len(content))
        piece = content[start : start + source.randint(1, 400)]
        path.write_bytes(content[:target] + piece + content[target + source.choice([0, len(piece)]) :])
        assert_read_or_refused(driver, path)


def test_fields_of_other_types(sample: tuple[Format, Path]) -> None:
    """Any one field of a JSON document, or any one word of a text, is something else."""
    driver, path = sample
    content, source = path.read_text(), random.Random(SEED)
    if path.suffix != ".json":
        words = content.split(" ")
        for _ in range(MUTATIONS):
            changed = [*words]
            changed[source.randrange(len(words))] = str(source.choice(WORDS))
            path.write_text(" ".join(changed), encoding="utf-8", errors="surrogatepass")
            assert_read_or_refused(driver, path)
        return
    count = len([*_places(json.loads(content))])
    for _ in range(MUTATIONS):
        document = json.loads(content)
        container, key = [*_places(document)][source.randrange(count)]
        if source.random() < 0.2:
            del container[key]
        elif isinstance(container, dict) and source.random() < 0.2:
            container[source.choice(hostile.NAMES)] = container.pop(key)
        else:
            container[key] = source.choice(WORDS)
        path.write_text(json.dumps(document))
        assert_read_or_refused(driver, path)


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(node, dict | list):
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield node, key
            yield from _places(child)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, '{"benchmarks": [' + "9" * 5000 + "]}"])
def test_json_that_breaks_parsers_is_refused(sample: tuple[Format, Path], text: str) -> None:
    driver, path = sample
    path.write_text(text)
    with pytest.raises(FormatError):
        driver.read(path)


@pytest.mark.parametrize("name", FORMATS)
def test_each_sample_is_recognised_by_its_format_alone(name: str) -> None:
    head = (SAMPLES / name).read_bytes()[:4096]
    drivers = {FORMATS[other]: FORMATS[other]() for other in FORMATS}
    assert [kind for kind, driver in drivers.items() if driver.sniff(head, Path(name).name)] == [FORMATS[name]]
