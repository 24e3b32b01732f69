"""Collectors whose authors forgot something, through the command line."""

from __future__ import annotations

import pytest
from perfcore_testing.distributions import Site, site
from perfcore_testing.project import Project

__all__ = ["site"]

COLLECTOR = """
from perfcore.profile.recording import Session
from perfcore.profile.table import ColumnSpec
class House:
    def before(self, job):
        return Session(job, columns=[ColumnSpec("wall", "i64", "ns", "value"), ColumnSpec("size", "i64", "B", "value")])
    def collect(self, session, run):
        run.exitcode = 0
        ROWS
    def after(self, session, outcome): ...
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("rows", "code", "text"),
    [
        ("pass", 0, "note: the collector house wrote no row, so the profile is empty"),
        ("run.rows.add(wal=1, size=2)", 0, "the collector house wrote no 'wall', but 'wal', which it did not declare"),
        ("run.rows.add(wall='1 s')", 5, "collector house in collect: column 'wall' is i64 and cannot hold '1 s'"),
        ("run.rows.add(wall=[1])", 5, "collector house in collect: column 'wall' cannot hold a value of type list"),
        ("run.rows.extend({'wall': [1, 'x']})", 5, "collector house in collect: column 'wall' is i64"),
    ],
)
def test_an_oversight_of_a_collector_is_told(project: Project, site: Site, rows: str, code: int, text: str) -> None:
    source = COLLECTOR.replace("ROWS", rows)
    site.install("acme-house", points={"perfcore.collector": ["house = acme_house:House"]}, acme_house=source)
    done = project.perf("collect", "house", "--repeat", "2", "--", "true", code=code, env=site.env)
    assert text in done.err


@pytest.mark.process
@pytest.mark.parametrize(
    ("written", "instead", "code", "text"),
    [
        ('"value"', '"amount"', 5, "role is one of value, dimension, order, benchmark, not 'amount'"),
        ('"i64"', '"int"', 5, "dtype is one of i64, u64, f64, bool, str, not 'int'"),
        ('"value")', '"value", better="high")', 5, "better is one of lower, higher, not 'high'"),
        (
            '"value"',
            '"dimension"',
            0,
            "the collector house wrote no amount: none of its columns has role='value'",
        ),
        ("session, outcome", "s, o", 5, "it has after(s, o), the specification after(session, outcome)"),
    ],
)
def test_a_mistake_in_a_declaration_is_told(
    project: Project, site: Site, written: str, instead: str, code: int, text: str
) -> None:
    source = COLLECTOR.replace("ROWS", "run.rows.add(wall=1, size=2)").replace(written, instead)
    site.install("acme-house", points={"perfcore.collector": ["house = acme_house:House"]}, acme_house=source)
    done = project.perf("collect", "house", "--repeat", "2", "--", "true", code=code, env=site.env)
    assert text in done.err
    assert code == 0 or "collector 'house' (acme-house 1.0)" in done.err


@pytest.mark.process
@pytest.mark.parametrize(
    "rows", ["run.rows.add(wall=1, size=2)", "run.rows.add(size=2)", "run.rows.add(size=2, line=3)"]
)
def test_columns_that_are_left_out_or_added_are_no_oversight(project: Project, site: Site, rows: str) -> None:
    source = COLLECTOR.replace("ROWS", rows)
    site.install("acme-house", points={"perfcore.collector": ["house = acme_house:House"]}, acme_house=source)
    done = project.perf("collect", "house", "--repeat", "2", "--", "true", env=site.env)
    assert "the collector" not in done.err
