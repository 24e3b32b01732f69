"""Large tables, which are read part by part."""

from __future__ import annotations

import json

import pytest
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore.profile.table import column, table

ROWS = 150_000


@pytest.mark.parametrize(
    ("options", "expected", "matched"),
    [
        (("--head", "3"), [0, 7919, 15838], ROWS),
        (("--head", "3", "--sort", "-amount"), [149_999, 149_998, 149_997], ROWS),
        (("--head", "2", "--sort", "amount", "--filter", "amount > 100000"), [100_001, 100_002], 49_999),
        (("--head", "5", "--filter", "amount > 149997"), [149_998, 149_999], 2),
        (("--head", "5", "--filter", "amount > 150000"), [], 0),
        (("--tail", "1"), [(ROWS - 1) * 7919 % ROWS], ROWS),
    ],
)
def test_the_first_rows_are_those_of_the_whole_table(
    project: Project, options: tuple[str, ...], expected: list[int], matched: int
) -> None:
    amounts = [row * 7919 % ROWS for row in range(ROWS)]
    resources = table("resources", [column("amount", amounts, role="value", unit="ns")])
    open_repository(project.path).save(profiles.profile({"resources": resources}))
    document = json.loads(project.perf("show", "0@p", "table", "--format", "json", *options).out)
    (shown,) = document["profiles"]
    assert [row[0] for row in shown["rows"]] == expected
    assert shown["matched"] == matched
