"""Real profiles by collect-papi, shown as a user would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from perfcore_testing.project import Project

pytestmark = pytest.mark.skipif(
    not Path("/sys/devices/system/cpu/online").exists(), reason="the kernel does not tell of its CPUs"
)
FAST = ("collect", "papi", "--fallback", "--event", "task-clock", "--repeat", "2", "--warmup", "0")
BURN = "import os; os.sched_setaffinity(0, {%s}); sum(i * i for i in range(4_000_000))"


def collect(project: Project, program: str) -> None:
    done = project.perf(*FAST, "--", "python3", "-c", program, code=None)
    if done.code:
        pytest.skip(f"counters of the kernel are not to be had here: {done.err}")


def test_what_ran_on_one_cpu_is_drawn_there(project: Project) -> None:
    import os

    cpu = max(os.sched_getaffinity(0))
    collect(project, BURN % cpu)
    found = project.perf("show", "0@p", "topology", "--format", "json").json
    (side,) = found["sides"]
    values = {thread["cpu"]: thread["values"] for thread in side["threads"]}
    if "task-clock" not in values[cpu]:
        pytest.skip("the counters of this kernel are not divided among CPUs")
    assert values[cpu]["task-clock"]["share"] > 0.5
    text = project.perf("show", "0@p", "topology").out
    assert f"CPU {cpu} " in text
    assert "package" in text


def test_two_profiles_are_one_page(project: Project) -> None:
    for _ in range(2):
        collect(project, BURN % 0)
    project.perf("show", "0@p", "1@p", "topology", "-o", "page.html")
    page = (project.path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    data = json.loads(page.partition('id="data">')[2].partition("<")[0])
    assert [side["word"] for side in data["sides"]] == ["baseline", "target"]
    assert data["comparable"] is True


def test_a_profile_without_cpus_is_an_error_and_leaves_no_file(project: Project) -> None:
    done = project.perf(*FAST, "--total", "--", "true", code=None)
    if done.code:
        pytest.skip(f"counters of the kernel are not to be had here: {done.err}")
    refused = project.perf("show", "0@p", "topology", "-o", "page.html", code=None)
    assert refused.code not in (0, 1)
    assert "0@p cannot be drawn: the profile does not say on which CPU it was counted" in refused.err
    assert not (project.path / "page.html").exists()


def test_a_difference_tells_what_to_do_instead(project: Project) -> None:
    for _ in range(2):
        collect(project, "pass")
    refused = project.perf("diff", "0@p", "1@p", "--view", "topology", code=None)
    assert refused.code not in (0, 1)
    assert "perf show BASELINE TARGET topology" in refused.err
