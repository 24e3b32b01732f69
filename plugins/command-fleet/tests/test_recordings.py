"""A forking service, recorded by py-spy and by `perf fleet run`, and its pages in a real browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.pages import violations
from perfcore_testing.project import Project

SERVICE = """\
import os
import time


def busy(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(1000))


def checkout():
    busy(1.5)


def browse():
    busy(1.0)


pid = os.fork()
if pid:
    checkout()
    os.waitpid(pid, 0)
else:
    browse()
"""


def record_by_pyspy(project: Project, path: Path) -> None:
    """Every process of the service in one file."""
    path.parent.mkdir(parents=True)
    words = ["record", "--format", "raw", "--subprocesses", "--full-filenames", "--rate", "97", "-o", str(path)]
    program = Path(sys.executable).with_name("py-spy")
    done = subprocess.run(
        [str(program), *words, "--", sys.executable, "service.py"], capture_output=True, text=True, cwd=project.path
    )
    if not path.exists():
        pytest.skip(f"py-spy cannot record here: {done.stderr.strip()[-200:]}")


@pytest.mark.process
def test_recordings_of_a_forking_service_in_a_browser(project: Project, window: Any, axe: str, tmp_path: Path) -> None:
    project.commit("release", service__py=SERVICE)
    project.git("tag", "R1")
    spool = tmp_path / "spool"
    record_by_pyspy(project, spool / "pyspy" / "service.1.raw")
    words = ("--spool", str(spool / "own"), "--label", "service=shop", "--rate", "97")
    project.perf("fleet", "run", *words, "--", sys.executable, "service.py")
    done = project.perf("fleet", "ingest", str(spool), "--release", "R1", "--json").json
    assert (done["new"], done["problems"]) == (3, [])  # a file of py-spy, and one of each process

    for where in ("host=pyspy", "service=shop"):
        report = project.perf("fleet", "report", "--where", where, "-n", "1000", "--json").json
        samples = {
            name: sum(row["inclusive"] for row in report["rows"] if name in row["name"])
            for name in ("checkout", "browse", "busy")
        }
        assert min(samples["checkout"], samples["browse"]) > 20, report
        assert samples["busy"] >= 0.9 * (samples["checkout"] + samples["browse"])

    project.perf("fleet", "show", "R1", "annotate", "-o", str(tmp_path / "site"))
    project.perf("fleet", "show", "R1", "flamegraph", "-o", str(tmp_path / "flames.html"))
    for page, drawn in ((tmp_path / "site/index.html", "main"), (tmp_path / "flames.html", None)):
        window.problems.clear()
        window.open(page.as_uri(), *([drawn] if drawn else []))
        for name in ("checkout", "browse", "busy"):
            assert window.run(f"document.documentElement.textContent.includes('{name}')"), (page, name)
        assert violations(window, axe) == []
        assert window.problems == []
    (page,) = (tmp_path / "site").glob("*service.py*.html")
    window.open(page.as_uri(), "main")
    assert "sum(range(1000))" in window.run("document.body.textContent")
    assert window.run("document.querySelectorAll('tr[id^=L]').length") >= len(SERVICE.splitlines())
    assert violations(window, axe) == []
