"""The source `statprofiler-report`: what the companion of Devel::StatProfiler aggregated, where its traces are gone.

A report has the stacks of functions with their samples, and those of each line on its own, but no stacks of lines: what
is read of it has no lines, and says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from perfcore_fleet_kit.file_identity import Input, file_input
from perfcore_fleet_kit.stack_counter import Read, StackCounter, each_file, read_bytes

from perfcore.errors import FormatError
from perfcore.hookspecs import Segment
from perfcore.model.record import replace
from perfcore.profile.stacks import Frame
from perfcore_source_statprofiler import storable

NOTE = "of an aggregated report, which has no lines"
_MAIN = "__main__"
_NAME = re.compile(r"report\.(?P<box>[1-9][0-9]{8,9})\.(?P<shard>.+)")
_NS = 1_000_000_000
_LARGEST = 2**62
_KIND_NATIVE = 1
_NO_FILE = "(unknown):"


class StatprofilerReportSource:
    """Reports of Devel::StatProfiler that Storable wrote. Reports of Sereal are not read."""

    contract = "perfcore_source_statprofiler.report_contract:StatprofilerReportContract"

    def sniff(self, head: bytes, name: str) -> bool:
        return head.startswith(storable.MAGIC) and name.startswith("report")

    def read(self, paths: Iterable[Path], position: str) -> Read:
        """The segment of each report."""
        return each_file(paths, lambda path: [_segment(path)])


def _segment(path: Path) -> Segment:
    if path.parent.name != _MAIN and (path.parent.parent / _MAIN).is_dir():
        raise FormatError(f"its samples are those of {_MAIN}, too", hint=f"ingest the reports in {_MAIN}")
    data = read_bytes(path)
    document = storable.loads(data)
    if not isinstance(document, list) or len(document) != 5 or not isinstance(document[4], dict):
        raise FormatError("this is no report of Devel::StatProfiler")
    tick, _, perl, _, aggregate = document
    total = _amount(aggregate.get("total"))
    counter, left = StackCounter(), total
    exclusive: Counter[str] = Counter()
    subs = _subs(aggregate)
    for names, amount in _stacks(aggregate, subs, total):
        counter.add([subs[name] for name in names], amount)
        left -= amount
        exclusive.update(dict.fromkeys(names[-1:], amount))
    expected = {name: amount for name, sub in _each(aggregate, "subs") if (amount := _amount(sub.get("exclusive")))}
    if left or exclusive != Counter(expected):
        raise FormatError("its stacks have other samples than its functions: it is damaged")
    match = _NAME.fullmatch(path.name)
    labels = {"perl": str(perl)[:200], **({"host": match["shard"]} if match else {})}
    times = (int(match["box"]) * _NS,) * 2 if match else None
    segment = counter.segment(
        "statprofiler-report", path, _origin(path.name, data), _amount(tick) * 1_000, labels=labels, times=times
    )
    return segment._replace(profile=replace(segment.profile, notes=(NOTE,)))


def _origin(name: str, data: bytes) -> Input:
    """A report of a box is the same segment when it comes again with more, so that nothing counts twice."""
    origin = file_input(name, data, ())
    return origin._replace(stream=name) if _NAME.fullmatch(name) else origin


def _subs(aggregate: Mapping[str, Any]) -> dict[str, Frame]:
    """The functions by their ids."""
    frames = {}
    for id, sub in _each(aggregate, "subs"):
        file, first = str(sub.get("file") or ""), _amount(sub.get("start_line"), signed=True)
        name = str(sub.get("name") or id)
        if _amount(sub.get("kind")) == _KIND_NATIVE or id.startswith(_NO_FILE):
            file, first = f"xs:{str(sub.get('package') or '').replace('::', '/')}.pm", 0
        elif id == f"{file}:main":
            name, first = "main", 0
        elif id == f"{file}:eval":
            name, first = "eval", 0
        frames[id] = Frame(name, file, None, first if first > 0 else None)
    return frames


def _stacks(aggregate: Mapping[str, Any], subs: Mapping[str, Frame], total: int) -> Iterator[tuple[list[str], int]]:
    """(functions from the outermost, samples). Of a report without stacks, each function alone."""
    flames = aggregate.get("flames")
    if isinstance(flames, dict) and flames:
        for key, amount in sorted(flames.items()):
            yield _split(key, subs), _amount(amount)
        return
    left = total
    for id, sub in sorted(_each(aggregate, "subs")):
        amount = _amount(sub.get("exclusive"))
        left -= amount
        yield [id], amount
    yield [], max(0, left)


def _split(key: str, subs: Mapping[str, Frame]) -> list[str]:
    """The functions of a stack; the semicolon between two of them may also be in a name."""
    names: list[str] = []
    words: list[str] = []
    for word in key.split(";") if key else ():
        words.append(word)
        if (name := ";".join(words)) in subs:
            names.append(name)
            words = []
    if words:
        raise FormatError("a stack has a function that is not in the report")
    return names


def _each(aggregate: Mapping[str, Any], name: str) -> list[tuple[str, dict[str, Any]]]:
    entries = aggregate.get(name)
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise FormatError(f"the report has no {name}")
    return list(entries.items())


def _amount(value: Any, *, signed: bool = False) -> int:
    """A number; Perl may have written it as text."""
    try:
        amount = int(value or 0)
    except (TypeError, ValueError, OverflowError):
        raise FormatError("the report has something in the place of a number") from None
    if not (-1 if not signed else -_LARGEST) < amount < _LARGEST:
        raise FormatError(f"the report has an amount of {amount}")
    return amount
