"""How often the check gives which answer on what `measure.py` measured.

    python report.py samples.json

Every row is one way to compare: `slower` and `faster` are wrong where the program is the same (+0 %). `apart`
takes any two blocks of the unchanged program under one load, `idle→busy` one without and one with load.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from perfcore_check_pair import PairCheck, PairSettings
from perfcore_testing.check import measured, pairing

from perfcore.model import Profile
from perfcore.text import align

Sides: TypeAlias = tuple[Profile, Profile]
ANSWERS = {"degradation": "slower", "optimization": "faster", "same": "same", "cannot tell": "cannot tell"}
DISTURBED_SHARE = 0.05
COMPARISONS_APART = 300


def main() -> None:
    parser = argparse.ArgumentParser(description="How often the check gives which answer.")
    parser.add_argument("samples", type=Path)
    parser.add_argument("--threshold", type=float, default=PairSettings().threshold)
    arguments = parser.parse_args()
    check = PairCheck(PairSettings(threshold=arguments.threshold))
    trials = json.loads(arguments.samples.read_text())
    loads = sorted({trial["load"] for trial in trials})
    rows = [["load", "design", "change", "comparisons", *(f"cpu {a}" for a in ANSWERS.values())]]
    rows[0] += [f"wall {answer}" for answer in ANSWERS.values()]
    for load in loads:
        chosen = [trial for trial in trials if trial["load"] == load]
        for design in ("interleaved", "blocks"):
            for percent in chosen[0][design]:
                pairs = [profiles(trial[design][percent], design == "interleaved") for trial in chosen]
                rows.append([str(load), design, f"+{percent} %", *answers(check, pairs)])
        rows.append([str(load), "apart", "+0 %", *answers(check, apart(chosen, chosen))])
    if len(loads) > 1:
        idle, busy = ([trial for trial in trials if trial["load"] == load] for load in (loads[0], loads[-1]))
        rows.append([f"{loads[0]}→{loads[-1]}", "apart", "+0 %", *answers(check, apart(idle, busy))])
    print("\n".join(align(rows, right=range(2, len(rows[0])))))


def answers(check: PairCheck, comparisons: Iterable[Sides]) -> list[str]:
    """How many comparisons there were, and the share of each answer on CPU time and on wall time."""
    counted, total = Counter[tuple[str, str]](), 0
    for sides in comparisons:
        total += 1
        counted.update((change.metric, change.kind) for change in check.compare(pairing(*sides)))
    return [str(total), *(f"{counted[m, kind] / total:.1%}" for m in ("cpu", "wall") for kind in ANSWERS)]


def profiles(sides: list[dict[str, list[int]]], interleaved: bool) -> Sides:
    """Two sides as profiles; a run is disturbed when it waited for a CPU for a good part of its time."""
    made = [
        measured(
            {"cpu": side["cpu"], "wall": side["wall"]},
            session="in turn" if interleaved else "",
            disturbed=[
                run
                for run, (delay, wall) in enumerate(zip(side["delay"], side["wall"], strict=True))
                if delay > DISTURBED_SHARE * wall
            ],
        )
        for side in sides
    ]
    return made[0], made[1]


def apart(first: list[Any], second: list[Any]) -> Iterator[Sides]:
    """Random pairs of different blocks of the unchanged program."""
    chance = random.Random(1)
    blocks = [
        [trial["blocks"][percent][0] for trial in some for percent in trial["blocks"]] for some in (first, second)
    ]
    for _ in range(COMPARISONS_APART):
        one, other = chance.choice(blocks[0]), chance.choice(blocks[1])
        if one is not other:
            yield profiles([one, other], False)


if __name__ == "__main__":
    main()
