"""The worker: runs pytest as a request says, and writes what came of the tests as lines of JSON."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

_NOTHING_RAN = 5  # exit code of pytest where it collected no test
_ENDED = (0, 1, _NOTHING_RAN)  # its codes for a session that came to its end; 1 is for failed tests


def main(output: int) -> None:
    from perfcore_collect_bench.worker import link, suite_files

    os.set_inheritable(output, False)
    request = link.receive()
    folder = Path(request["folder"])
    sys.path[:] = [*map(str, suite_files.tree_path(folder)), *(path for path in sys.path if path)]
    try:
        import pytest
    except ImportError as error:
        sys.exit(f"{sys.executable} cannot import pytest: {error}")
    from perfcore_collect_pytest import plugin
    from perfcore_collect_pytest.worker.measured_session import MeasuredSession

    link.tell(
        output,
        event="worker",
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        program=sys.executable,
        harness=f"pytest {pytest.__version__}",
    )
    session = MeasuredSession(request, output)
    # The plugin of this package, and not the one that the interpreter may have installed.
    arguments = [*request["arguments"], "-p", "no:perfcore", *session.arguments]
    code = pytest.main(arguments, plugins=[plugin, session])
    if code not in _ENDED:
        sys.stderr.flush()
        os._exit(code)
    link.tell(output, event="end", **link.delays())
    # Threads that a test left would keep the process from ending.
    sys.stderr.flush()
    os._exit(0)
