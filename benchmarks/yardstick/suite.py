"""A history of a suite of benchmarks in the forms of perfcore and of asv, in a folder.

    python suite.py make FOLDER VERSIONS   the repository FOLDER/work, measured and checked, and FOLDER/asv
    python suite.py more FOLDER            one more version in FOLDER/work

Python is the one that runs the yardstick; what is made is what `plugins/command-publish/benchmarks/against_asv.py`
compares.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from perfcore.library import open_repository

BENCHMARKS, LATER = 20, 200  # versions that are there to be measured
AGAINST_ASV = Path(__file__).parents[2] / "plugins/command-publish/benchmarks/against_asv.py"


def main(what: str, folder: Path, versions: int = 0) -> None:
    spec = importlib.util.spec_from_file_location("against_asv", AGAINST_ASV)
    assert spec is not None
    assert spec.loader is not None
    against_asv: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(against_asv)
    counted = folder / "measured"
    if what == "make":
        folder.mkdir(exist_ok=True)
        every = against_asv.make_repository(folder / "work", versions + LATER)
        runs = list(against_asv.measurements(versions + LATER, BENCHMARKS))
        against_asv.make_asv(folder / "asv", folder / "work", every[:versions], runs[:versions])
        (folder / "versions").write_text("\n".join(every))
        first, end = 0, versions
    else:
        every = (folder / "versions").read_text().split()
        runs = list(against_asv.measurements(len(every), BENCHMARKS))
        first, end = int(counted.read_text()), int(counted.read_text()) + 1
    against_asv.git(folder / "work", "checkout", "--quiet", every[end - 1])
    history = open_repository(folder / "work")
    for version, of_version in zip(every[first:end], runs[first:end], strict=True):
        history.register(history.save(against_asv.profile(of_version)), version)
    counted.write_text(str(end))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
