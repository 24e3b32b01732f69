"""Reading and writing processed profiles of the Firefox Profiler."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import msgspec
from perfcore_sample_kit import Samples, contents, start_of

from perfcore import files
from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.text import encodable, printable
from perfcore_format_firefox import reading, writing
from perfcore_format_firefox.document import Document

_VERSION = b'"preprocessedProfileVersion"'
# Samply writes its categories and the product first.
_META = re.compile(rb'\{\s*"meta"\s*:\s*\{\s*"(categories|interval|startTime|product|processType)"')
_LEVEL = 6  # of gzip, its default


class FirefoxFormat:
    """Profiles of the Firefox Profiler, as samply and profiler.firefox.com write them; those that Firefox itself saves
    as .json are processed when the Profiler has opened and saved them."""

    contract = "perfcore_format_firefox.contract:FirefoxContract"

    def sniff(self, head: bytes, name: str) -> bool:
        start = start_of(head).lstrip()
        return start.startswith(b"{") and (_VERSION in start or _META.match(start) is not None)

    def read(self, path: Path) -> Profile:
        """The samples of all threads, with their CPU time where it was recorded. FormatError says what is wrong."""
        try:
            document = msgspec.json.decode(contents(path), type=Document)
            return reading.profile(document, name=path.name.partition(".")[0], created=path.stat().st_mtime_ns)
        except FormatError as error:
            raise FormatError(f"{printable(str(path))}: {printable(error.message)}", hint=error.hint) from error
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise FormatError(
                f"{printable(str(path))} is no processed profile of Firefox: {encodable(str(error))}",
                hint="open it in profiler.firefox.com and save it there",
            ) from error

    def write(self, profile: Profile, path: Path) -> None:
        """Write the samples with all their metrics and threads, compressed by gzip if the name ends in .gz."""
        data = msgspec.json.encode(writing.document(profile, Samples.of(profile)))
        if path.suffix == ".gz":
            data = gzip.compress(data, _LEVEL, mtime=0)  # without a time, so that equal profiles are equal files
        files.write_whole(path, data)
