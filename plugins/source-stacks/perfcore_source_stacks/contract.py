"""How the contract of the kind source is tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_testing.source import SourceContract

from perfcore_source_stacks.driver import PerfScriptSource, StacksSource


class StacksContract(SourceContract):
    @pytest.fixture
    def driver(self) -> StacksSource:
        return StacksSource()

    def write(self, folder: Path) -> list[Path]:
        """Two segments of a stream as py-spy writes them, and a file of Austin."""
        lines = {
            "web1.1.raw": "main (app.py:3);work (lib/w.py:12) 30\nmain (app.py:4) 2\n",
            "web1.2.raw": "main (app.py:3);work (lib/w.py:12) 7\n",
            "other.austin": "# austin: 3.6.0\n# mode: wall\n\nP1;T0:2;app.py:main:3;w.py:work:12 10000\nP1;T0:2 40\n",
        }
        for name, text in lines.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [folder / name for name in lines]


class PerfScriptContract(SourceContract):
    @pytest.fixture
    def driver(self) -> PerfScriptSource:
        return PerfScriptSource()

    def write(self, folder: Path) -> list[Path]:
        """Two files of two samples."""
        head = "sort 31/31 [001]  100.25: 250000 cpu-clock:u: \n"
        frames = "\t    55aa10 merge+0x1f (/usr/bin/sort)\n\t    7f0010 main+0x8 (/usr/bin/sort)\n\n"
        for name, text in (("a.1.script", head + frames + head + frames), ("b.1.script", head + frames)):
            (folder / name).write_text(text, encoding="utf-8")
        return [folder / "a.1.script", folder / "b.1.script"]
