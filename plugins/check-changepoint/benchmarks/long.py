"""Whether the time grows as the length does: `python benchmarks/long.py [--most 1000000]`, CPU time of a scan of each
length, ten times as long every time, and of one version more."""

from __future__ import annotations

import argparse
import time

import numpy as np
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings

from perfcore.testing.scan import history


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=1_000_000)
    given = parser.parse_args()
    check = ChangepointCheck(ChangepointSettings())
    random = np.random.default_rng(1)
    count, before = 1000, 0.0
    print(f"{'versions':>9} {'changes':>8} {'seconds':>8} {'x the last':>10} {'one more':>9}")
    while count <= given.most:
        steps = np.repeat(random.normal(size=count // 250) * 5, 250)
        values = (100 + random.normal(size=count + 1) + np.append(steps, steps[-1])).tolist()
        start = time.process_time()
        changes, state = check.scan(history(values[:-1]), None)
        seconds = time.process_time() - start
        start = time.process_time()
        check.scan(history(values), state)
        more = time.process_time() - start
        times = f"{seconds / before:10.1f}" if before else " " * 10
        print(f"{count:9} {len(changes):8} {seconds:8.2f} {times} {more:9.2f}", flush=True)
        before, count = seconds, 10 * count


if __name__ == "__main__":
    main()
