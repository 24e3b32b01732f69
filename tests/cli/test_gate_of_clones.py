"""A gate in two clones that exchange profiles: one measures the baseline, the other the head, and checks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_testing import profiles

from .conftest import Here

if TYPE_CHECKING:
    from collections.abc import Callable

MS = 1_000_000


class Clones:
    """The clone of a nightly job that measures the baseline, and that of a pull request."""

    def __init__(self, origin: Here, folder: Path) -> None:
        self.nightly, self.request = (self._cloned(origin, folder / name) for name in ("nightly", "request"))
        self.exported = folder / "baseline.perf"

    @staticmethod
    def _cloned(origin: Here, folder: Path) -> Here:
        folder.mkdir()
        origin.git("clone", "--quiet", str(origin.path), str(folder / "clone"))
        clone = Here(folder / "clone", folder / "home")
        clone.perf("init")
        return clone

    def exchange(self) -> str:
        """Give the baseline to the clone of the pull request; gives what the import printed."""
        self.nightly.perf("export", "0@i", "--force", "-o", str(self.exported))
        return self.request.perf("import", "--add", str(self.exported)).out


@pytest.fixture
def clones(made: Callable[..., Here], tmp_path: Path) -> Clones:
    """Two clones of one project, each with a home of its own; the pull request has one commit more."""
    pair = Clones(made(), tmp_path)
    pair.request.commit("Slower")
    return pair


@pytest.fixture
def measured(clones: Clones) -> Clones:
    """The same where the baseline is measured."""
    clones.nightly.register(profiles.timed(runs=12, wall=100 * MS))
    return clones


def test_an_exchanged_baseline_shows_the_regression_and_lets_an_accepted_one_pass(measured: Clones) -> None:
    baseline = measured.nightly.head
    assert f"registered for {baseline[:10]}" in measured.exchange()
    measured.request.register(profiles.timed(runs=12, wall=200 * MS))
    changes = measured.request.perf("check", "--json", code=1).json["changes"]
    (slower,) = (change for change in changes if change["primary"])
    assert (slower["baseline"], slower["kind"]) == (baseline, "degradation")
    measured.request.perf("check", "ack", slower["id"], "--why", "safer", "--author", "Ann")
    assert "by Ann: safer" in measured.request.perf("check").out


def test_an_exchanged_baseline_passes_what_is_as_fast(measured: Clones) -> None:
    measured.exchange()
    measured.request.register(profiles.timed(runs=12, wall=100 * MS))
    changes = measured.request.perf("check", "--json").json["changes"]
    assert [change["kind"] for change in changes if change["metric"] == "wall"] == ["same"]


def test_without_the_baseline_of_the_other_clone_nothing_is_compared(measured: Clones) -> None:
    measured.request.register(profiles.timed(runs=12, wall=200 * MS))
    assert measured.request.perf("check", code=9).out
    measured.exchange()
    measured.request.perf("check", code=1)


def test_a_baseline_that_is_imported_twice_is_there_once(measured: Clones) -> None:
    measured.exchange()
    measured.exchange()
    log = measured.request.perf("log", "--count-only").out
    assert log.startswith("2 versions, 1 measured")


def test_clones_that_measure_really_compare_what_they_exchanged(clones: Clones) -> None:
    for clone in (clones.nightly, clones.request):
        clone.perf("collect", "time", "--repeat", "6", "--warmup", "0", "--add", "--", "true")
    before = clones.request.perf("check", code=9)
    clones.exchange()
    # What the verdict on so short a program is, is not asked: that there is one is.
    after = clones.request.perf("check", "--fail-on", "never", "--json", code=None)
    assert "no ancestor was measured" in before.out
    assert after.json["changes"]
