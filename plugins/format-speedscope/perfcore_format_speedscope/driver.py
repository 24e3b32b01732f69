"""Reading and writing files of speedscope.

The format is https://www.speedscope.app/file-format-schema.json: frames shared by several profiles, each of which has
one weight a sample and one unit. A thread or a metric is a profile of its own.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import msgspec
from msgspec.structs import asdict
from perfcore_sample_kit import Part, Samples, contents, parts, start_of

from perfcore import files
from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.profile.stacks import NOWHERE, Frame
from perfcore.settings import option
from perfcore.text import encodable, printable
from perfcore_format_speedscope import reading
from perfcore_format_speedscope.document import SCHEMA, UNITS, Document

_NAME = ".speedscope.json"
_LEVEL = 6  # of gzip, its default


@attrs.frozen(kw_only=True)
class SpeedscopeSettings:
    lines: bool = option(False, help="Write the line that ran, which speedscope shows as a function of its own.")


class SpeedscopeFormat:
    """Files of speedscope, sampled or of events, and as py-spy, pyinstrument and others write them."""

    Settings = SpeedscopeSettings
    contract = "perfcore_format_speedscope.contract:SpeedscopeContract"

    def __init__(self, settings: SpeedscopeSettings | None = None) -> None:
        self._settings = settings or SpeedscopeSettings()

    def sniff(self, head: bytes, name: str) -> bool:
        start = start_of(head).lstrip()
        if not start.startswith(b"{"):
            return False
        return SCHEMA.encode() in start or name.removesuffix(".gz").endswith(_NAME)

    def read(self, path: Path) -> Profile:
        """The samples of all profiles in the file, each a thread or a metric. FormatError says what is wrong."""
        try:
            document = msgspec.json.decode(contents(path), type=Document)
            return reading.profile(document, name=path.name.partition(".")[0], created=path.stat().st_mtime_ns)
        except FormatError as error:
            raise FormatError(f"{printable(str(path))}: {printable(error.message)}", hint=error.hint) from error
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise FormatError(f"{printable(str(path))} is no file of speedscope: {encodable(str(error))}") from error

    def write(self, profile: Profile, path: Path) -> None:
        """Write the samples with all their metrics and threads, compressed by gzip if the name ends in .gz.
        NotFoundError where there are none."""
        samples = Samples.of(profile)
        table = _FrameTable(samples, self._settings.lines)
        stacks = {row: table.path(row) for row in samples.rows}
        document: dict[str, Any] = {
            "$schema": SCHEMA,
            "name": encodable(profile.label or "profile"),
            "exporter": "perfcore",
            "activeProfileIndex": 0,
            "profiles": [_written(part, stacks, samples) for part in parts(profile, samples)],
            "shared": {"frames": table.frames()},
        }
        data = msgspec.json.encode(document)
        if path.suffix == ".gz":
            data = gzip.compress(data, _LEVEL, mtime=0)  # without a time, so that equal profiles are equal files
        files.write_whole(path, data)


class _FrameTable:
    """The frames that were used, each once: a function, or a line of it."""

    def __init__(self, samples: Samples, lines: bool) -> None:
        self._samples = samples
        self._lines = lines
        self._numbers: dict[Frame, int] = {}
        self._of_row: dict[int, int] = {}

    def path(self, stack: int) -> list[int]:
        """The frames of a stack, outermost first."""
        path, stacks = [], self._samples.stacks
        while stack != NOWHERE:
            row = stacks.frame[stack]
            if row not in self._of_row:
                frame = self._samples.frame(stack)
                if not self._lines:
                    frame = Frame(frame.name, frame.file, frame.first_line)
                self._of_row[row] = self._numbers.setdefault(frame, len(self._numbers))
            path.append(self._of_row[row])
            stack = stacks.parent[stack]
        return path[::-1]

    def frames(self) -> list[dict[str, Any]]:
        facts = ({"name": frame.name, "file": frame.file, "line": frame.line} for frame in self._numbers)
        return [{key: value for key, value in frame.items() if value not in ("", None)} for frame in facts]


def _written(part: Part, stacks: Mapping[int, list[int]], samples: Samples) -> dict[str, Any]:
    """One profile of speedscope. FormatError for amounts that have no width."""
    if not all(0 <= value < math.inf for value in part.values):
        metric = printable(part.origin.metric)
        raise FormatError(f"{metric} has amounts below zero or without end, which speedscope cannot show")
    return {
        "type": "sampled",
        "name": part.name,
        "unit": UNITS.get(part.origin.unit, "none"),
        "startValue": 0,
        "endValue": sum(part.values),
        "samples": [stacks[samples.rows[row]] for row in part.rows],
        "weights": part.values,
        # Of ours, beside the schema: what a unit and a name cannot tell apart when it is read again.
        "perfcore": asdict(part.origin),
    }
