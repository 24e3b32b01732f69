"""`perf run`: the job matrix."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from perfcore_testing.distributions import Site, site
from perfcore_testing.project import Project

__all__ = ["site"]

FAST = ("--repeat", "1", "--warmup", "0")
MATRIX = """
collectors:
  - name: time
    repeat: 2
    warmup: 0
bins:
  - name: echo gaston
    params: ["-p -q -g", "-s 10"]
  - name: echo mona
    params: ["-q -s"]
workloads: [ex10.mona, ex14.mona]
"""
DOUBLE = '''
import attrs

class Double:
    """Twice what was measured."""
    def before(self, profile): pass
    def postprocess(self, profile): return attrs.evolve(profile, notes=(*profile.notes, "doubled"))
    def after(self, profile): pass
'''


@pytest.fixture
def acme(site: Site) -> Site:
    site.install("acme-double", points={"perfcore.postprocessor": ["double = acme_double:Double"]}, acme_double=DOUBLE)
    return site


def test_the_matrix_is_the_product_of_its_parts(project: Project) -> None:
    project.write("jobs.yml", MATRIX)
    rows = project.perf("run", "matrix", "jobs.yml", "--json").json["profiles"]
    assert [row["argv"][1:] for row in rows] == [
        ["gaston", "-p", "-q", "-g", "ex10.mona"],
        ["gaston", "-p", "-q", "-g", "ex14.mona"],
        ["gaston", "-s", "10", "ex10.mona"],
        ["gaston", "-s", "10", "ex14.mona"],
        ["mona", "-q", "-s", "ex10.mona"],
        ["mona", "-q", "-s", "ex14.mona"],
    ]
    assert {metric["runs"] for row in rows for metric in row["metrics"] if metric["metric"] == "cpu"} == {2}
    assert len({row["config_id"] for row in rows}) == 6


def test_dry_run_lists_the_jobs_and_runs_nothing(project: Project) -> None:
    project.write("jobs.yml", MATRIX.replace("echo", "touch"))
    lines = project.perf("run", "matrix", "jobs.yml", "--dry-run").lines
    assert len(lines) == 7
    assert lines[0].endswith("touch gaston -p -q -g ex10.mona")
    listed = project.perf("run", "matrix", "jobs.yml", "--dry-run", "--json").json
    assert listed["schema"] == 1
    assert listed["jobs"][5]["argv"] == ["touch", "mona", "-q", "-s", "ex14.mona"]
    assert project.git("status", "--porcelain").out.split() == ["??", "jobs.yml"]


def test_the_matrix_of_the_configuration_runs_wproject_it_is_the_user_s_own(project: Project) -> None:
    project.perf("config", "set", "bins", "[echo]")
    project.perf("config", "set", "workloads", "[a, b]")
    rows = project.perf("run", "matrix", *FAST, "--json").json["profiles"]
    assert [row["argv"] for row in rows] == [["echo", "a"], ["echo", "b"]]


def test_the_matrix_of_a_versioned_file_runs_only_after_the_user_trusted_it(project: Project) -> None:
    project.write(".perfcore.yml", "bins: [touch ran]\n")
    assert len(project.perf("run", "matrix", "--dry-run").lines) == 2
    done = project.perf("run", "matrix", *FAST, code=7)
    assert "bins" in done.err
    assert not (project.path / "ran").exists()
    project.perf("config", "trust", "--yes")
    project.perf("run", "matrix", *FAST)
    assert (project.path / "ran").exists()


def test_several_collectors_and_postprocessors_are_applied(project: Project, acme: Site) -> None:
    project.write(
        "jobs.yml",
        "collectors: [{name: time, repeat: 1, warmup: 0}, {name: time, repeat: 3, warmup: 0}]\n"
        "postprocessors: [{name: double}, double]\nbins: ['true']\n",
    )
    done = project.perf("run", "matrix", "jobs.yml", "--json", env=acme.env)
    runs = [{m["runs"] for m in row["metrics"] if m["metric"] == "cpu"} for row in done.json["profiles"]]
    assert runs == [{1}, {3}]
    assert [row["notes"].count("doubled") for row in done.json["profiles"]] == [2, 2]
    project.perf("add", "--all")
    entries = project.perf("status", "--json").json["profiles"]
    assert [entry["postprocessors"] for entry in entries] == [["double", "double"]] * 2


def test_many_versions_and_only_what_is_missing(project: Project) -> None:
    project.write("jobs.yml", "bins: ['true', 'echo']\n")
    project.commit("Second")
    first, second = project.git("rev-list", "--reverse", "HEAD").out.split()

    def measured(*words: str) -> list[tuple[str, str]]:
        done = project.perf("run", "matrix", "jobs.yml", *FAST, "--add", "--json", *words)
        return sorted((row["version"], row["command"]) for row in done.json["profiles"])

    assert measured("--version", first) == sorted([(first, "true"), (first, "echo")])
    project.perf("collect", "time", "-r", "1", "--warmup", "0", "--version", second, "--add", "--", "true")
    assert measured("--all", "--missing") == [(second, "echo")]
    assert measured("--all", "--missing") == []
    assert len(measured("--since", first)) == 2
    assert len(measured("--version", first, "--version", second)) == 4


def test_a_matrix_file_can_build_versions(project: Project) -> None:
    project.write("jobs.yml", "bins: [ls built]\nexecute: {pre_run: [touch built]}\n")
    done = project.perf("run", "matrix", "jobs.yml", *FAST, "--version", "HEAD")
    assert "ls built" in done.out
    assert not (project.path / "built").exists()
    project.perf("run", "matrix", "jobs.yml", *FAST, "--version", "HEAD", "--no-build", code=6)


def test_commands_that_need_a_shell_say_so(project: Project) -> None:
    project.write("jobs.yml", "bins: [{name: 'echo a > made', shell: true}]\n")
    project.perf("run", "matrix", "jobs.yml", *FAST)
    assert (project.path / "made").read_text() == "a\n"
    project.write("jobs.yml", "bins: ['echo a > other']\n")
    assert "needs a shell" in project.perf("run", "matrix", "jobs.yml", code=2).err
    assert not (project.path / "other").exists()


def test_variables_and_workloads_of_one_command(project: Project) -> None:
    project.write(
        "jobs.yml",
        "bins:\n  - {name: sh, params: [[-c, 'echo $LEVEL $0 >> got', 'a b']], env: {LEVEL: 3}, workloads: []}\n"
        "workloads: [ignored]\n",
    )
    project.perf("run", "matrix", "jobs.yml", *FAST)
    assert (project.path / "got").read_text() == "3 a b\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bins: [a\n", "jobs.yml, line 2, is not YAML"),
        ("bins: [a]\n\ncolectors: [time]\n", "jobs.yml, line 3: unknown key 'colectors'"),
        ("bins:\n  - name: a\n    parms: [x]\n", "jobs.yml, line 3: bins: unknown key 'parms'"),
        ("bins: [a]\nexecute:\n  prerun: [x]\n", "jobs.yml, line 3: unknown key 'execute.prerun'"),
        ("bins: [a]\nschedule: {repeats: 3}\n", "schedule: unknown option 'repeats'"),
        ("bins: [a]\ncollectors: [{name: time, repaet: 3}]\n", "unknown option 'repaet'"),
        ("bins: [a]\ncollectors: [{repeat: 3}]\n", "which has no name"),
        ("bins: [true]\n", "should be text, got True"),
        ("bins: [{params: [x]}]\n", "should be text, got None"),
        ("bins: {gaston: [x]}\n", "a list is wanted"),
        ("- a\n- b\n", "should hold keys"),
        ("", "should hold keys"),
        ("workloads: [a]\n", "no command to measure"),
    ],
)
def test_a_matrix_that_makes_no_sense_is_one_error(project: Project, text: str, says: str) -> None:
    project.write("jobs.yml", text)
    done = project.perf("run", "matrix", "jobs.yml", code=2)
    assert says in done.err
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) <= 2


def test_an_unknown_key_names_the_nearest(project: Project) -> None:
    project.write("jobs.yml", "bins: [a]\ncolectors: [time]\n")
    assert "did you mean 'collectors'?" in project.perf("run", "matrix", "jobs.yml", code=2).err


def test_a_yaml_bomb_is_refused(project: Project) -> None:
    lines = ["args: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"args{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    project.write("jobs.yml", "\n".join([*lines, "bins: *a9"]))
    assert "aliases" in project.perf("run", "matrix", "jobs.yml", code=2).err
    project.write("jobs.yml", "x" * (2 << 20))
    assert "are not read" in project.perf("run", "matrix", "jobs.yml", code=4).err


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes that have a name")
@pytest.mark.parametrize("size", [0, 2 << 20])
def test_a_matrix_may_come_from_a_pipe(project: Project, size: int) -> None:
    os.mkfifo(project.path / "pipe")
    project.write("source", "bins: ['true']\nargs: [a]\n" + "#" * size)
    with subprocess.Popen(["sh", "-c", "cat source > pipe"], cwd=project.path, stderr=subprocess.DEVNULL):
        told = project.perf("run", "matrix", "pipe", "--dry-run", code=4 if size else 0)
    assert ("are not read" in told.err) if size else ("true a" in told.out)


def test_a_product_that_nobody_can_wait_for_is_refused(project: Project) -> None:
    many = json.dumps([str(number) for number in range(2000)])
    project.write("jobs.yml", f"bins: [a]\nargs: {many}\nworkloads: {many}\n")
    done = project.perf("run", "matrix", "jobs.yml", "--dry-run", code=2)
    assert "more than 10,000 commands" in done.err


def test_a_file_that_is_not_there_is_an_error(project: Project) -> None:
    assert "there is no file nothing.yml" in project.perf("run", "matrix", "nothing.yml", code=3).err
    project.perf("run", "matrix", ".", code=4)


def test_without_a_matrix_it_says_what_to_write(project: Project) -> None:
    done = project.perf("run", "matrix", code=2)
    assert "no command to measure" in done.err
    assert "bins" in done.err


def test_a_job_is_a_matrix_on_the_command_line(project: Project) -> None:
    words = ("--command", "echo", "--args", "-n 'a b'", "--args", "-e", "-w", "x", "-w", "y z", "--collector", "time")
    rows = project.perf("run", "job", *words, *FAST, "--json").json["profiles"]
    assert [row["argv"] for row in rows] == [
        ["echo", "-n", "a b", "x"],
        ["echo", "-n", "a b", "y", "z"],
        ["echo", "-e", "x"],
        ["echo", "-e", "y", "z"],
    ]


def test_a_job_may_need_a_shell(project: Project) -> None:
    done = project.perf("run", "job", "--command", "echo a > made", *FAST, code=2)
    assert "--shell" in done.err
    project.perf("run", "job", "--shell", "--command", "echo a > made", *FAST)
    assert (project.path / "made").exists()


def test_a_job_without_a_command_is_wrong_usage(project: Project) -> None:
    assert "--command" in project.perf("run", "job", code=2).err
