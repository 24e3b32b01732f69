"""A profile of perfcore from the message Profile of pprof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfcore_pprof_kit.message import Label, Message
from perfcore_sample_kit import SampleRecorder

from perfcore.model import Profile, Tool
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import NOWHERE

_LAST_NANOSECOND = 2**63 - 1
# Names of labels by which Go, Node and others say whose sample it is.
_THREADS = ("thread", "thread name", "thread_name", "thread id", "thread_id", "tid")
_PROCESSES = ("process", "process name", "process_name", "process_id", "pid")


def profile(data: bytes, *, name: str, created: int) -> Profile:
    """FormatError where the bytes are no such message, or refer to what it does not have."""
    message = Message(data)
    # The default metric first, as pprof shows it: the last one where the profile names none (profile.proto).
    default = message.default or message.metrics[-1][0]
    metrics = sorted(message.metrics, key=lambda metric: metric[0] != default)
    recorder = SampleRecorder([ColumnSpec(each, "i64", unit, "value") for each, unit in metrics])
    order = [message.metrics.index(each) for each in metrics]
    stacks: dict[tuple[int, ...], int] = {}
    for sample in message.samples():
        if sample.locations not in stacks:
            frames = message.stack(sample.locations)
            stacks[sample.locations] = recorder.stacks.add(frames) if sample.locations else NOWHERE
        amounts = [sample.values[at] for at in order]
        thread, process = _first(sample.labels, _THREADS), _first(sample.labels, _PROCESSES)
        recorder.add(stacks[sample.locations], amounts, thread=thread, process=process)
    stored = message.time if 0 < message.time <= _LAST_NANOSECOND else created
    return recorder.profile(Tool(name="pprof"), created=stored, name=name)


def _first(labels: Iterable[Label], keys: Sequence[str]) -> str:
    texts = {label.key: label.text for label in reversed(list(labels))}
    return next((texts[key] for key in keys if key in texts), "")
