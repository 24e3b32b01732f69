"""Releases of a fleet, from traces to the verdict."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from perfcore_check_shares import SharesCheck, SharesSettings
from perfcore_fleet_kit.cells import CELLS, MOST, cell_tables, folded, sample_of_profiles
from perfcore_fleet_kit.shares import Cell
from perfcore_fleet_kit.shares import Sample as Cells
from perfcore_source_statprofiler import writer
from perfcore_source_statprofiler.writer import main, sample, sub
from perfcore_testing import profiles
from perfcore_testing.check import pairing
from perfcore_testing.project import Project

from perfcore.model import Change, Pairing, Profile
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table

NOON = 1_700_049_600  # s since 1970 UTC
HOUR = 3_600


def release(
    shares: Mapping[str, float], *, cells: int = 24, size: int = 2_000, seed: int = 1, spread: float = 0.05
) -> Profile:
    """A profile whose functions all are called by `main`, and whose cells differ by more than chance."""
    numbers = random.Random(seed)
    made = Cells()
    for cell in range(cells):
        weights = {f"app.pl:{name}": share * numbers.lognormvariate(0, spread) for name, share in shares.items()}
        drawn = numbers.choices(list(weights), list(weights.values()), k=int(size * numbers.uniform(0.5, 2)))
        made.cells[f"web{cell}", 0] = Cell(len(drawn), {name: drawn.count(name) for name in weights})
    builder = StackBuilder()
    stacks = [builder.add((Frame("main", "start.pl", 1, 1), Frame(name, "app.pl", 3, 1))) for name in shares]
    values = column("samples", [made.amount(f"app.pl:{name}") for name in shares], role="value")
    tables = {"resources": table("resources", [column("stack", stacks), values]), **builder.tables()}
    return profiles.sampled().replace_tables(**tables, **cell_tables(made, tables))


def compare(pair: Pairing, **settings: float) -> dict[str, Change]:
    changes = SharesCheck(SharesSettings(**settings)).compare(pair)
    return {change.resource.removeprefix("app.pl:"): change for change in changes}


SHARES = {"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}


def test_functions_that_take_more_or_less() -> None:
    changes = compare(pairing(release(SHARES), release({**SHARES, "d": 0.3}, seed=2)))
    assert (changes["d"].kind, changes["d"].primary) == ("degradation", True)
    interval = [value or 0.0 for value in (changes["d"].low, changes["d"].ratio, changes["d"].high)]
    assert interval == sorted(interval)
    assert interval == pytest.approx([2.4, 2.5, 2.6], abs=0.1)
    assert "points of all samples" in changes["d"].evidence
    assert "moved" not in changes["a"].evidence  # its share fell as those of all others in its file
    assert changes[""].kind == "same"
    assert not changes[""].primary
    assert compare(pairing(release({**SHARES, "d": 0.3}, seed=2), release(SHARES)))["d"].kind == "optimization"


def test_a_cost_that_moved_within_a_file_is_none() -> None:
    before, after = release(SHARES, spread=0.01), release({**SHARES, "c": 0.1, "d": 0.2}, seed=2, spread=0.01)
    changes = compare(pairing(before, after), threshold=0.02)
    assert (changes["d"].kind, changes["c"].kind) == ("same", "same")
    assert "the cost only moved: 1 neighbour make" in changes["d"].evidence


@pytest.mark.parametrize(("cells", "size"), [(1, 50_000), (2, 50_000), (4, 20)])
def test_not_enough_is_an_answer(cells: int, size: int) -> None:
    pair = pairing(
        release(SHARES, cells=cells, size=size), release({**SHARES, "d": 0.12}, cells=cells, size=size, seed=2)
    )
    changes = compare(pair)
    assert {change.kind for change in changes.values()} == {"cannot tell"}
    assert changes["d"].reason == ("not enough samples" if cells > 2 else "fewer than 3 cells")


def test_a_release_and_itself_seldom_differ() -> None:
    """Of 100 pairs of equal releases at 5 %, 5 have a verdict; 14 or more come once in 2,000 times."""
    wrong = 0
    for seed in range(100):
        pair = pairing(*(release(SHARES, cells=6, size=100, seed=2 * seed + side, spread=0.15) for side in (0, 1)))
        wrong += any(change.kind in ("degradation", "optimization") for change in compare(pair).values())
    assert wrong <= 13


def test_a_profile_has_few_cells_and_no_host() -> None:
    many = Cells({(f"web{n}.example.net", n): Cell(2, {"app.pl:a": 1}) for n in range(3 * MOST)})
    few = folded(many)
    assert len(few.cells) == MOST
    assert (few.total, few.amount("app.pl:a")) == (many.total, many.amount("app.pl:a"))
    assert "web" not in repr(release(SHARES).tables[CELLS].columns)


def test_hostile_cells_are_left_out() -> None:
    """Cells that are not there, or missing values, count nothing."""
    whole = release(SHARES)
    damaged = whole.replace_tables(
        cell_functions=table(
            "cell_functions",
            [
                column("cell", [0, 10**15, -1, None], dtype="i64"),
                column("function", [0, 0, 0, None], dtype="i64"),
                column("samples", [None, 1, 1, 1], dtype="i64"),
            ],
        )
    )
    assert sample_of_profiles([damaged]).amount("app.pl:a") == 0
    assert SharesCheck().compare(pairing(damaged, damaged))


def _write(folder: Path, work: float, seed: int) -> None:
    numbers = random.Random(seed)
    for host in range(4):
        for box in range(3):
            path = folder / f"web{host}" / f"{box}"
            path.parent.mkdir(parents=True, exist_ok=True)
            slow = sample(int(1_000 * work * numbers.uniform(0.95, 1.05)), "add", [sub("A", "slow", "A.pm", 3, 2)])
            rest = sample(int(1_000 * (1 - work)), "add", [main("app.pl", 1)])
            writer.write(path, writer.header((seed, host, 3, 4, 5, 6), box + 1), [slow, rest])
            os.utime(path, (NOON + box * HOUR,) * 2)


def test_perf_check_on_profiles_of_fleets(project: Project, tmp_path: Path) -> None:
    project.write(".perfcore.yml", "check:\n  rules:\n    - {collector: fleet, method: shares}\n")
    for number, work in enumerate((0.2, 0.2, 0.4), 1):
        project.commit(f"release {number}", source=str(number))
        _write(tmp_path / str(number), work, number)
        project.perf("fleet", "ingest", str(tmp_path / str(number)), "--release", "HEAD")
        project.perf("fleet", "report", "--save")
        project.perf("add", "0@p")
    done = project.perf("check", "HEAD", "--method", "shares", "--json", code=1).json
    changes = {change["resource"]: change for change in done["changes"]}
    assert changes["A.pm:A::slow"]["kind"] == "degradation"
    assert changes["app.pl:main"]["kind"] == "optimization"
    project.perf("check", "HEAD~1", "--method", "shares", code=0)
    of_all = project.perf("check", "all", "--method", "shares", "--json", code=1).json["changes"]
    assert [c["resource"] for c in of_all if c["kind"] == "degradation"] == ["A.pm:A::slow"]
