"""The collector as a user meets it: `perf collect papi` in a repository of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from perfcore_collect_papi import diagnosis
from perfcore_testing.project import Project

FAST = ("collect", "papi", "--warmup", "0", "--repeat", "2")
KERNEL = ("--event", "task-clock", "--event", "page-faults")
no_unit = pytest.mark.skipif(bool(diagnosis.machine().units), reason="this machine has a processor that counts")


def pending(project: Project) -> int:
    return len(project.perf("status", "--json").json["pending"])


@no_unit
def test_without_counters_it_fails_with_the_reason_before_anything_runs(project: Project) -> None:
    done = project.perf(*FAST, "--", "touch", "ran", code=5)
    assert "this machine offers no hardware counters" in done.err
    assert "hint: run where a PMU is visible, or use --fallback" in done.err
    assert "perf config set collector.papi.fallback true" in done.err
    assert not (project.path / "ran").exists()
    assert pending(project) == 0


@no_unit
def test_a_fallback_is_said_and_stored(project: Project) -> None:
    done = project.perf(*FAST, "--fallback", "--", "true")
    assert "task-clock" in done.out
    assert "; these are the kernel's own counters" in done.err
    assert pending(project) == 1
    asked = project.perf(*FAST, "--fallback", "--event", "PAPI_L1_DCM", "--", "true")
    assert "; instead of PAPI_L1_DCM these are the kernel's own counters" in asked.err


def test_counts_of_the_kernel_need_no_fallback(project: Project) -> None:
    done = project.perf(*FAST, *KERNEL, "--total", "--", "true")
    assert [line.split()[0] for line in done.lines[1:3]] == ["task-clock", "page-faults"]


def test_words_arrive_and_exit_codes_are_kept(project: Project) -> None:
    done = project.perf(
        *FAST, *KERNEL, "--on-failure", "ignore", "--", "sh", "-c", 'echo "$1" > said; exit 3', "x", "a b"
    )
    assert (project.path / "said").read_text() == "a b\n"
    assert "2 runs" in done.out


def test_the_same_options_stand_in_a_job_matrix(project: Project) -> None:
    matrix = {
        "bins": ["true"],
        "collectors": [{"name": "papi", "params": {"event": ["task-clock"], "per_cpu": False, "repeat": 2}}],
    }
    Path(project.path / "matrix.yml").write_text(json.dumps(matrix))
    project.perf("run", "matrix", "matrix.yml")
    assert pending(project) == 1


@pytest.mark.usefixtures("processor")
def test_ratios_and_places_are_in_the_profile_and_survive_an_export(project: Project, preload: Path) -> None:
    env = {"LD_PRELOAD": str(preload), "LIBPFM_FORCE_PMU": "skl"}
    project.env.update(env)
    project.perf(*FAST, "--interval", "20ms", "--", "sleep", "0.05")
    project.perf("export", "0@p", "-o", "exported.perf")
    text = (project.path / "exported.perf").read_text()
    assert all(word in text for word in ("topology", "snapshots", "derived", "ipc", "PAPI_TOT_CYC"))


@no_unit
def test_profiles_of_different_sources_are_not_compared(project: Project, preload: Path) -> None:
    project.perf("collect", "papi", "--repeat", "2", "--fallback", "--add", "--", "true")
    project.env.update({"LD_PRELOAD": str(preload), "LIBPFM_FORCE_PMU": "skl"})
    project.perf("collect", "papi", "--repeat", "2", "--fallback", "--add", "--", "true")
    done = project.perf("log", "--json")
    entries = [entry for line in done.lines for entry in json.loads(line)["profiles"]]
    assert {entry["type"] for entry in entries} == {"papi.forced", "papi.software"}
    assert len({entry["config_id"] for entry in entries}) == 2
    words: tuple[str, ...]
    for words in (("check", "0@i", "1@i"), ("diff", "0@i", "1@i"), ("compare", "0@i", "1@i")):
        refused = project.perf(*words, code=2 if words[0] == "compare" else None)
        assert refused.code not in (0, 1, 70), refused
        assert "papi.software" in refused.err


@no_unit
def test_a_comparison_counts_what_the_configuration_allows(project: Project) -> None:
    words = ("compare", "--collector", "papi", "--max-pairs", "2", "--again", "HEAD", "--", "true")
    assert "perf config set collector.papi.fallback true" in project.perf(*words, code=5).err
    project.perf("config", "set", "collector.papi.fallback", "true")
    assert "task-clock" in project.perf(*words, code=None).out
