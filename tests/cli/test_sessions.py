"""A history that takes several sessions to measure, on a machine that is another one in each: collected and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Here

COUNT, STEP = 60, 32
PLUGIN = '''
import random

from perfcore.profile.recording import Session
from perfcore.profile.table import ColumnSpec


class Machine:
    """What a version takes is in its tree. Every session is off by some percent, every version by a little, for good
    and anew."""

    schedule = {"repeat": 6, "warmup": 0}
    off = [0.02, -0.025, 0.01, -0.015, 0.03, -0.02]
    session = -1

    def __init__(self, settings=None):
        pass

    def before(self, job):
        number, level = (job.cwd / "level").read_text().split()
        columns = [ColumnSpec("run", "i64", "", "order"), ColumnSpec("cpu", "f64", "ns", "value")]
        return Session(job, columns=columns, state=(int(number), float(level)))

    def collect(self, session, run):
        Machine.session += run.block == 0 and run.position == 0
        number, level = session.state
        own = random.Random(number).gauss(1, 0.006)
        anew = random.Random(number * 1000 + self.session).gauss(1, 0.004)
        noise = random.Random(number * 100_000 + self.session * 1000 + run.index).gauss(1, 0.006)
        run.rows.add(cpu=1e6 * level * own * anew * noise * (1 + self.off[self.session % len(self.off)]))

    def after(self, session, outcome):
        pass
'''
NAMED = """
plugins:
  own:
    collector:
      machine: plugin.py:Machine
"""


@pytest.fixture
def versions(here: Here) -> list[str]:
    """Versions whose trees are so large that 16 of them share a session; from one on they are 4 % slower."""
    here.write("plugin.py", PLUGIN)
    here.write(".perfcore.yml", NAMED)
    made = [here.commit(f"Version {n}", level=f"{n} {1.04 if n >= STEP else 1.0}\n") for n in range(COUNT)]
    here.perf("config", "set", "execute.pre_run", "truncate -s 64M made")
    here.perf("config", "trust", "--yes")
    return made


def test_the_code_is_blamed_for_what_the_code_did(here: Here, versions: list[str]) -> None:
    rows = here.perf("collect", "machine", "--json", "--add", "--since", "main~60", "--", "true").json["profiles"]
    assert len(rows) > COUNT
    assert list(dict.fromkeys(row["version"] for row in rows)) == versions
    (change,) = here.perf("check", "all", "--json", code=1).json["changes"]
    assert change["kind"] == "degradation"
    assert abs(versions.index(change["latest"]) - STEP) <= 2
    assert change["ratio"] == pytest.approx(1.04, abs=0.01)


def test_every_version_is_a_pair_with_the_one_before_it(here: Here, versions: list[str]) -> None:
    here.perf("collect", "machine", "--add", "--since", "main~60", "--", "true")
    for number in (3, 4, 5, 8, 9, STEP, COUNT - 1):
        (change,) = here.perf("check", versions[number], "--json", code=None).json["changes"]
        assert "interleaved pairs" in change["evidence"]
        assert (change["kind"] == "degradation") == (number == STEP)
