"""How the contract of the kind source is tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_testing.source import SourceContract

from perfcore_source_statprofiler import writer
from perfcore_source_statprofiler.driver import StatprofilerSource

_PARENT, _CHILD = (1, 2, 3, 4, 5, 6), (7, 2, 3, 4, 5, 6)


class StatprofilerContract(SourceContract):
    @pytest.fixture
    def driver(self) -> StatprofilerSource:
        return StatprofilerSource()

    def write(self, folder: Path) -> list[Path]:
        """A stream with a section over two files, and a fork of it with code of its parent."""
        inner = writer.sub("App", "work", "lib/App.pm", 12, 2)
        outer = writer.main("app.pl", 3)
        first = [
            writer.code("sub f { 1 }", 1),
            writer.sample(1, "padsv", [inner, outer]),
            writer.begin("request"),
            writer.sample(2, "sort", [writer.evaluated("(eval 1)", 1), outer]),
        ]
        second = [
            writer.sample(300, "_xsub", [writer.xsub("List::Util", "first"), inner, outer]),
            writer.label("action", "cart"),
            writer.end("request"),
            writer.sample(4, "padsv", []),
            writer.sample(0, "padsv", [outer]),
        ]
        third = [writer.sample(5, "padsv", [writer.sub("Gen", "g", "(eval 1)", 5, 2), outer])]
        return [
            writer.write(folder / "a.1", writer.header(_PARENT, 1, labels={"release": "R1"}), first),
            writer.write(folder / "a.2", writer.header(_PARENT, 2, labels={"release": "R1"}), second, size=40),
            writer.write(folder / "b.1", writer.header(_CHILD, 1, parent=_PARENT, parent_number=1), third),
        ]
