"""`perfcore.testing` was the name of this package: tests of plugins that import it go on working."""

from __future__ import annotations

import subprocess
import sys


def test_contracts_are_found_under_the_old_name_with_a_warning() -> None:
    script = "from perfcore.testing.collector import CollectorContract as C; print(C.__name__)"
    done = subprocess.run([sys.executable, "-W", "always", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "CollectorContract\n"
    assert "DeprecationWarning: perfcore.testing is now perfcore_testing" in done.stderr


def test_without_the_distribution_the_error_names_it() -> None:
    script = "import sys; sys.modules['perfcore_testing'] = None; import perfcore.testing"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install perfcore-testing" in done.stderr.splitlines()[-1]
