"""The generator `lines`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from perfcore_workload_lines.contract import LinesContract
from perfcore_workload_lines.generator import Lines, LinesSettings

from perfcore.errors import UsageError


class TestLines(LinesContract): ...


def generate(directory: Path, settings: LinesSettings | None = None, **spec: Any) -> dict[str, bytes]:
    paths = Lines(settings or LinesSettings()).generate(spec, directory)
    return {path.name: path.read_bytes() for path in paths}


def test_files_have_the_lines_and_bytes_of_the_spec(tmp_path: Path) -> None:
    files = generate(tmp_path, lines=[1, 1000], width=10)
    assert {name: content.count(b"\n") for name, content in files.items()} == {"1-lines.txt": 1, "1000-lines.txt": 1000}
    assert {len(line) for line in files["1000-lines.txt"].splitlines(keepends=True)} == {10}
    files = generate(tmp_path, sizes=[1, 81, "3 MiB"])
    assert [len(content) for content in files.values()] == [1, 81, 3 << 20]
    assert all(content.endswith(b"\n") for content in files.values())


def test_a_larger_file_begins_with_the_smaller_one(tmp_path: Path) -> None:
    files = list(generate(tmp_path, lines=[10, 50_000]).values())
    assert files[1].startswith(files[0])


def test_the_bytes_are_the_same_on_every_machine(tmp_path: Path) -> None:
    """Stored profiles are compared by them: other bytes would be another configuration."""
    (content,) = generate(tmp_path, lines=[1000]).values()
    assert hashlib.sha1(content).hexdigest() == "4d8bcbf18a9fa0e3065be0b49389590a9ec1bd72"


def test_huge_sizes_are_refused_before_a_file_is_made(tmp_path: Path) -> None:
    for spec in ({"sizes": ["2 GiB"]}, {"lines": [10**14]}):
        with pytest.raises(UsageError, match="more than") as raised:
            generate(tmp_path, **spec)
        assert "max_size" in str(raised.value.hint)
    with pytest.raises(UsageError, match="the disk"):
        generate(tmp_path, LinesSettings(max_size=1 << 60), sizes=["999999 GiB"])
    assert list(tmp_path.iterdir()) == []
