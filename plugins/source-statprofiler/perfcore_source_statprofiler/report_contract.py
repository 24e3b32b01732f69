"""How the contract of the kind source is tried with reports: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.source import SourceContract

from perfcore_source_statprofiler.report import StatprofilerReportSource


class StatprofilerReportContract(SourceContract):
    @pytest.fixture
    def driver(self) -> StatprofilerReportSource:
        return StatprofilerReportSource()

    def write(self, folder: Path) -> list[Path]:
        """Two boxes of a shard, and a report without a box."""
        names = ("report.1700000000.web1", "report.1700086400.web1", "report")
        paths = [folder / "__main__" / name for name in names]
        paths[0].parent.mkdir()
        for weight, path in enumerate(paths, 1):
            path.write_bytes(stored(report(weight)))
        return paths


def report(weight: int) -> list[Any]:
    """Samples of this weight in `work`, twice as many in a native function below, and one without frames."""
    subs = {
        "app.pl:main": _sub("", "app.pl", 1, 0),
        "lib/App.pm:App::work:2": _sub("App::work", "lib/App.pm", 2, weight),
        "(unknown):List::Util::first": _sub("List::Util::first", "", -1, 2 * weight, package="List::Util", kind=1),
    }
    names = list(subs)
    flames = {";".join(names[:2]): weight, ";".join(names): 2 * weight, "": 1}
    return [10_000, 40, "5.36.0", "mixed", {"total": 3 * weight + 1, "subs": subs, "flames": flames, "files": {}}]


def _sub(name: str, file: str, line: int, exclusive: int, package: str = "", kind: int = 0) -> dict[str, Any]:
    values = {"name": name, "file": file, "start_line": line, "exclusive": exclusive, "package": package, "kind": kind}
    return {**values, "call_sites": {}, "callees": {}}


def stored(value: Any) -> bytes:
    """As `nstore` writes it."""
    return b"pst0\5\x0b" + _stored(value)


def _stored(value: Any) -> bytes:
    if isinstance(value, dict):
        items = (_reference(item) + struct.pack(">I", len(key)) + key.encode() for key, item in value.items())
        return b"\3" + struct.pack(">I", len(value)) + b"".join(items)
    if isinstance(value, list):
        return b"\2" + struct.pack(">I", len(value)) + b"".join(map(_reference, value))
    if isinstance(value, int):
        return b"\x09" + struct.pack(">i", value)
    return b"\x0a" + bytes((len(value),)) + str(value).encode()


def _reference(value: Any) -> bytes:
    return b"\4" + _stored(value) if isinstance(value, dict | list) else _stored(value)
