"""A version more is published without modules that take longer to import than its pages to make."""

from __future__ import annotations

import sys

import pytest
from perfcore_testing.project import Project

UNNEEDED = (
    *("attr", "importlib.readers", "numpy.typing", "numpy._typing._array_like", "ipaddress"),
    "perfcore_view_annotate.view",  # no profile has call stacks
)


@pytest.mark.process
def test_a_site_is_made_without_modules_that_it_does_not_need(measured: Project) -> None:
    program = (
        "import sys; from perfcore.cli import main; sys.argv = ['perf', 'publish', 'site']; code = main(); "
        f"print(code, 'numpy' in sys.modules, [name for name in {UNNEEDED!r} if name in sys.modules])"
    )
    done = measured.run(sys.executable, "-c", program)
    assert done.out.splitlines()[-1] == "0 True []", done
