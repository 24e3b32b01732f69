"""The source `pprof`: profiles as Go, Rust, C++, Node and Python write them, with times and labels of samples."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import attrs
from perfcore_fleet_kit.file_identity import Input, file_input
from perfcore_fleet_kit.stack_counter import Labels, Read, StackCounter, each_file, read_bytes
from perfcore_pprof_kit.message import Label, Message
from perfcore_pprof_kit.sniffing import is_pprof
from perfcore_sample_kit import contents, start_of

from perfcore.errors import FormatError
from perfcore.hookspecs import Segment
from perfcore.settings import option

_SUFFIXES = (".pb.gz", ".pprof", ".prof", ".pb")
_OF_NODE = "sample"  # what pprof-nodejs calls the metric that others call `samples`
_COUNTS = ("samples", _OF_NODE)
_TIMES = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
# Numbers that name something; others, such as sizes of objects and times, would be a set of labels each.
_NAMING = frozenset(("pid", "tid", "process", "process_id", "thread", "thread id", "thread_id"))
_MAX_LABELS = 32
_MAX_TEXT = 200  # characters of a label
_LAST_NANOSECOND = 2**63 - 1


@attrs.frozen(kw_only=True)
class PprofSettings:
    metric: str = option("", help="The metric to count; default: that of samples, or of time.", identity=True)


class PprofSource:
    """Profiles of pprof, compressed or not. The time and the duration of the profile are those of its samples."""

    Settings = PprofSettings
    contract = "perfcore_source_pprof.contract:PprofContract"

    def __init__(self, settings: PprofSettings | None = None) -> None:
        self._metric = (settings or PprofSettings()).metric

    def sniff(self, head: bytes, name: str) -> bool:
        return is_pprof(start_of(head))

    def read(self, paths: Iterable[Path], position: str) -> Read:
        """The segment of each file."""
        return each_file(paths, lambda path: [self._segment(path)])

    def _segment(self, path: Path) -> Segment:
        data = read_bytes(path)
        message = Message(contents(path))
        metric = self._chosen(message.metrics, message.default)
        counter, stacks = StackCounter(), dict[tuple[int, ...], int]()
        for sample in message.samples():
            amount = sample.values[metric]
            if amount < 0:
                raise FormatError("a sample has a negative amount", hint="is it the difference of two profiles?")
            if amount:
                if sample.locations not in stacks:
                    stacks[sample.locations] = counter.stack(message.stack(sample.locations))
                counter.count(stacks[sample.locations], amount, _labels(sample.labels))
        origin = _origin(path.name, data, message)
        times = _times(message)
        return counter.segment("pprof", path, origin, _period(message, metric), labels={}, times=times)

    def _chosen(self, metrics: list[tuple[str, str]], default: str) -> int:
        """The position of the metric that is counted."""
        names = [name for name, _ in metrics]
        if self._metric:
            if self._metric not in names:
                raise FormatError(f"it has no metric {self._metric}", hint=f"it has {', '.join(names)}")
            return names.index(self._metric)
        counts = [at for at, (name, unit) in enumerate(metrics) if name in _COUNTS and unit not in _TIMES]
        times = [at for at, (_, unit) in enumerate(metrics) if unit in _TIMES]
        return next(iter([*counts, *times, *([names.index(default)] if default in names else []), 0]))


def _origin(name: str, data: bytes, message: Message) -> Input:
    # Gzip has a checksum at its end. Of plain bytes, writers put the period behind everything else that is read here.
    is_compressed = data.startswith(b"\x1f\x8b")
    return file_input(name, data, _SUFFIXES, whole=is_compressed or bool(message.period))


def _period(message: Message, metric: int) -> int:
    """The time in ns between two samples, or that one of a metric of time stands for."""
    unit = message.metrics[metric][1]
    if unit in _TIMES:
        return _TIMES[unit]
    period = message.period * _TIMES.get(message.period_type[1], 0)
    return period if 0 < period <= _LAST_NANOSECOND else 0


def _times(message: Message) -> tuple[int, int] | None:
    """When sampling began and ended, in ns since 1970. By profile.proto the time is that of the beginning; Node writes
    the time at which it made the message."""
    duration = max(0, message.duration)
    is_end = _OF_NODE in (name for name, _ in message.metrics)
    begin = message.time - duration if is_end else message.time
    return (begin, begin + duration) if 0 < begin <= _LAST_NANOSECOND - duration else None


def _labels(labels: Iterable[Label]) -> Labels:
    pairs = {
        (label.key[:_MAX_TEXT], label.text[:_MAX_TEXT])
        for label in labels
        if label.key and (not label.is_number or label.key in _NAMING)
    }
    return tuple(sorted(pairs)[:_MAX_LABELS])
