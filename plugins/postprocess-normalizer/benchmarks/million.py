"""How long scaling a million rows with two metrics takes: `python million.py`.

`×` is the time against that of Polars computing the same columns, in the same run, which has no imports to pay for
here. Needs polars and numpy.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from perfcore_command_exchange.native import PerfFormat
from perfcore_postprocess_normalizer import Normalizer, NormalizerSettings
from perfcore_testing import profiles
from polars.testing import assert_frame_equal

from perfcore.model import Profile
from perfcore.profile.table import column, table

ROWS = 1_000_000
METRICS = ("wall", "cpu")
TRIED: tuple[tuple[dict[str, Any], Callable[[pl.Expr], pl.Expr]], ...] = (
    ({}, lambda amount: amount / amount.max()),
    ({"to": "total", "unit": "%"}, lambda amount: amount / amount.sum() * 100),
    ({"to": "total", "per": "run"}, lambda amount: amount / amount.sum().over("run")),
    ({"to": "max", "per": "snapshot"}, lambda amount: amount / amount.max().over("snapshot")),
    ({"unit": "ps"}, lambda amount: amount * 1000),
    ({"unit": "ms"}, lambda amount: amount / 1_000_000),
)


def million() -> Profile:
    rows = range(ROWS)
    columns = [
        column("run", [row // 100_000 for row in rows], role="order"),
        column("snapshot", [row % 10_000 for row in rows], role="order"),
        column("wall", [row * 7919 % 1_000_003 for row in rows], unit="ns", role="value"),
        column("cpu", [None if row % 9 else row * 104_729 % 1_000_003 / 7 for row in rows], unit="ns", role="value"),
    ]
    return profiles.profile({"resources": table("resources", columns)})


def _through_a_file(profile: Profile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.perf"
        PerfFormat().write(profile, path)
        PerfFormat().read(path)


def _started(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def best(function: Callable[[], object]) -> float:
    return min(seconds(function) for _ in range(3))


def main() -> None:
    profile = million()
    frame = profile.tables["resources"].to_polars()
    print(f"{best(lambda: _through_a_file(profile)):6.2f} s  writing the profile to a file and reading it")
    print(f"{best(lambda: _started('import numpy')) - best(lambda: _started('')):6.2f} s  importing NumPy")
    for options, peer in TRIED:
        driver = Normalizer(NormalizerSettings(**options))
        scaled = frame.with_columns(*(peer(pl.col(name)) for name in METRICS))
        ours = driver.postprocess(profile).tables["resources"].to_polars()
        assert_frame_equal(scaled, ours, rel_tol=1e-12)
        took = best(lambda driver=driver: driver.postprocess(profile))  # type: ignore[misc]
        theirs = best(lambda peer=peer: frame.with_columns(*(peer(pl.col(name)) for name in METRICS)))  # type: ignore[misc]
        print(f"{took:6.2f} s  ×{took / theirs:<4.0f} {options}")


if __name__ == "__main__":
    main()
