"""`perf run`: the job matrix."""

from __future__ import annotations

import json

import pytest
from perfcore_testing.distributions import Site

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


def test_the_matrix_is_the_product_of_its_parts(here) -> None:
    here.write("jobs.yml", MATRIX)
    rows = here.perf("run", "matrix", "jobs.yml", "--json").json["profiles"]
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


def test_dry_run_lists_the_jobs_and_runs_nothing(here) -> None:
    here.write("jobs.yml", MATRIX.replace("echo", "touch"))
    lines = here.perf("run", "matrix", "jobs.yml", "--dry-run").lines
    assert len(lines) == 6
    assert lines[0].split() == ["time", "touch", "gaston", "-p", "-q", "-g", "ex10.mona"]
    listed = here.perf("run", "matrix", "jobs.yml", "--dry-run", "--json").json
    assert listed["schema"] == 1
    assert listed["jobs"][5]["argv"] == ["touch", "mona", "-q", "-s", "ex14.mona"]
    assert here.git("status", "--porcelain").out.split() == ["??", "jobs.yml"]


def test_the_matrix_of_the_configuration_runs_where_it_is_the_user_s_own(here) -> None:
    here.perf("config", "set", "bins", "[echo]")
    here.perf("config", "set", "workloads", "[a, b]")
    rows = here.perf("run", "matrix", *FAST, "--json").json["profiles"]
    assert [row["argv"] for row in rows] == [["echo", "a"], ["echo", "b"]]


def test_the_matrix_of_a_versioned_file_runs_only_after_the_user_trusted_it(here) -> None:
    here.write(".perfcore.yml", "bins: [touch ran]\n")
    assert len(here.perf("run", "matrix", "--dry-run").lines) == 1
    done = here.perf("run", "matrix", *FAST, code=7)
    assert "bins" in done.err
    assert not (here.path / "ran").exists()
    here.perf("config", "trust", "--yes")
    here.perf("run", "matrix", *FAST)
    assert (here.path / "ran").exists()


def test_several_collectors_and_postprocessors_are_applied(here, acme: Site) -> None:
    here.write(
        "jobs.yml",
        "collectors: [{name: time, repeat: 1, warmup: 0}, {name: time, repeat: 3, warmup: 0}]\n"
        "postprocessors: [{name: double}, double]\nbins: ['true']\n",
    )
    done = here.real.perf("run", "matrix", "jobs.yml", "--json", env=acme.env)
    runs = [{m["runs"] for m in row["metrics"] if m["metric"] == "cpu"} for row in done.json["profiles"]]
    assert runs == [{1}, {3}]
    assert [row["notes"].count("doubled") for row in done.json["profiles"]] == [2, 2]
    here.perf("add", "--all")
    entries = here.perf("status", "--json").json["profiles"]
    assert [entry["postprocessors"] for entry in entries] == [["double", "double"]] * 2


def test_many_versions_and_only_what_is_missing(here) -> None:
    here.write("jobs.yml", "bins: ['true', 'echo']\n")
    here.commit("Second")
    first, second = here.git("rev-list", "--reverse", "HEAD").out.split()

    def measured(*words: str) -> list[tuple[str, str]]:
        done = here.perf("run", "matrix", "jobs.yml", *FAST, "--add", "--json", *words)
        return sorted((row["version"], row["command"]) for row in done.json["profiles"])

    assert measured("--version", first) == sorted([(first, "true"), (first, "echo")])
    here.perf("collect", "time", "-r", "1", "--warmup", "0", "--version", second, "--add", "--", "true")
    assert measured("--all", "--missing") == [(second, "echo")]
    assert measured("--all", "--missing") == []
    assert len(measured("--since", first)) == 2
    assert len(measured("--version", first, "--version", second)) == 4


