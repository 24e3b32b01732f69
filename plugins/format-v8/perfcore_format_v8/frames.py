"""The frame of a function of V8."""

from __future__ import annotations

from urllib.parse import unquote

from perfcore.profile.stacks import Frame
from perfcore.text import encodable
from perfcore_format_v8.document import CallFrame

ROOT = "(root)"
_FILE = "file://"


def frame(call: CallFrame, line: int | None = None) -> Frame:
    """`line` is the line that ran, where that is known."""
    first = int(call.line_number) + 1 if 0 <= call.line_number < 2**31 else None
    file = unquote(call.url.removeprefix(_FILE)) if call.url.startswith(_FILE) else call.url
    line = line if line is not None and 0 < line < 2**31 else None
    # A function is known by its name and file: without their lines all callbacks of a file would be one function.
    name = call.function_name or (f"(anonymous:{first})" if first else "(anonymous)")
    return Frame(encodable(name), encodable(file), line, first)
