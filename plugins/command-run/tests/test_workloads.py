"""Generated workloads in a matrix, with real runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_testing.distributions import Site, site
from perfcore_testing.project import Project

from perfcore.locks import Lock

__all__ = ["site"]

FAST = ("--repeat", "1", "--warmup", "0")
SIZES = "workloads: [{generator: lines, lines: [1, 20], width: 8}]\n"
HOSTILE = '''
from pathlib import Path

class Bad:
    """Generates in a wrong way."""
    def generate(self, spec, directory):
        path = directory / "first.txt"
        path.write_text("first")
        yield path
        kind = spec["kind"]
        if kind == "fails":
            raise RuntimeError("out of numbers")
        if kind == "outside":
            yield Path(__file__)
        if kind == "link":
            (directory / "link").symlink_to(__file__)
            yield directory / "link"
        if kind == "missing":
            yield directory / "missing"
        if kind == "text":
            yield str(path)
        if kind == "twice":
            yield path
        while kind == "endless":
            path = directory / f"{len(list(directory.iterdir()))}.txt"
            path.touch()
            yield path

class Empty:
    """Generates nothing."""
    def generate(self, spec, directory):
        yield from ()
'''


@pytest.fixture
def acme(site: Site) -> Site:
    points = {"perfcore.workload": ["bad = acme_bad:Bad", "empty = acme_bad:Empty"]}
    site.install("acme-bad", points=points, acme_bad=HOSTILE)
    return site


def leftovers(project: Project) -> list[Path]:
    """Directories of workloads that still exist, anywhere below the user's home."""
    return [path for path in project.home.rglob("workload-*") if path.is_dir()]


def test_each_file_is_a_variant_of_each_command(project: Project) -> None:
    command = "{name: 'wc -l {workload} >> counts', shell: true}"
    project.write("jobs.yml", f"bins: [{command}, cat]\n{SIZES}")
    rows = project.perf("run", "matrix", "jobs.yml", *FAST, "--json").json["profiles"]
    assert [row["command"] for row in rows] == [
        "wc -l {workload} >> counts lines/1-lines.txt",
        "wc -l {workload} >> counts lines/20-lines.txt",
        "cat lines/1-lines.txt",
        "cat lines/20-lines.txt",
    ]
    counts = sorted(line.split()[0] for line in (project.path / "counts").read_text().splitlines())
    assert counts == ["1", "20"]
    assert len({row["config_id"] for row in rows}) == 4
    assert leftovers(project) == []


def test_the_same_workload_has_the_same_configuration_in_two_runs(project: Project) -> None:
    """Also where the files had another path, as while another run holds the usual directory."""
    project.write("jobs.yml", f"bins: ['cat {{workload}}']\n{SIZES}")
    words = ("run", "matrix", "jobs.yml", *FAST, "--json")
    first = project.perf(*words).json["profiles"]
    (path,) = project.home.rglob("workload-000.lock")
    lock = Lock(path)
    assert lock.acquire(0)
    second = project.perf(*words).json["profiles"]
    lock.release()
    assert len(list(project.home.rglob("workload-*.lock"))) == 2
    for name in ("config_id", "argv", "command"):
        assert [row[name] for row in first] == [row[name] for row in second]
    assert {word for row in first for word in row["argv"]} == {"cat", "{workload}"}


def test_other_content_is_another_configuration(project: Project) -> None:
    ids = []
    for seed in (1, 2):
        text = f"bins: [cat]\nworkloads: [{{generator: lines, lines: [9], seed: {seed}}}]\n"
        project.write("jobs.yml", text)
        (row,) = project.perf("run", "matrix", "jobs.yml", *FAST, "--json").json["profiles"]
        ids.append((row["command"], row["config_id"]))
    assert ids[0][0] == ids[1][0]
    assert ids[0][1] != ids[1][1]


def test_versions_share_the_files_and_missing_ones_are_found(project: Project) -> None:
    project.commit("Second")
    project.write("jobs.yml", f"bins: [cat]\n{SIZES}")
    words = ("run", "matrix", "jobs.yml", *FAST, "--all", "--missing", "--add", "--json")
    assert len(project.perf(*words).json["profiles"]) == 4
    assert project.perf(*words).json["profiles"] == []
    assert leftovers(project) == []