def test_a_matrix_file_can_build_versions(here) -> None:
    here.write("jobs.yml", "bins: [ls built]\nexecute: {pre_run: [touch built]}\n")
    done = here.perf("run", "matrix", "jobs.yml", *FAST, "--version", "HEAD")
    assert "ls built" in done.out
    assert not (here.path / "built").exists()
    here.perf("run", "matrix", "jobs.yml", *FAST, "--version", "HEAD", "--no-build", code=6)


def test_commands_that_need_a_shell_say_so(here) -> None:
    here.write("jobs.yml", "bins: [{name: 'echo a > made', shell: true}]\n")
    here.perf("run", "matrix", "jobs.yml", *FAST)
    assert (here.path / "made").read_text() == "a\n"
    here.write("jobs.yml", "bins: ['echo a > other']\n")
    assert "needs a shell" in here.perf("run", "matrix", "jobs.yml", code=2).err
    assert not (here.path / "other").exists()


def test_variables_and_workloads_of_one_command(here) -> None:
    here.write(
        "jobs.yml",
        "bins:\n  - {name: sh, params: [[-c, 'echo $LEVEL $0 >> got', 'a b']], env: {LEVEL: 3}, workloads: []}\n"
        "workloads: [ignored]\n",
    )
    here.perf("run", "matrix", "jobs.yml", *FAST)
    assert (here.path / "got").read_text() == "3 a b\n"


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
def test_a_matrix_that_makes_no_sense_is_one_error(here, text, says) -> None:
    here.write("jobs.yml", text)
    done = here.perf("run", "matrix", "jobs.yml", code=2)
    assert says in done.err
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) <= 2


def test_an_unknown_key_names_the_nearest(here) -> None:
    here.write("jobs.yml", "bins: [a]\ncolectors: [time]\n")
    assert "did you mean 'collectors'?" in here.perf("run", "matrix", "jobs.yml", code=2).err


def test_a_yaml_bomb_is_refused(here) -> None:
    lines = ["args: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"args{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    here.write("jobs.yml", "\n".join([*lines, "bins: *a9"]))
    assert "aliases" in here.perf("run", "matrix", "jobs.yml", code=2).err
    here.write("jobs.yml", "x" * (2 << 20))
    assert "is larger than" in here.perf("run", "matrix", "jobs.yml", code=4).err


def test_a_product_that_nobody_can_wait_for_is_refused(here) -> None:
    many = json.dumps([str(number) for number in range(2000)])
    here.write("jobs.yml", f"bins: [a]\nargs: {many}\nworkloads: {many}\n")
    done = here.perf("run", "matrix", "jobs.yml", "--dry-run", code=2)
    assert "more than 10,000 commands" in done.err


def test_a_file_that_is_not_there_is_an_error(here) -> None:
    assert "there is no file nothing.yml" in here.perf("run", "matrix", "nothing.yml", code=3).err
    here.perf("run", "matrix", ".", code=4)


def test_without_a_matrix_it_says_what_to_write(here) -> None:
    done = here.perf("run", "matrix", code=2)
    assert "no command to measure" in done.err
    assert "bins" in done.err


def test_a_job_is_a_matrix_on_the_command_line(here) -> None:
    words = ("--cmd", "echo", "--args", "-n 'a b'", "--args", "-e", "-w", "x", "-w", "y z", "-c", "time")
    rows = here.perf("run", "job", *words, *FAST, "--json").json["profiles"]
    assert [row["argv"] for row in rows] == [
        ["echo", "-n", "a b", "x"],
        ["echo", "-n", "a b", "y", "z"],
        ["echo", "-e", "x"],
        ["echo", "-e", "y", "z"],
    ]


def test_a_job_may_need_a_shell(here) -> None:
    done = here.perf("run", "job", "--cmd", "echo a > made", *FAST, code=2)
    assert "--shell" in done.err
    here.perf("run", "job", "--shell", "--cmd", "echo a > made", *FAST)
    assert (here.path / "made").exists()


def test_a_job_without_a_command_is_wrong_usage(here) -> None:
    assert "--cmd" in here.perf("run", "job", code=2).err
