"""The source `otel`: profiles of OpenTelemetry, as exporters send them and collectors write them to files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import attrs
from perfcore_fleet_kit.file_identity import Input
from perfcore_fleet_kit.stack_counter import Labels, Read, StackCounter, each_file, read_bytes
from perfcore_pprof_kit import wire
from perfcore_pprof_kit.message import OURS
from perfcore_sample_kit import contents, start_of

from perfcore.errors import FormatError
from perfcore.hookspecs import Segment
from perfcore.text import encodable
from perfcore_source_otel import content, schema
from perfcore_source_otel.dictionary import Dictionary, Fields, fixed, grouped, message, number
from perfcore_source_otel.sniffing import is_message, messages

_COUNTED = ("samples", "sample", "cpu", "wall", "on_cpu", "off_cpu", "events")
_TIMES = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_MAX_LABELS = 32
_MAX_TEXT = 200  # characters of a label
_LAST_NANOSECOND = 2**63 - 1
# The labels that perf fleet knows, by the names of OpenTelemetry's semantic conventions.
_NAMES = {"host.name": "host", "service.name": "service", "vcs.ref.head.revision": "release"}


@attrs.frozen(eq=False)
class _Profile:
    """A profile of a message, with the attributes of its resource. `unit` is that of its values."""

    fields: Fields
    labels: Mapping[str, str]
    resource: int
    metric: str
    unit: str

    @property
    def moment(self) -> tuple[int, int, int]:
        """What profiles of one recording have in common."""
        return self.resource, fixed(self.fields, schema.TIME), number(self.fields, schema.DURATION)


class OtelSource:
    """Profiles of OpenTelemetry in protocol buffers: a message, or the messages that a collector appends to a file.

    Each profile is a segment, and its stream is its id. It counts once, in whatever file it comes.
    """

    contract = "perfcore_source_otel.contract:OtelContract"

    def sniff(self, head: bytes, name: str) -> bool:
        return is_message(start_of(head))

    def read(self, paths: Iterable[Path], position: str) -> Read:
        """The segments of each file, once all of it is read."""
        return each_file(paths, _segments)


def _segments(path: Path) -> Iterator[Segment]:
    read_bytes(path)  # its size is bounded
    count = 0
    for data in messages(contents(path)):
        fields = grouped(data)
        dictionary = Dictionary(message(fields, schema.DICTIONARY))
        for profile in _chosen(list(_profiles(fields, dictionary))):
            segment = _segment(path, profile, dictionary)
            if segment is not None:
                count += 1
                yield segment
    if not count:
        raise FormatError("it has no profile of samples or of time")


def _profiles(fields: Fields, dictionary: Dictionary) -> Iterator[_Profile]:
    """Those of samples or of time; others, such as of memory, are no samples of a fleet."""
    for resource, field in enumerate(fields.get(schema.RESOURCE_PROFILES, ())):
        of_resource = grouped(field[3])
        labels = _resource_labels(message(of_resource, schema.RESOURCE), dictionary)
        for scope in of_resource.get(schema.SCOPE_PROFILES, ()):
            for profile in grouped(scope[3]).get(schema.PROFILES, ()):
                profile_fields = grouped(profile[3])
                metric, unit = _value_type(message(profile_fields, schema.SAMPLE_TYPE), dictionary)
                _, period_unit = _value_type(message(profile_fields, schema.PERIOD_TYPE), dictionary)
                # A count of what comes in a period of time is one of samples, such as `itimer` of async-profiler.
                if unit in _TIMES or metric in _COUNTED or (not unit and period_unit in _TIMES):
                    yield _Profile(profile_fields, labels, resource, metric, unit)


def _chosen(profiles: list[_Profile]) -> Iterator[_Profile]:
    """One of those that give the same recording in two metrics: that of samples rather than of time."""
    metrics: dict[tuple[int, int, int], str] = {}
    for profile in sorted(profiles, key=lambda profile: profile.unit in _TIMES):
        if metrics.setdefault(profile.moment, profile.metric) == profile.metric:
            yield profile


def _segment(path: Path, profile: _Profile, dictionary: Dictionary) -> Segment | None:
    """None for one without samples."""
    counter, stacks, count = StackCounter(), dict[int, int](), 0
    for field in profile.fields.get(schema.SAMPLES, ()):
        sample = grouped(field[3])
        amount = _amount(sample)
        if amount < 0:
            raise FormatError("a sample has a negative amount")
        if amount:
            at = number(sample, schema.STACK)
            if at not in stacks:
                stacks[at] = counter.stack(dictionary.stack(at))
            counter.count(stacks[at], amount, _sample_labels(sample, dictionary))
            count += 1
    if not count:
        return None
    times = _times(profile)
    origin = Input("", 1, "", count)
    period = _period(profile, dictionary)
    segment = counter.segment("otel", path, origin, period, labels=profile.labels, times=times)
    digest = content.digest(segment)
    id = message(profile.fields, schema.PROFILE_ID)
    return segment._replace(stream=id.hex()[:_MAX_TEXT] if any(id) else f"sha1-{digest}", digest=digest)


def _amount(sample: Fields) -> int:
    """The sum of the values; without values, each time is one."""
    values = [wire.signed(value) for field in sample.get(schema.VALUES, ()) for value in wire.numbers(field)]
    if values:
        return sum(values)
    return sum(len(field[3]) // wire.WIDTHS[wire.FIXED64] for field in sample.get(schema.TIMESTAMPS, ()))


def _period(profile: _Profile, dictionary: Dictionary) -> int:
    """The time in ns between two samples, or that one of a metric of time stands for."""
    if profile.unit in _TIMES:
        return _TIMES[profile.unit]
    _, unit = _value_type(message(profile.fields, schema.PERIOD_TYPE), dictionary)
    period = number(profile.fields, schema.PERIOD) * _TIMES.get(unit, 0)
    return period if 0 < period <= _LAST_NANOSECOND else 0


def _times(profile: _Profile) -> tuple[int, int] | None:
    _, begin, duration = profile.moment
    end = begin + max(0, duration)
    return (begin, end) if 0 < begin <= end <= _LAST_NANOSECOND else None


def _value_type(data: bytes, dictionary: Dictionary) -> tuple[str, str]:
    """(name, unit in our words) of a metric."""
    fields = grouped(data)
    unit = dictionary.text(number(fields, schema.UNIT))
    return dictionary.text(number(fields, schema.TYPE)), OURS.get(unit, unit)


def _resource_labels(data: bytes, dictionary: Dictionary) -> dict[str, str]:
    pairs = (dictionary.pair(field[3]) for field in grouped(data).get(schema.RESOURCE_ATTRIBUTES, ()))
    return dict(_labels((_NAMES.get(key, key), value) for key, value in pairs))


def _sample_labels(sample: Fields, dictionary: Dictionary) -> Labels:
    fields = sample.get(schema.SAMPLE_ATTRIBUTES, ())
    return _labels(dictionary.attribute(at) for field in fields for at in wire.numbers(field))


def _labels(pairs: Iterable[tuple[str, str]]) -> Labels:
    named = {(key[:_MAX_TEXT], encodable(value[:_MAX_TEXT])) for key, value in pairs if key and value}
    return tuple(sorted(named)[:_MAX_LABELS])
