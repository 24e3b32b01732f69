"""Writes traces of a made-up fleet, with what a correct aggregation says of them.

A parent on each host forks workers, whose streams last over some boxes of a day. Requests are sections with an action,
some of which go on over files; some stacks have code that the parent, the worker or nobody defined.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import attrs
from perfcore_source_statprofiler import writer

ACTIONS = ("index", "list", "detail", "cart")
DAY = 86_400
START = 1_700_006_400  # a midnight, s since 1970 UTC
_TEXTS = 40
_FUNCTIONS = 300


@attrs.define
class Totals:
    """Samples in all, by action, by host, and by the innermost function."""

    files: list[Path] = attrs.field(factory=list)
    total: int = 0
    by_action: Counter[str] = attrs.field(factory=Counter)
    by_host: Counter[str] = attrs.field(factory=Counter)
    by_box: Counter[int] = attrs.field(factory=Counter)
    exclusive: Counter[str] = attrs.field(factory=Counter)


def make(folder: Path, *, hosts: int = 2, workers: int = 2, boxes: int = 2, samples: int = 60, seed: int = 1) -> Totals:
    """Write a folder of traces for each host; `samples` are those of a file of a worker."""
    numbers, totals = random.Random(seed), Totals()
    pool = [_stack(numbers) for _ in range(max(20, samples // 2))]
    for host in range(hosts):
        name = f"web{host}.example.net"
        (folder / name).mkdir(parents=True)
        parent = (1000 + host, 2, seed, 1, 2, 3)
        texts = numbers.sample(range(_TEXTS), 10)
        records = [writer.code(_text(text), at + 1) for at, text in enumerate(texts)]
        records.append(writer.sample(1, "fork", [writer.main("app.pl", 1)]))
        _note(totals, name, 0, 1, "app.pl:CORE::fork")
        totals.files.append(_write(folder / name, parent, 1, records, 0, boxes == 0))
        for worker in range(workers):
            stream = (2000 + worker, host, seed, 4, 5, 6)
            _worker(folder / name, totals, numbers, pool, stream, parent, texts, boxes, samples)
    return totals


def _worker(
    folder: Path,
    totals: Totals,
    numbers: random.Random,
    pool: list[tuple[str, list[bytes | int], str]],
    stream: writer.Stream,
    parent: writer.Stream,
    texts: list[int],
    boxes: int,
    samples: int,
) -> None:
    own = {text: at + 1 for at, text in enumerate(texts)}
    is_open, held = False, 0
    for box in range(boxes):
        records: list[bytes] = []
        for at in range(samples):
            if at % 6 == 0:
                if is_open:
                    action = numbers.choice(ACTIONS)
                    records += [writer.label("action", action), writer.end("request")]
                    totals.by_action[action] += held
                records.append(writer.begin("request"))
                is_open, held = True, 0
            op, frames, function = numbers.choice(pool)
            for text in (frame for frame in frames if isinstance(frame, int)):
                if text not in own:
                    own[text] = len(own) + 1
                    records.append(writer.code(_text(text), own[text]))
            weight = numbers.choice((1, 1, 1, 5, 200))
            held += weight
            records.append(writer.sample(weight, op, [_frame(frame, own) for frame in frames]))
            _note(totals, folder.name, box, weight, function)
        is_last = box == boxes - 1
        if is_last and is_open:
            records += [writer.label("action", "index"), writer.end("request")]
            totals.by_action["index"] += held
        totals.files.append(_write(folder, stream, box + 1, records, box, is_last, parent))


def _stack(numbers: random.Random) -> tuple[str, list[bytes | int], str]:
    """(operation, frames from the innermost, the function that is counted exclusively)"""
    functions = [numbers.randrange(_FUNCTIONS) for _ in range(numbers.randint(1, 12))]
    frames: list[bytes | int] = [
        writer.sub(f"App::M{n % 20}", f"work_{n}", f"lib/App/M{n % 20}.pm", 20 * n + numbers.randint(2, 9), 20 * n + 1)
        for n in functions
    ]
    n = functions[0]
    name = f"lib/App/M{n % 20}.pm:App::M{n % 20}::work_{n}:{20 * n + 1}"
    if numbers.random() < 0.1:
        frames.insert(numbers.randint(1, len(frames)), numbers.randrange(_TEXTS))
    frames.append(writer.main("app.pl", numbers.randint(1, 50)))
    return numbers.choice(("padsv", "helem", "add")), frames, name


def _frame(frame: bytes | int, own: dict[int, int]) -> bytes:
    return frame if isinstance(frame, bytes) else writer.sub("Gen", f"run_{frame}", f"(eval {own[frame]})", 5, 3)


def _text(number: int) -> str:
    return f"package Gen;\n# CODE(0x{number:x}abc)\nsub run_{number} {{\n  1;\n  {number};\n}}\n1;\n"


def _note(totals: Totals, host: str, box: int, weight: int, function: str) -> None:
    totals.total += weight
    totals.by_host[host] += weight
    totals.by_box[box] += weight
    totals.exclusive[function] += weight


def _write(
    folder: Path,
    stream: writer.Stream,
    number: int,
    records: list[bytes],
    box: int,
    is_last: bool,
    parent: writer.Stream = writer.NO_PARENT,
) -> Path:
    name = "".join(f"{word:08x}" for word in stream)
    head = writer.header(stream, number, parent=parent, parent_number=1, labels={"release": "R1"})
    data = head + b"".join(records) + writer.file_end(of_stream=is_last)
    path = folder / f"trace.{name}.{number}"
    path.write_bytes(writer.packed(data))
    os.utime(path, (START + box * DAY + 3600,) * 2)
    return path