def test_a_dry_run_generates_nothing(project: Project) -> None:
    project.write("jobs.yml", "bins: [cat]\nworkloads: [{generator: lines, lines: [1000000000000]}]\n")
    done = project.perf("run", "matrix", "jobs.yml", "--dry-run")
    assert done.lines[0].endswith("cat lines/*")
    assert "lines/* counts as one job here; a run has one for each file that it generates" in done.err
    listed = project.perf("run", "matrix", "jobs.yml", "--dry-run", "--json").json["jobs"]
    assert listed[0]["argv"] == ["cat", "{workload}"]


def test_a_generator_of_a_versioned_file_runs_only_after_the_user_trusted_it(project: Project) -> None:
    project.write(".perfcore.yml", f"bins: [cat]\n{SIZES}")
    project.perf("run", "matrix", *FAST, code=7)
    assert list(project.home.rglob("workload-*")) == []
    project.perf("config", "trust", "--yes")
    assert len(project.perf("run", "matrix", *FAST, "--json").json["profiles"]) == 2


@pytest.mark.parametrize(
    ("entry", "code", "says"),
    [
        ("{generator: lines, lnies: [1]}", 2, "jobs.yml, line 4: workload lines: unknown key 'lnies'"),
        ("{generator: lines, lines: [1], options: {max_siez: 1}}", 2, "line 4: workload lines: unknown option"),
        ("{generator: lines, lines: [1], options: 3}", 2, "line 4: options of a generator should hold keys"),
        ("{generator: lines, sizes: [100 GiB]}", 2, "line 4: workload lines: the files have"),
        ("{generator: nobody}", 5, "line 4: there is no workload 'nobody'"),
        ("{lines: [1]}", 2, "line 4: a workload is text, or keys and values with `generator`"),
        ("{generator: [x]}", 2, "line 4: a workload is text, or keys"),
        ("{generator: lines, 3: x}", 2, "line 4: the keys of a generator are text"),
        ("{generator: bad, kind: fails}", 5, "line 4: RuntimeError: out of numbers"),
        ("{generator: bad}", 5, "line 4: KeyError"),
        ("{generator: bad, kind: outside}", 5, "line 4: it gave no file below its directory"),
        ("{generator: bad, kind: link}", 5, "lies outside the directory"),
        ("{generator: bad, kind: missing}", 5, "line 4: it gave no file below its directory"),
        ("{generator: bad, kind: text}", 5, "line 4: it gave no file below its directory"),
        ("{generator: bad, kind: twice}", 5, "line 4: first.txt is given twice"),
        ("{generator: bad, kind: endless}", 2, "line 4: the generator makes more than 1,000 files"),
        ("{generator: empty}", 5, "line 4: it generated no file"),
    ],
)
def test_a_wrong_generator_is_one_error_at_its_place(
    project: Project, acme: Site, entry: str, code: int, says: str
) -> None:
    project.write("jobs.yml", f"bins: [touch]\nworkloads:\n  - good.txt\n  - {entry}\n")
    done = project.perf("run", "matrix", "jobs.yml", *FAST, code=code, env=acme.env)
    assert says in done.err
    assert "Traceback" not in done.err
    assert leftovers(project) == []
    assert not (project.path / "good.txt").exists()


def test_the_files_of_a_killed_command_are_removed_by_the_next(project: Project) -> None:
    project.write("jobs.yml", f"bins: [cat]\n{SIZES}")
    project.perf("run", "matrix", "jobs.yml", *FAST)
    (lock,) = project.home.rglob("workload-000.lock")
    stale = lock.with_suffix("") / "lines"
    stale.mkdir(parents=True)
    (stale / "7-lines.txt").write_text("left")
    project.perf("run", "matrix", "jobs.yml", *FAST)
    assert leftovers(project) == []


def test_a_command_that_fails_leaves_no_files(project: Project) -> None:
    project.write("jobs.yml", f"bins: ['false']\n{SIZES}")
    project.perf("run", "matrix", "jobs.yml", *FAST, code=6)
    assert leftovers(project) == []
