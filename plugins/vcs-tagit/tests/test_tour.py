"""Every verb of perf's tour, in real processes over a tagit repository, as it works over one of git."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from perfcore_testing.project import Done, Project

WORK = "import sys\nsum(i * i for i in range({}))\n"
MATRIX = "bins: ['{}']\nargs: [work.py]\ncollectors: [{{name: time}}]\n"


class Tour(Project):
    """A user with `tagit` at hand."""

    def tagit(self, *words: str) -> Done:
        program = "import sys; from perfcore_vcs_tagit.cli import main; sys.exit(main())"
        done = self.run(sys.executable, "-c", program, *words)
        assert done.code == 0, done
        return done

    def version(self, tag: str, size: int) -> str:
        self.write("work.py", WORK.format(size))
        return self.tagit("save", tag, "-m", f"Version {tag}").out.split()[0]

    def measure(self) -> Done:
        return self.collect(sys.executable, "work.py", repeat=5)


@pytest.fixture
def tour(tmp_path: Path) -> Tour:
    path = tmp_path / "project"
    path.mkdir()
    tour = Tour(path, tmp_path / "home")
    tour.perf("init", "--vcs", "tagit", "--init-vcs")
    return tour


def test_a_slower_version_is_found(tour: Tour) -> None:
    first = tour.version("v1", 50_000)
    tour.measure()
    tour.perf("add", "0@p")
    tour.version("v2", 50_000)  # which nobody measures: the nearest ancestor that was measured counts
    tour.write("work.py", WORK.format(3_000_000))
    assert "uncommitted changes" in tour.measure().out
    tour.perf("add", "0@p", code=2)
    tour.perf("rm", "0@p")
    third = tour.version("v3", 12_000_000)  # where versions measured apart differ, five times as slow is not enough
    tour.measure()
    tour.perf("add", "0@p")
    assert "Version v3" in tour.perf("status").lines[0]
    assert tour.perf("status", "--json").json["vcs"] == "tagit"
    log = tour.perf("log").out
    assert log.index("Version v3") < log.index("Version v2") < log.index("Version v1")
    assert "cpu" in tour.perf("show", "0@i").out
    assert "cpu" in tour.perf("show", "v1:0@i").out
    tour.perf("tag", "fast", "v1:0@i")
    assert "cpu" in tour.perf("show", "fast").out
    check = tour.perf("check", code=1)
    assert first[:10] in check.out
    assert third[:10] in check.out
    tour.perf("fsck")
    tour.perf("gc")


def test_a_matrix_is_measured_over_all_versions(tour: Tour) -> None:
    ids = [tour.version(tag, size) for tag, size in (("v1", 1000), ("v2", 2000), ("v3", 3000))]
    tour.write("m.yml", MATRIX.format(sys.executable))
    tour.write("work.py", "raise SystemExit('a change that is in no version')")
    before = {path.name for path in tour.path.iterdir()}
    words = ("run", "matrix", "m.yml", "--repeat", "2", "--warmup", "0", "--json")
    done = tour.perf(*words, "--all", "--add").json
    assert [profile["version"] for profile in done["profiles"]] == ids
    assert done["failed"] == []
    assert [p["version"] for p in tour.perf(*words, "--since", "v1").json["profiles"]] == ids[1:]
    assert [p["version"] for p in tour.perf(*words, "--version", "HEAD~2").json["profiles"]] == ids[:1]
    assert {path.name for path in tour.path.iterdir()} == before
    assert list((tour.home / "cache").rglob("work.py")) == []
    assert tour.perf("show", "v1:0@i").out != ""


def test_init_finds_a_repository_and_a_second_one_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "project"
    path.mkdir()
    tour = Tour(path, tmp_path / "home")
    tour.tagit("init")
    assert "tagit repository" in tour.perf("init").err
    assert tour.perf("init", code=3).err != ""
    assert "no version yet" in tour.perf("status").out
    tour.version("v1", 10)
    assert tour.perf("status").lines[0].startswith("on main at")


def test_a_state_that_a_killed_process_left_is_put_back_by_any_command(tour: Tour) -> None:
    first = tour.version("v1", 10)
    tour.version("v2", 20)
    mine = tour.write("work.py", "mine")
    program = "import sys, os, pathlib; from perfcore_vcs_tagit import Tagit\n"
    program += "driver = Tagit(pathlib.Path('.')); driver.save_state(); driver.checkout(sys.argv[1]); os._exit(9)"
    assert tour.run(sys.executable, "-c", program, first).code == 9
    assert mine.read_text() == WORK.format(10)
    assert "restored the changes" in tour.perf("status").err
    assert mine.read_text() == "mine"


def test_a_trigger_of_somebody_else_runs_nothing(tour: Tour, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who copies a repository brings it along; and what it runs may be another program there."""
    from perfcore_vcs_tagit import Tagit

    tour.use_home(monkeypatch)
    canary = tour.home / "canary"
    Tagit(tour.path).install_trigger(["touch", str(canary)])
    theirs = Tour(tour.path.with_name("theirs"), tour.home)
    shutil.copytree(tour.path, theirs.path)
    theirs.write("file", "1")
    saved = theirs.tagit("save", "v1")
    assert "was not run: you have not set it on this machine" in saved.err
    for planted in (f'["touch", "{canary}", "x"]', f'"touch {canary}"', "7", "{}"):
        (tour.path / ".tagit/trigger").write_text(planted)
        assert "was not run" in tour.tagit("save", f"v{len(planted)}").err
    assert not canary.exists()
    Tagit(theirs.path).install_trigger(["touch", str(canary)])
    theirs.tagit("save", "v2")
    assert canary.exists()


def test_a_trigger_measures_every_new_version(tour: Tour, monkeypatch: pytest.MonkeyPatch) -> None:
    from perfcore_vcs_tagit import Tagit

    tour.use_home(monkeypatch)
    Tagit(tour.path).install_trigger(
        [
            sys.executable,
            "-m",
            "perfcore",
            "collect",
            "time",
            "--repeat",
            "1",
            "--warmup",
            "0",
            "--",
            sys.executable,
            "-V",
        ]
    )
    id = tour.version("v1", 10)
    assert [pending["origin"] for pending in tour.perf("status", "--json").json["pending"]] == [id]
