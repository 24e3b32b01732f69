"""The sources `stacks` and `perf-script`: text with one stack a line, and text of the kernel's perf."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import attrs
from perfcore_fleet_kit.file_identity import file_input
from perfcore_fleet_kit.stack_counter import Read, StackCounter, each_file, read_bytes
from perfcore_format_folded import frames

from perfcore.errors import FormatError
from perfcore.hookspecs import Segment
from perfcore.profile.stacks import Frame
from perfcore.settings import option
from perfcore_source_stacks import perf_script

_SUFFIXES = (".folded", ".collapsed", ".austin", ".raw", ".stacks")
_LINE = re.compile(rb"[^\n]*\S [0-9]{1,18}\r?")
_AUSTIN_HEAD = b"# austin: "
_AUSTIN_LABELS = re.compile(r"P(?P<process>[0-9]+);T(?P<thread>[^;]+)(;(?P<stack>.*))?")
_HEAD = 4096
_MICROSECOND = 1_000  # ns: what Austin counts


@attrs.frozen(kw_only=True)
class RateSettings:
    rate: float = option(100.0, help="Samples a second.", identity=True)


class StacksSource:
    """Folded stacks: one line a stack with its samples, as py-spy (raw), Austin and stackcollapse-*.pl write them."""

    Settings = RateSettings
    contract = "perfcore_source_stacks.contract:StacksContract"

    def __init__(self, settings: RateSettings | None = None) -> None:
        self._period = int(1e9 / (settings or RateSettings()).rate)

    def sniff(self, head: bytes, name: str) -> bool:
        if head.startswith(_AUSTIN_HEAD):
            return True
        lines = head.split(b"\n")
        if len(head) >= _HEAD:
            del lines[-1]  # it may be cut
        stacks = [line for line in lines if line.strip() and not line.startswith(b"# ")]
        has_suffix = name.endswith(_SUFFIXES) or any(b";" in line for line in stacks)
        return has_suffix and bool(stacks) and all(map(_LINE.fullmatch, stacks[:-1] or stacks))

    def read(self, paths: Iterable[Path], position: str) -> Read:
        """The segment of each file."""
        return each_file(paths, lambda path: [self._segment(path)])

    def _segment(self, path: Path) -> Segment:
        data = read_bytes(path)
        is_austin = data.startswith(_AUSTIN_HEAD)
        counter = StackCounter()
        whole_lines = data[: data.rfind(b"\n") + 1].decode("utf-8", "backslashreplace")
        for line_number, line in enumerate(whole_lines.split("\n"), 1):
            line = line.rstrip("\r")
            if line.strip() and not line.startswith("# "):
                _add(counter, line, line_number, is_austin)
        period = _MICROSECOND if is_austin else self._period
        labels = {"profiler": "austin"} if is_austin else {}
        origin = file_input(path.name, data, _SUFFIXES, whole=data.endswith(b"\n"))
        return counter.segment("stacks", path, origin, period, labels=labels)


class PerfScriptSource:
    """The output of `perf script` of the Linux kernel's perf."""

    Settings = RateSettings
    contract = "perfcore_source_stacks.contract:PerfScriptContract"

    def __init__(self, settings: RateSettings | None = None) -> None:
        self._period = int(1e9 / (settings or RateSettings()).rate)

    def sniff(self, head: bytes, name: str) -> bool:
        return perf_script.is_output(head)

    def read(self, paths: Iterable[Path], position: str) -> Read:
        """The segment of each file. Samples have the name of their thread as the label `comm`."""
        return each_file(paths, lambda path: [self._segment(path)])

    def _segment(self, path: Path) -> Segment:
        data = read_bytes(path)
        counter = StackCounter()
        for sample in perf_script.samples(data.decode("utf-8", "backslashreplace")):
            counter.add(sample.frames, 1, (("comm", sample.comm[:200]),))
        origin = file_input(path.name, data, (".perf-script", ".script"), whole=data.endswith(b"\n\n"))
        return counter.segment("perf-script", path, origin, self._period, labels={})


def _add(counter: StackCounter, line: str, number: int, is_austin: bool) -> None:
    stack, _, amount = line.rpartition(" ")
    if not amount.isascii() or not amount.isdigit() or len(amount) > 18:
        raise FormatError(f"line {number} is no stack with a count")
    if is_austin and (match := _AUSTIN_LABELS.fullmatch(stack)):
        labels = (("process", match["process"]), ("thread", match["thread"][:200]))
        counter.add(_parsed(match["stack"] or "", frames.austin), int(amount), labels)
    else:
        counter.add(_parsed(stack, frames.usual), int(amount))


def _parsed(stack: str, parse: Callable[[str], Frame]) -> list[Frame]:
    return [parse(frame) for frame in stack.split(";") if frame]
