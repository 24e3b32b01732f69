"""The text that `perf script` prints: a line for each sample, then its frames, then an empty line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perfcore.errors import FormatError
from perfcore.named_tuple import NamedTuple
from perfcore.profile.stacks import Frame

# perf-script(1): COMM PID[/TID] [CPU] TIME: [PERIOD] EVENT: with fields that may be left out.
_HEAD = re.compile(r"(?P<comm>\S.*?)\s+(?P<pid>[0-9]+)(/[0-9]+)?\s+(\[[0-9]+\]\s+)?[0-9]+\.[0-9]+:\s+.*")
_FRAME = re.compile(r"\s+[0-9a-f]+ (?P<name>.*) \((?P<file>.*)\)")
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")


class Sample(NamedTuple):
    """`frames` are outermost first."""

    comm: str
    frames: tuple[Frame, ...]


def is_output(head: bytes) -> bool:
    """Whether a file begins as this output does."""
    lines = head.decode("utf-8", "replace").split("\n")
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    return len(lines) > 1 and bool(_HEAD.fullmatch(lines[0])) and bool(_FRAME.fullmatch(lines[1]))


def samples(text: str) -> Iterator[Sample]:
    """Every sample that is whole: behind its last frame stands an empty line. FormatError names a line that is none."""
    comm, frames = "", list[Frame]()
    for line_number, line in enumerate(text.split("\n")[:-1], 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            if comm:
                yield Sample(comm, tuple(reversed(frames)))
            comm, frames = "", []
        elif match := _FRAME.fullmatch(line):
            name = _OFFSET.sub("", match["name"])
            file = "" if match["file"] in ("[unknown]", "inlined") else match["file"]
            frames.append(Frame(name, file))
        elif (head := _HEAD.fullmatch(line)) and not frames:
            comm = head["comm"]
        else:
            raise FormatError(f"line {line_number} is neither a sample nor a frame")
