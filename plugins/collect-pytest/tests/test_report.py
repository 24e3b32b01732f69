"""The summary: judgements in words, reasons, and lines that fit a terminal."""

from __future__ import annotations

import pytest
from perfcore_collect_pytest.measurement import SessionResult
from perfcore_collect_pytest.report import Line, lines

from perfcore.analysis.check_result import CheckResult
from perfcore.model import Change, Header, Profile, Tool
from perfcore.model.changes import ChangeKind
from perfcore.model.record import replace
from perfcore.profile.recording import RUN
from perfcore.profile.table import ColumnSpec, TableBuilder

LONG = f"tests/{'deeply/nested/' * 5}test_words.py::TestWords::test_parse[{'parameter-' * 5}4]"


def result(*changes: Change) -> SessionResult:
    names = ("benchmark", "str", "benchmark"), ("cpu", "f64", "value")
    specs = [ColumnSpec(name, kind, role=role) for name, kind, role in names]  # type: ignore[arg-type]
    table = TableBuilder("resources", [RUN, *specs])
    for change in changes:
        table.add(run=0, benchmark=change.resource, cpu=1.0)
    profile = Profile(
        header=Header(type="pytest"), created=1, collector=Tool(name="pytest"), tables={"resources": table.build()}
    )
    return SessionResult(profile=profile, check=CheckResult(changes=changes))


def change(kind: ChangeKind, name: str = "test_a.py::test_a", reason: str = "") -> Change:
    shared = Change(id="1", kind=kind, metric="cpu", unit="ns", resource=name, baseline="b7f5b28871", ratio=1.5)
    return replace(shared, baseline_value=1e6, target_value=1.5e6, reason=reason)


@pytest.mark.parametrize(
    ("kind", "word", "color"),
    [
        ("degradation", "regression", "red"),
        ("optimization", "improvement", "green"),
        ("same", "no change", ""),
        ("cannot tell", "inconclusive", "yellow"),
    ],
)
def test_a_line_has_the_medians_the_change_and_the_judgement(kind: ChangeKind, word: str, color: str) -> None:
    header, row, *_ = lines(result(change(kind)), 80)
    assert header.text.split() == ["test", "metric", "median", "baseline", "change", "judgement"]
    assert row.text.split()[1:7] == ["cpu", "1.5", "ms", "1", "ms", "+50.0"]
    assert row.text.endswith(word)
    assert row.color == color


def test_reasons_are_told_once_with_the_number_of_tests() -> None:
    doubtful = [change("cannot tell", f"test_{name}", reason="too much noise: measure about 7 pairs") for name in "ab"]
    texts = [
        line.text
        for line in lines(
            result(*doubtful, change("cannot tell", "test_c", reason="too few runs: 3 of at least 4")), 80
        )
    ]
    assert "inconclusive: too much noise (2 tests)" in texts
    assert "inconclusive: too few processes (1 test)" in texts
    assert "interleaved runs tell more: perf collect pytest -v b7f5b28871 -v HEAD --add ." in texts


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_long_names_lose_their_beginning_and_lines_fit_80_columns(columns: int) -> None:
    _, row, *rest = lines(result(change("cannot tell", LONG, reason="reason " * 30)), columns)
    assert row.text.startswith("…")
    assert "4]  cpu" in row.text
    assert all(len(line.text) <= 80 for line in [row, *rest])


def test_names_cannot_control_a_terminal() -> None:
    shown: list[Line] = list(lines(result(change("same", "test_a[\x1b[2J]")), 80))
    assert all("\x1b" not in line.text for line in shown)
