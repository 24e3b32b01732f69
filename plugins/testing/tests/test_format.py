"""The contract of formats: one of lines of JSON that keeps it, and some that do not."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict
from perfcore_testing import profiles
from perfcore_testing.format import FormatContract

from perfcore.errors import FormatError
from perfcore.model import Header, Profile, Tool
from perfcore.profile.table import Column, Table, column

MAGIC = b'{"lines": 1'


class Lines:
    """A head, a line for each column, and a line with the checksum of all before it."""

    def sniff(self, head: bytes, name: str) -> bool:
        return head.startswith(MAGIC) and name.endswith(".jsonl")

    def read(self, path: Path) -> Profile:
        data = path.read_bytes()
        body, _, end = data[:-1].rpartition(b"\n")
        if end != _checksum(body + b"\n") or not body.startswith(MAGIC) or data[-1:] != b"\n":
            raise FormatError(f"{path.name!r} is not whole")
        head, *columns = map(json.loads, body.split(b"\n"))
        return Profile(
            header=Header(type=head["type"], argv=tuple(head["argv"])),
            created=0,
            collector=Tool(name="lines"),
            tables={
                name: Table(name, tuple(_column(c) for c in columns if c["table"] == name), rows)
                for name, rows in head["tables"].items()
            },
        )

    def write(self, profile: Profile, path: Path) -> None:
        tables = {name: profile.tables[name] for name in sorted(profile.tables)}
        head = {
            "lines": 1,
            "type": profile.header.type,
            "argv": profile.header.argv,
            "tables": {name: each.rows for name, each in tables.items()},
        }
        lines = [head, *(_line(name, column) for name, each in tables.items() for column in each.columns)]
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        _write_whole(path, body + _checksum(body) + b"\n")


def _line(table: str, column: Column) -> dict[str, Any]:
    values = [value.hex() if isinstance(value, float) else _unicode(value) for value in column]
    return {"table": table, "spec": asdict(column.spec), "values": values}


def _column(line: Any) -> Column:
    spec, values = line["spec"], line["values"]
    if spec["dtype"] == "f64":
        values = [None if value is None else float.fromhex(value) for value in values]
    name, dtype = spec.pop("name"), spec.pop("dtype")
    return column(name, values, dtype=dtype, **spec)


def _unicode(value: Any) -> Any:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _checksum(data: bytes) -> bytes:
    return hashlib.sha1(data).hexdigest().encode()


def _write_whole(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


class TestLines(FormatContract):
    suffix = ".jsonl"

    @pytest.fixture
    def driver(self) -> Lines:
        return Lines()


class Names:
    """Writes the names of functions; nothing reads it."""

    def sniff(self, head: bytes, name: str) -> bool:
        return head.startswith(b"names\n")

    def write(self, profile: Profile, path: Path) -> None:
        found = profile.table("resources")
        if found is None:
            raise FormatError("there is nothing to write")
        data = "".join(f"{name!r}\n" for name in found.get("uid") or ())
        _write_whole(path, b"names\n" + data.encode())


class TestNames(FormatContract):
    """A format that only writes is held to the laws of writing."""

    @pytest.fixture
    def driver(self) -> Names:
        return Names()


def _unchecked(path: Path) -> Profile:
    json.loads(path.read_bytes().split(b"\n")[0])
    return profiles.traced()


def _in_place(profile: Profile, path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"x" * 10_000)


def _beside(profile: Profile, path: Path) -> None:
    path.write_bytes(b"x")
    path.with_suffix(".tmp").write_bytes(b"x")


@pytest.mark.parametrize(
    ("law", "changes", "error"),
    [
        ("test_a_file_that_lost_its_end_is_told_so", {"read": _unchecked}, (AssertionError, ValueError)),
        ("test_a_file_with_a_wrong_byte_is_read_or_told_so", {"read": _unchecked}, ValueError),
        ("test_a_full_disk_leaves_the_old_file", {"write": _in_place}, AssertionError),
        ("test_writing_leaves_the_profile_as_it_was_and_only_the_file", {"write": _beside}, AssertionError),
        ("test_what_was_written_is_read_back_equal", {"read": lambda path: profiles.traced()}, AssertionError),
        ("test_its_own_files_are_recognised", {"sniff": lambda head, name: False}, AssertionError),
        ("test_files_of_other_kinds_are_not", {"sniff": lambda head, name: True}, AssertionError),
    ],
)
def test_a_law_finds_the_format_that_breaks_it(
    law: str, changes: dict[str, Callable[..., Any]], error: type[Exception], tmp_path: Path
) -> None:
    driver = Lines()
    example = tmp_path / "example.jsonl"
    driver.write(profiles.traced(), example)
    for name, method in changes.items():
        setattr(driver, name, method)
    method = getattr(FormatContract(), law)
    known = {"example": example, "tmp_path": tmp_path, "sample": "large", "head": b"junk", "name": "junk"}
    wanted = method.__code__.co_varnames[2 : method.__code__.co_argcount]
    with pytest.raises(error):
        method(driver, **{name: known[name] for name in wanted})
