"""What goes into the guest of `benchmarks/arm_guest.py` is all that its programs import of this project."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
IMPORTED = """
import sys
sys.path.insert(0, sys.argv[1])
import overhead, real_pmu
print(*{sys.modules[name].__file__ for name in sys.modules if name.startswith("perfcore") and "." not in name})
"""


def test_the_guest_gets_all_that_its_programs_import() -> None:
    guest = runpy.run_path(str(BENCHMARKS / "arm_guest.py"))
    own, third_party = guest["distributions"](guest["RUN_IN_GUEST"])
    command = [sys.executable, "-c", IMPORTED, str(BENCHMARKS)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    imported = {str(Path(path).parents[1]) for path in printed.split()}
    assert len(imported) > 4
    assert imported <= set(own)
    assert not [name for name in third_party if name.startswith("perfcore")]
