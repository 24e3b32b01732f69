"""The contract of a kind as the tests of one installed plugin, and what came of each law. Run by pytest, in a process
of its own (`perfcore_testing.kit.run_contract`)."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from perfcore.errors import NotFoundError, PerfError, PluginError
from perfcore.hookspecs import KINDS
from perfcore.plugins import Plugins
from perfcore.plugins.installed import HOOK
from perfcore.plugins.observers import target_of
from perfcore.repository import Repository

RECORD = "--perfcore-record"
TOLD = "law: "
OUTCOME = "law-outcome: "
_ONLY = "--perfcore-law"
_UNKNOWN = "only the plugin can tell: its class names no `contract`"
_LINES = 3  # of each end of a failure: an assertion begins with its values, and its difference ends it

# What a contract asks of its user: laws that cannot be tried before a plugin has named a contract of its own.
_ASKED: Mapping[str, tuple[str, ...]] = {
    "vcs": ("test_flags_tell_the_truth", "test_an_empty_repository_has_no_head"),
    "command": ("test_it_prints_through_the_output_only",),
    "format": (
        "test_its_own_files_are_recognised",
        "test_a_profile_is_read",
        "test_what_was_written_is_read_back_equal",
        "test_its_files_of_all_profiles_are_recognised",
        "test_writing_leaves_the_profile_as_it_was_and_only_the_file",
        "test_a_file_that_lost_its_end_is_told_so",
        "test_a_file_with_a_wrong_byte_is_read_or_told_so",
        "test_a_full_disk_leaves_the_old_file",
    ),
    "workload": (
        "test_every_file_is_whole_when_it_is_given",
        "test_the_same_spec_gives_the_same_files",
        "test_other_specs_give_other_files",
        "test_the_spec_stays_as_it_was",
        "test_files_come_in_growing_size",
        "test_a_file_is_not_made_before_it_is_asked_for",
        "test_a_spec_that_makes_no_sense_is_refused",
    ),
}
_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "check": ("test_says_the_same_in_another_process", "test_a_scan_says_the_same_in_another_process")
}
# The methods of checks, and the modules of their contracts.
_WAYS: Mapping[str, str] = {"compare": "check", "scan": "scan", "judge": "judge"}
_HERE = "other processes cannot import a plugin that is no distribution"
_GIVEN: Mapping[str, tuple[str, ...]] = {"vcs": ("script",), "notifier": ("delivered",)}


def contract_of(kind: str, name: str, options: Mapping[str, Any], folder: Path) -> type[Any]:
    """The test class for a plugin that is used in this folder: the contract that its class names, or else that of the
    kind with a driver made of these options."""
    plugins = _plugins(folder)
    if kind == HOOK:
        return _of_observer(plugins, name)
    plugin, driver = plugins.load(kind, name)
    declared = getattr(driver, "contract", None)
    if declared is not None:
        return _imported(str(declared), str(plugin))
    base = _checks(driver) if kind == "check" else _class(kind)
    fixtures = {fixture: _missing(fixture) for fixture in _GIVEN.get(kind, ())}
    flags: dict[str, Any] = {"specs": ({},)} if kind == "workload" else {}
    left_out = dict.fromkeys(_ASKED.get(kind, ()), _UNKNOWN)
    if plugins.is_local(plugin):
        left_out |= dict.fromkeys(_ELSEWHERE.get(kind, ()), _HERE)
        flags |= {"processes": False} if kind == "storage" else {}
    laws = {
        law: pytest.mark.skip(reason=why)(_copied(getattr(base, law)))
        for law, why in left_out.items()
        if hasattr(base, law)
    }
    return type("TestPlugin", (base,), {"driver": _driver(plugins, kind, name, options), **fixtures, **laws, **flags})


class Recorder:
    """Writes what came of every law to a file, and tells each one that is over."""

    def __init__(self, path: Path, only: Sequence[str] = ()) -> None:
        self.path = path
        self.only = only
        self.names: list[str] = []
        self._left: dict[str, int] = {}
        self.laws: dict[str, dict[str, Any]] = {}
        self.errors: list[str] = []
        self._known: dict[str, Any] = {}

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.errors.append(_reason(report))

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        self.names = sorted({item.originalname for item in items})
        items[:] = [item for item in items if not self.only or item.originalname in self.only]
        self._known = {item.nodeid: item for item in items}
        for item in items:
            summary = " ".join((inspect.getdoc(item.function) or "").partition("\n\n")[0].split())
            law = {"law": item.originalname, "says": summary, "passed": 0, "failed": [], "skipped": []}
            self.laws.setdefault(item.originalname, law)
            self._left[item.originalname] = self._left.get(item.originalname, 0) + 1

    def pytest_runtest_logreport(self, report: Any) -> None:
        item = self._known[report.nodeid]
        law = self.laws[item.originalname]
        if report.failed:
            case = item.callspec.id if hasattr(item, "callspec") else ""
            law["failed"].append({"case": case, "reason": _reason(report)})
        elif report.skipped:
            law["skipped"].append(str(report.longrepr[2]).removeprefix("Skipped: "))
        elif report.when == "call":
            law["passed"] += 1
        if report.when == "teardown":
            print(f"{TOLD}{len(self._known)} {item.originalname}", flush=True)
            self._left[item.originalname] -= 1
            if not self._left[item.originalname]:
                print(f"{OUTCOME}{json.dumps(law)}", flush=True)

    def pytest_sessionfinish(self) -> None:
        record = {"laws": list(self.laws.values()), "errors": self.errors, "names": self.names}
        self.path.write_text(json.dumps(record), encoding="utf-8")


def pytest_addoption(parser: Any) -> None:
    parser.addoption(_ONLY, action="append", default=[], help="Only the law of this test function.")
    parser.addoption(RECORD, type=Path, help="Where to write what came of every law.")


def pytest_configure(config: Any) -> None:
    config.pluginmanager.register(Recorder(config.getoption(RECORD), config.getoption(_ONLY)), "perfcore-recorder")


def _plugins(folder: Path) -> Plugins:
    """Those of the repository around the folder, if there is one."""
    try:
        return Repository.open(folder).plugins
    except NotFoundError:
        return Plugins()


def _of_observer(plugins: Plugins, name: str) -> type[Any]:
    plugin = next(plugin for plugin in plugins.infos(HOOK) if plugin.name == name)
    observer = plugins.imported(plugin)
    return type(
        "TestPlugin",
        (_class("observer"),),
        {
            "target": pytest.fixture(lambda self: target_of(plugin), name="target"),
            "observer": pytest.fixture(lambda self: observer, name="observer"),
        },
    )


def _driver(plugins: Plugins, kind: str, name: str, options: Mapping[str, Any]) -> Any:
    def driver(self: Any, tmp_path: Path) -> Any:
        root = tmp_path / "place" if KINDS[kind].placed else None
        return plugins.make(kind, name, options, place=root)[1]

    return pytest.fixture(driver)


def _missing(name: str) -> Any:
    def missing(self: Any) -> None:
        pytest.skip(_UNKNOWN)

    return pytest.fixture(missing, name=name)


def _copied(law: Callable[..., Any]) -> Callable[..., Any]:
    """A copy, so that a mark on it stays on it."""
    copy = types.FunctionType(law.__code__, law.__globals__, law.__name__, law.__defaults__, law.__closure__)
    return functools.wraps(law)(copy)


def _class(module: str) -> type[Any]:
    contract: type[Any] = getattr(
        importlib.import_module(f"perfcore_testing.{module}"), f"{module.capitalize()}Contract"
    )
    return contract


def _checks(driver: type[Any]) -> type[Any]:
    """The contract of checks that compare, of those that scan, or of both."""
    bases = tuple(_class(module) for way, module in _WAYS.items() if hasattr(driver, way))
    return type("CheckContract", bases or (_class("check"),), {})


def _imported(target: str, owner: str) -> type[Any]:
    module, _, name = target.partition(":")
    try:
        contract = getattr(importlib.import_module(module), name)
    except PerfError:
        raise
    except Exception as error:
        raise PluginError(
            f"its contract {target} cannot be imported: {error}", plugin=owner, phase="loading"
        ) from error
    return type("TestPlugin", (contract,), {})


def _reason(report: Any) -> str:
    """The first and the last lines of a failure."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash is not None else report.longrepr)
    lines = [line for line in text.splitlines() if line.strip()]
    if crash is None:
        return "\n".join(lines[-_LINES:])
    middle = len(lines) - 2 * _LINES
    if middle <= 1:
        return "\n".join(lines)
    return "\n".join((*lines[:_LINES], f"… {middle} lines …", *lines[-_LINES:]))
