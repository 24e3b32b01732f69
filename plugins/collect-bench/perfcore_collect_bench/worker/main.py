"""The worker: reads what is to be done from its standard input, and writes what came of it as lines of JSON."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import pickle
import platform
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from perfcore_collect_bench.worker import link, suite_files
from perfcore_collect_bench.worker.case import Broken, Case, Order, SkippedError, message
from perfcore_collect_bench.worker.suite_files import SuiteFile


class Worker:
    """Does what a request says: `list` the benchmarks, `prepare` what a suite keeps for all runs, or `measure`."""

    def __init__(self, request: Mapping[str, Any], output: int) -> None:
        self._request = request
        self._output = output
        self._folder = Path(request["folder"])
        self._asv = bool(request["asv"])
        self._files = suite_files.find([self._folder / path for path in request["paths"]], every=self._asv)
        sys.path[:] = [*suite_files.search_path(self._folder, self._files), *(p for p in sys.path if p)]

    def work(self) -> None:
        step = self._request["step"]
        if step == "list":
            self._list()
        else:
            self._each(self._prepare if step == "prepare" else self._measure)
        self._tell(event="end", **link.delays())

    def _list(self) -> None:
        self._tell(
            event="worker",
            python=platform.python_version(),
            implementation=platform.python_implementation(),
            program=sys.executable,
            harness=_harness() if self._asv else "perfcore",
        )
        for case in self._all_cases():
            if isinstance(case, Broken):
                self._tell(event="broken", **case._asdict())
            else:
                self._tell(event="benchmark", key=case.description.key, **case.description.as_json())

    def _all_cases(self) -> Iterator[Case | Broken]:
        if self._asv:
            from perfcore_collect_bench.worker import asv

            yield from asv.cases(self._files) if self._files else ()
            return
        for file in self._files:
            yield from self._cases(file)

    def _cases(self, file: SuiteFile) -> Iterator[Case | Broken]:
        from perfcore_collect_bench.worker import native

        try:
            module = suite_files.load(file)
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            yield Broken(file.name, f"it cannot be imported: {message(error)}")
        else:
            yield from native.cases(file, module)

    def _finder(self) -> Callable[[Mapping[str, Any]], Case]:
        """Gives the benchmarks of this request. Only their modules are imported."""
        if self._asv:
            from perfcore_collect_bench.worker import asv

            asv.load_modules(self._files, [entry["name"] for entry in self._request["benchmarks"]])
            return functools.partial(asv.case, self._files[0])
        modules = {entry["module"] for entry in self._request["benchmarks"]}
        cases: dict[str, Case] = {}
        for file in self._files:
            if file.module in modules:
                loaded = (case for case in self._cases(file) if not isinstance(case, Broken))
                cases.update((case.description.key, case) for case in loaded)
        return lambda entry: cases.pop(entry["key"])  # what it keeps is freed after it

    def _prepare(self, case: Case, entry: Mapping[str, Any]) -> None:
        """Keep what a suite prepares once in the file of its key."""
        Path(entry["cache_file"]).write_bytes(pickle.dumps(case.prepare()))
        self._tell(event="prepared", key=entry["key"])

    def _measure(self, case: Case, entry: Mapping[str, Any]) -> None:
        def load_cache() -> Any:
            return pickle.loads(Path(entry["cache_file"]).read_bytes())

        gc.collect()
        measured = case.measure(Order(entry["plan"], entry["adapt"], load_cache))
        self._tell(event="measured", key=entry["key"], **measured)

    def _each(self, step: Callable[[Case, Mapping[str, Any]], None]) -> None:
        """A step for every benchmark of the request; one that fails takes no other with it."""
        find = self._finder()
        # What the modules made stays: a collection that looks at it takes seconds for a large suite, before each
        # benchmark and within some of them.
        gc.collect()
        gc.freeze()
        for entry in self._request["benchmarks"]:
            key = entry["key"]
            self._tell(event="begin", key=key)
            try:
                self._enter(entry)
                step(find(entry), entry)
            except (NotImplementedError, SkippedError) as error:
                self._tell(event="skipped", key=key, message=message(error))
            except (Exception, SystemExit) as error:
                traceback.print_exc()
                self._tell(event="failed", key=key, message=message(error))

    def _enter(self, entry: Mapping[str, Any]) -> None:
        if self._asv:
            from perfcore_collect_bench.worker import asv

            asv.enter_folder(Path(entry["scratch"]))

    def _tell(self, **event: Any) -> None:
        link.tell(self._output, **event)


def _harness() -> str:
    from importlib import metadata

    with contextlib.suppress(metadata.PackageNotFoundError):
        return f"asv-runner {metadata.version('asv-runner')}"
    return "asv-runner"


def main(output: int) -> None:
    os.set_inheritable(output, False)
    Worker(link.receive(), output).work()
    # Threads that a benchmark left would keep the process from ending.
    sys.stderr.flush()
    os._exit(0)
