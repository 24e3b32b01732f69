"""One table of ratios: perfcore against Perun, git, hyperfine and asv, in CPU time, peak memory and size.

    python -m benchmarks.yardstick                    everything, started at the root of the checkout
    python -m benchmarks.yardstick --quick            a tenth of the sizes, to try it
    python -m benchmarks.yardstick --only log add     some of it

Needs git, hyperfine and perl, a package index from which pip can install Perun and asv, and 12 GB. The first time takes
half an hour more: environments of both tools, repositories with histories of up to 100,000 versions and long
profiles are made in the folder of `--room` and kept there. perfcore is installed anew whenever its sources change.

Each program runs in turn with its peer. Its time is that of the whole tree of processes, its memory that of the
largest of them; a ratio is the median over the rounds. The yardstick's own memory, about 25 MB, is the least that the
kernel tells of any program.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

from benchmarks.yardstick.cost import Program, race, weight
from benchmarks.yardstick.measurements import FIGURES, MEASUREMENTS, WEIGHTS, Measurement
from benchmarks.yardstick.room import Room
from benchmarks.yardstick.table import Line, markdown, of_figure, of_measurement, of_weight


def main(arguments: Sequence[str]) -> None:
    options = _parser().parse_args(arguments)
    room = Room(options.room.expanduser().resolve(), installed=options.installed)
    lines: list[Line] = []
    for measurement in MEASUREMENTS:
        if not options.only or measurement.name in options.only:
            lines += _tell(measure(room, limited(measurement, options)))
    for weighed in WEIGHTS:
        if weighed.name in options.only or (not options.only and not options.quick):
            lines += _tell(of_weight(weighed, weight(weighed.ours(room)), weight(weighed.theirs(room))))
    for figure in FIGURES:
        if figure.name in options.only or (not options.only and not options.quick):
            lines += _tell([of_figure(figure, *figure.find(room))])
    if options.json:
        rows = [{**attrs.asdict(line), "reached": line.reached} for line in lines]
        print(json.dumps({"schema": 1, "machine": machine(), "lines": rows}, indent=1))
    else:
        print(f"{machine()}\n\n{markdown(lines)}")


def measure(room: Room, measurement: Measurement) -> list[Line]:
    races = {}
    for size, rounds in measurement.sizes.items():
        races[size] = race(*_programs(room, measurement, size), 1 if measurement.slope else rounds)
    if measurement.slope:  # its lines go through both sizes of a round
        for number in range(1, min(measurement.sizes.values())):
            for size in races:
                races[size] += race(*_programs(room, measurement, size), 1, number)
    return of_measurement(measurement, races)


def _programs(room: Room, measurement: Measurement, size: int) -> tuple[Program, Program | None]:
    peer = size <= measurement.peer_up_to or not measurement.peer_up_to
    return measurement.ours(room, size), measurement.theirs(room, size) if peer else None


def limited(measurement: Measurement, options: argparse.Namespace) -> Measurement:
    """The measurement in the sizes that are wanted."""
    if options.quick:
        measurement = smaller(measurement)
    sizes = {size: min(n, options.rounds) for size, n in measurement.sizes.items() if size <= options.largest}
    limits = measurement.limits if len(sizes) == len(measurement.sizes) else {}  # they are for the largest
    return attrs.evolve(measurement, sizes=sizes, limits=limits)


def smaller(measurement: Measurement) -> Measurement:
    """The same in a tenth of the sizes and in two rounds: to see that it works."""
    sizes = {max(1, size // 10): 2 for size in measurement.sizes}
    return attrs.evolve(measurement, sizes=sizes, aim_at=measurement.aim_at // 10, limits={})


def machine() -> str:
    """The day, the machine and what else matters, in a line."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    processor = models[0].partition(":")[2].strip() if models else platform.machine()
    return (
        f"{time.strftime('%Y-%m-%d')}, {len(models)} × {processor}, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def _tell(lines: list[Line]) -> list[Line]:
    for line in lines:
        value = line.ours if line.ratio is None else line.ratio
        print(f"{line.name:20}{line.size or '':>9} {line.quantity:20}{value:12.6g}", file=sys.stderr, flush=True)
    return lines


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.yardstick", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [each.name for each in (*MEASUREMENTS, *FIGURES, *WEIGHTS)]
    parser.add_argument("--room", type=Path, default=Path("~/.cache/perfcore-yardstick"), help="where things are kept")
    parser.add_argument("--only", nargs="+", default=[], choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--quick", action="store_true", help="small sizes, two rounds")
    parser.add_argument("--largest", type=int, default=sys.maxsize, metavar="SIZE", help="leave larger sizes out")
    parser.add_argument("--rounds", type=int, default=sys.maxsize, metavar="N", help="no more rounds than these")
    parser.add_argument("--installed", action="store_true", help="measure perfcore as it was installed last")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
