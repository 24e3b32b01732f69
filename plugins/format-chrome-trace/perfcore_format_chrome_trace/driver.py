"""Reading files of trace events: `clang -ftime-trace`, `tsc --generateTrace`, VizTracer, Node.js, Chrome."""

from __future__ import annotations

from pathlib import Path

import msgspec
from perfcore_sample_kit import contents, start_of

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.text import encodable, printable
from perfcore_format_chrome_trace import reading
from perfcore_format_chrome_trace.document import Document, Event


class ChromeTraceFormat:
    """Trace events as JSON, in an object or in a list."""

    contract = "perfcore_format_chrome_trace.contract:ChromeTraceContract"

    def sniff(self, head: bytes, name: str) -> bool:
        start = start_of(head).lstrip()
        if start.startswith(b"{"):
            return b'"traceEvents"' in start
        return start.startswith(b"[") and b'"ph"' in start and b'"ts"' in start

    def read(self, path: Path) -> Profile:
        """The time of each stack of calls in each thread. FormatError says what is wrong."""
        name = path.name.removesuffix(".gz").removesuffix(".json")
        try:
            return reading.profile(_events(contents(path)), name=name, created=path.stat().st_mtime_ns)
        except FormatError as error:
            raise FormatError(f"{printable(str(path))}: {printable(error.message)}", hint=error.hint) from error
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise FormatError(f"{printable(str(path))} is no file of trace events: {encodable(str(error))}") from error


def _events(data: bytes) -> list[Event]:
    data = data.strip()
    if not data.startswith(b"["):
        return msgspec.json.decode(data, type=Document).events
    if not data.endswith(b"]"):
        # The format lets a program that was killed leave its list open.
        data = data.removesuffix(b",") + b"]"
    return msgspec.json.decode(data, type=list[Event])
