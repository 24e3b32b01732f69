"""A profile in parts of one metric and one thread each, for formats that hold no more in one of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfcore.model import Profile
from perfcore.model.record import Record
from perfcore.text import encodable
from perfcore_sample_kit.samples import Number, Samples


class Origin(Record, frozen=True, kw_only=True):
    """What a part is of. Formats write it beside what their schema has, and read it again."""

    metric: str = ""
    unit: str = ""
    thread: str = ""
    process: str = ""


class Part(Record, frozen=True):
    """`rows` are positions in the columns of `Samples` that have an amount of the metric, `values` these amounts. The
    name can be encoded, and is that of the thread, the metric, or both: whatever tells the parts apart."""

    origin: Origin
    name: str
    rows: Sequence[int]
    values: Sequence[Number]


def parts(profile: Profile, samples: Samples) -> Iterator[Part]:
    """Those of the first metric first, and of each metric the threads in the order of their first samples."""
    tracks = samples.tracks()
    for metric in samples.metrics:
        for track in tracks:
            thread = " ".join(filter(None, (track.process, track.thread)))
            names = (metric.name, thread) if len(samples.metrics) > 1 else (thread or metric.name,)
            rows = [row for row in track.rows if metric[row] is not None]
            origin = Origin(
                metric=encodable(metric.name),
                unit=encodable(metric.unit or profile.header.units.get(metric.name, "")),
                thread=encodable(track.thread),
                process=encodable(track.process),
            )
            values: list[Number] = [metric[row] for row in rows]  # type: ignore[misc]  # numbers: see Samples.metrics
            yield Part(origin, encodable(" ".join(filter(None, names))), rows, values)
