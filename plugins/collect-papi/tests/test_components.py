"""Components of PAPI that need no processor. The wheel of python_papi has none of them; `.ci/papi` builds one that has,
and `.ci/run` does so before the tests:

    PERFCORE_TEST_PAPI=$(.ci/papi) pytest plugins/collect-papi
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BUILT = os.environ.get("PERFCORE_TEST_PAPI")
REFUSED = os.environ.get("PERFCORE_TEST_PAPI_REFUSED", "$PERFCORE_TEST_PAPI is not set")
pytestmark = pytest.mark.skipif(
    not BUILT, reason=f"there is no python_papi with the components io and example (.ci/papi builds one): {REFUSED}"
)

COLLECTING = """
import sys
from perfcore_collect_papi import PapiCollector, PapiSettings
from perfcore.errors import PluginError
from perfcore.model import Job
from perfcore_testing.collector import Measuring

def counted(code, **options):
    argv = (sys.executable, "-I", "-S", "-c", "import os, subprocess, sys\\n" + code)
    with Measuring(PapiCollector(PapiSettings(**options)), Job(argv=argv, cmd="python")) as measuring:
        measuring.run()
        measuring.run()
    return measuring
"""
WRITE = "file = os.open(os.devnull, os.O_WRONLY); os.write(file, bytes({size}))"


def run(code: str, tmp_path: Path) -> list[str]:
    path = os.pathsep.join(filter(None, (BUILT, os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", COLLECTING + code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_bytes_written_are_those_of_the_whole_tree(tmp_path: Path) -> None:
    own = WRITE.format(size=3_000_000)
    child = WRITE.format(size=4_000_000)
    code = f"""
none, own, both = (
    counted(code, event=("io:::wchar",)).rows
    for code in ("", {own!r}, {own + "; subprocess.run([sys.executable, '-c', " + repr("import os; " + child) + "])"!r})
)
print([one["io:::wchar"] - zero["io:::wchar"] for one, zero in zip(own, none)])
print([all["io:::wchar"] - zero["io:::wchar"] >= 7_000_000 for all, zero in zip(both, none)])
"""
    exact, whole = run(code, tmp_path)
    assert exact == "[3000000, 3000000]"
    assert whole == "[True, True]"


def test_components_stand_beside_the_kernels_counters(tmp_path: Path) -> None:
    code = """
measured = counted("pass", event=("io:::syscw", "task-clock"), interval=0.01)
print(measured.session.sampling["source"], measured.session.profile_type, measured.session.sampling["attribution"])
cpus = {*measured.profile.tables["topology"]["cpu"]}
print({row["cpu"] for row in measured.rows if row["task-clock"] is not None} == cpus)
print({row["cpu"] for row in measured.rows if row["io:::syscw"] is not None})
"""
    assert run(code, tmp_path) == ["component+software papi.component kernel", "True", "{None}"]


def test_a_fallback_takes_components_last_but_one(
    tmp_path: Path, preload: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(preload))
    monkeypatch.setenv("FAKEPMU_ERRNO", "1")
    code = """
measured = counted("pass", event=("PAPI_TOT_INS", "io:::wchar"), fallback=True)
print(measured.session.sampling["source"], *measured.resources.names[1:])
"""
    assert run(code, tmp_path) == ["component io:::wchar"]


def test_what_goes_on_counting_starts_from_0_all_the_same(tmp_path: Path) -> None:
    code = """
from perfcore_collect_papi import EventSet, PapiMetrics, library
names = [component.name for component in library().components]
def made(component, event):
    return EventSet(library(), [event], component=names.index(component))
example = made("example", "example:::EXAMPLE_AUTOINC")
metrics = PapiMetrics.start(example)
metrics.read(example)
first = metrics.value("example:::EXAMPLE_AUTOINC")
metrics.read(example)
print(metrics.value("example:::EXAMPLE_AUTOINC") - first)
metrics.accum(example)
metrics.stop(example)
example.close()
io = made("io", "io:::wchar")
metrics = PapiMetrics.start(io)
import os
file = os.open(os.devnull, os.O_WRONLY)
os.write(file, bytes(1000))
metrics.read(io)
values = [metrics.value("io:::wchar")]
metrics.reset(io)
os.write(file, bytes(10))
metrics.read(io)
values.append(metrics.value("io:::wchar"))
os.write(file, bytes(5))
metrics.stop(io)
print(*values, metrics.value("io:::wchar"))
"""
    assert run(code, tmp_path) == ["1", "1000 10 15"]
