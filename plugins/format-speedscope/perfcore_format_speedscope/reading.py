"""A profile of perfcore from a document of speedscope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec.structs import asdict
from perfcore_sample_kit import Origin, SampleRecorder

from perfcore.errors import FormatError
from perfcore.model import Profile, Tool
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import NOWHERE, Frame
from perfcore.text import encodable
from perfcore_format_speedscope.document import UNITS, Document, SharedFrame, SpeedscopeProfile

_OURS = {theirs: ours for ours, theirs in UNITS.items()}
# Of profiles that are not ours: speedscope has a unit and no name for what was measured.
_METRICS = {"": "samples", "B": "bytes"}
_NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

Number: TypeAlias = int | float
_Sample: TypeAlias = tuple[Sequence[int], Number, Number]  # frames, weight, time


def profile(document: Document, *, name: str, created: int) -> Profile:
    """FormatError where frames, samples and weights do not fit together."""
    origins = [_origin(part, document) for part in document.profiles]
    # One column for each metric; the rows of one have no amount of the others.
    metrics = list(dict.fromkeys((origin.metric, origin.unit) for origin in origins))
    recorder = SampleRecorder([ColumnSpec(metric, "i64", unit, "value") for metric, unit in metrics])
    frames = [_frame(frame) for frame in document.shared.frames]
    for part, origin in zip(document.profiles, origins, strict=True):
        at = metrics.index((origin.metric, origin.unit))
        _record(recorder, part, origin, frames, at, len(metrics))
    return recorder.profile(
        Tool(name="speedscope", sampling={"name": encodable(document.name)} if document.name else {}),
        created=created,
        name=name,
    )


def _origin(part: SpeedscopeProfile, document: Document) -> Origin:
    """The metric and the thread of a profile. Of several of one unit, each is a thread."""
    if part.perfcore is not None and part.perfcore.metric:
        return Origin(**{key: encodable(text) for key, text in asdict(part.perfcore).items()})
    unit = _OURS.get(part.unit, "")
    several = Counter(other.unit for other in document.profiles)[part.unit] > 1
    return Origin(metric=_METRICS.get(unit, "wall"), unit=unit, thread=encodable(part.name) if several else "")


def _record(
    recorder: SampleRecorder,
    part: SpeedscopeProfile,
    origin: Origin,
    frames: Sequence[Frame],
    metric: int,
    metrics: int,
) -> None:
    factor = _NANOSECONDS.get(origin.unit, 1)
    numbers: dict[tuple[int, ...], int] = {}
    for path, weight, time in _samples(part):
        key = tuple(path)
        if key not in numbers:
            numbers[key] = recorder.stacks.add(_named(frames, key)) if key else NOWHERE
        amounts: list[Number] = [0] * metrics
        amounts[metric] = weight
        recorder.add(numbers[key], amounts, time=time * factor, thread=origin.thread, process=origin.process)


def _named(frames: Sequence[Frame], path: Sequence[int]) -> Iterator[Frame]:
    for number in path:
        if not 0 <= number < len(frames):
            raise FormatError(f"frame {number} is not among the {len(frames)} frames")
        yield frames[number]


def _samples(part: SpeedscopeProfile) -> Iterator[_Sample]:
    return _sampled(part) if part.type == "sampled" else _evented(part)


def _sampled(part: SpeedscopeProfile) -> Iterator[_Sample]:
    if len(part.samples) != len(part.weights):
        raise FormatError(f"a profile has {len(part.samples)} samples and {len(part.weights)} weights")
    time: Number = 0
    for path, weight in zip(part.samples, part.weights, strict=True):
        yield path, weight, time
        time += weight


def _evented(part: SpeedscopeProfile) -> Iterator[_Sample]:
    """The time between two events is one sample of what is open."""
    path: list[int] = []
    last: Number = part.start
    for event in part.events:
        if event.at < last:
            raise FormatError(f"an event at {event.at} follows one at {last}")
        if event.at > last and path:
            yield tuple(path), event.at - last, last - part.start
        last = event.at
        if event.type == "O":
            path.append(event.frame)
        elif not path or path.pop() != event.frame:
            raise FormatError(f"an event at {event.at} closes frame {event.frame}, which is not the innermost")
    if path:
        raise FormatError(f"{len(path)} frames are not closed at the end")


def _frame(frame: SharedFrame) -> Frame:
    line = frame.line if isinstance(frame.line, int) and 0 <= frame.line < 2**31 else None
    return Frame(encodable(frame.name), encodable(frame.file or ""), line)
