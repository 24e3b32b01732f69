"""Tries the laws of a kind on an installed plugin: pytest in a process and a folder of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import attrs

from perfcore.errors import NotFoundError, PluginError, nearest
from perfcore.plugins.installed import PluginInfo
from perfcore.text import printable

LAWS = "perfcore_testing.laws"
# Characters of what pytest said last: the end of a traceback, which names the error.
_TAIL = 2000
_TEST = """\
from pathlib import Path

from perfcore_testing.laws import contract_of

TestPlugin = contract_of({kind!r}, {name!r}, {options!r}, Path({folder!r}))
"""
_SETTINGS = "[pytest]\naddopts = -q\n"
# Variables of the user's own pytest would change which laws run, and colours what is read here.
_FOREIGN = ("PYTEST_", "PY_COLORS", "FORCE_COLOR")

Progress = Callable[[int, int, str], None]


@attrs.frozen
class Failed:
    """A case of a law that did not hold; the case is empty where the law has only one."""

    case: str
    reason: str


@attrs.frozen(kw_only=True)
class Law:
    """One law, what it says, and what came of it. `reason` tells why it does not apply."""

    name: str
    says: str
    state: Literal["passed", "failed", "not applicable"]
    cases: int
    failed: tuple[Failed, ...] = ()
    reason: str = ""

    @property
    def words(self) -> str:
        """`test_exit_codes_are_told` as a sentence: exit codes are told."""
        return self.name.removeprefix("test_").replace("_", " ")


@attrs.frozen(kw_only=True)
class Trial:
    """What is tried: a plugin as it is used in a folder, made with these options."""

    info: PluginInfo
    folder: Path
    options: Mapping[str, Any] = {}
    timeout: float = 600.0
    only: tuple[str, ...] = ()  # laws, as functions or as sentences; all of them if empty


def is_possible() -> bool:
    """Whether pytest is installed beside perfcore."""
    return importlib.util.find_spec("pytest") is not None


def laws(
    trial: Trial,
    environ: Mapping[str, str],
    progress: Progress = lambda done, total, text: None,
    over: Callable[[Law], None] = lambda law: None,
) -> list[Law]:
    """The outcome of every law; `over` is called with each as soon as it is known. PluginError if they could not be
    tried, NotFoundError if none is called as the trial wants."""
    if not is_possible():
        raise PluginError("the laws are tests for pytest, which is missing", hint="pip install 'perfcore-testing'")
    with tempfile.TemporaryDirectory(prefix="perfcore-laws-") as folder:
        directory = Path(folder).resolve()
        record = directory / "record.json"
        exit_output = _run(trial, directory, record, environ, progress, over)
        if not record.exists():
            raise _failed(trial, f"its trial ended before its time:\n{exit_output[-_TAIL:].strip()}")
        recorded = json.loads(record.read_text(encoding="utf-8"))
    if trial.only and not recorded["laws"] and not recorded["errors"]:
        names = [name.removeprefix("test_") for name in recorded["names"]]
        raise NotFoundError(
            f"{trial.info} has no law called {printable(', '.join(trial.only))}",
            hint=nearest(_function(trial.only[0]).removeprefix("test_"), names),
        )
    if recorded["errors"] or not recorded["laws"]:
        raise _failed(trial, "\n".join(recorded["errors"]) or "its contract has no laws")
    return [_law(law) for law in recorded["laws"]]


def _function(law: str) -> str:
    """The test function of a law: `exit codes are told` is `test_exit_codes_are_told`."""
    return f"test_{law.removeprefix('test_').strip().replace(' ', '_')}"


def _run(
    trial: Trial,
    place: Path,
    record: Path,
    environ: Mapping[str, str],
    progress: Progress,
    over: Callable[[Law], None],
) -> str:
    """What pytest printed, less what was told law by law."""
    test = _TEST.format(
        kind=trial.info.kind, name=trial.info.name, options=dict(trial.options), folder=str(trial.folder.resolve())
    )
    (place / "test_plugin.py").write_text(test, encoding="utf-8")
    (place / "pytest.ini").write_text(_SETTINGS)
    words = ["-c", "pytest.ini", "--rootdir", str(place), "--basetemp", str(place / "tmp"), "-p", "no:cacheprovider"]
    argv = [sys.executable, "-m", "pytest", "-p", LAWS, *words, f"--perfcore-record={record}", "test_plugin.py"]
    argv += [f"--perfcore-law={_function(law)}" for law in trial.only]
    variables = {name: value for name, value in environ.items() if not name.startswith(_FOREIGN)}
    output: list[str] = []
    done = 0
    # Plugins of pytest that happen to be installed may reorder, repeat or time out the laws.
    with _process(argv, place, {**variables, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}) as process:
        timer = threading.Timer(trial.timeout, _kill, [process])
        timer.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                before, outcome, document = line.partition("law-outcome: ")
                if outcome:
                    output.append(before)
                    over(_law(json.loads(document)))
                    continue
                before, law, law_name = line.partition("law: ")
                output.append(before if law else line)
                if law:
                    total, _, name = law_name.strip().partition(" ")
                    done += 1
                    progress(done - 1, int(total), name.removeprefix("test_").replace("_", " "))
            process.wait()
        finally:
            late = not timer.is_alive()
            timer.cancel()
    if late:
        raise _failed(trial, f"its laws took longer than {trial.timeout:g} s", hint="--timeout gives them more time")
    return "".join(output)


@contextlib.contextmanager
def _process(argv: list[str], place: Path, environ: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """pytest in a process group of its own, of which nothing is left afterwards."""
    process = subprocess.Popen(
        argv,
        cwd=place,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="backslashreplace",
        start_new_session=os.name == "posix",
    )
    try:
        yield process
    finally:
        _kill(process)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _law(told: Mapping[str, Any]) -> Law:
    failed = tuple(Failed(case["case"], case["reason"]) for case in told["failed"])
    state: Any = "failed" if failed else "passed" if told["passed"] else "not applicable"
    return Law(
        name=told["law"],
        says=told["says"],
        state=state,
        cases=told["passed"] + len(failed) + len(told["skipped"]),
        failed=failed,
        reason=told["skipped"][0] if state == "not applicable" and told["skipped"] else "",
    )


def _failed(trial: Trial, reason: str, hint: str | None = None) -> PluginError:
    return PluginError(reason, plugin=str(trial.info), phase="contract", hint=hint)
