"""Whether the time grows as the length does: `python benchmarks/long.py [--most 1000000]`, CPU time of a scan of each
length, ten times as long every time; of one version more; and of that where the version in the middle was measured
again, which looks at all that follows it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings
from perfcore_testing.scan import history

from perfcore.model import Change


def _scanned(
    check: ChangepointCheck, values: list[float], state: bytes | None
) -> tuple[Sequence[Change], bytes, float]:
    """The changes, the state and the seconds that it took."""
    scanned = history(values)
    start = time.process_time()
    changes, after = check.scan(scanned, state)
    return changes, after, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=1_000_000)
    given = parser.parse_args()
    check = ChangepointCheck(ChangepointSettings())
    random = np.random.default_rng(1)
    count, before = 1000, 0.0
    print(f"{'versions':>9} {'changes':>8} {'seconds':>8} {'x the last':>10} {'one more':>9} {'middle again':>13}")
    while count <= given.most:
        steps = np.repeat(random.normal(size=count // 250) * 5, 250)
        values = (100 + random.normal(size=count + 1) + np.append(steps, steps[-1])).tolist()
        changes, state, seconds = _scanned(check, values[:-1], None)
        more = _scanned(check, values, state)[-1] / seconds
        values[count // 2] += 0.1
        again = _scanned(check, values, state)[-1] / seconds
        times = f"{seconds / before:10.1f}" if before else " " * 10
        print(f"{count:9} {len(changes):8} {seconds:8.2f} {times} {more:9.1%} {again:13.1%}", flush=True)
        before, count = seconds, 10 * count


if __name__ == "__main__":
    main()
