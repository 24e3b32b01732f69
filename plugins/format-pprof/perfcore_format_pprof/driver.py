"""Reading and writing profiles of pprof."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

from perfcore_sample_kit import Samples, contents, start_of

from perfcore import files
from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.text import printable
from perfcore_format_pprof import reading, schema, wire, writing

_LEVEL = 6  # of gzip, its default
_SNIFFED = 16  # fields: a message of another schema has a field of another type among so many


class PprofFormat:
    """Profiles of pprof, as Go, Rust, C++ and Node write them: samples of any metrics, without an order in time."""

    contract = "perfcore_format_pprof.contract:PprofContract"

    def sniff(self, head: bytes, name: str) -> bool:
        """By the first fields: the metrics, each of two texts."""
        start = start_of(head)
        if not start.startswith(bytes([schema.SAMPLE_TYPE << 3 | wire.BYTES])):
            return False
        first = b""
        try:
            for number, kind, _, data in itertools.islice(wire.fields(start), _SNIFFED):
                first = first or data
                expected = wire.BYTES if number <= schema.STRING_TABLE else wire.VARINT
                if kind != expected and number != schema.COMMENT:
                    return False
        except FormatError:
            if not first:
                return False  # else the last field is cut
        try:
            metric = list(wire.fields(first))
        except FormatError:
            return False
        return bool(metric) and all(
            number in (schema.TYPE, schema.UNIT) and kind == wire.VARINT for number, kind, _, _ in metric
        )

    def read(self, path: Path) -> Profile:
        """The samples with all their metrics. FormatError says what is wrong."""
        try:
            data = contents(path)
            return reading.profile(data, name=path.name.partition(".")[0], created=path.stat().st_mtime_ns)
        except FormatError as error:
            raise FormatError(f"{printable(str(path))}: {printable(error.message)}", hint=error.hint) from error

    def write(self, profile: Profile, path: Path) -> None:
        """Write the sums of all metrics by stack and thread, compressed by gzip as the format asks for."""
        data = writing.message(profile, Samples.of(profile))
        # Without a time, so that equal profiles are equal files.
        files.write_whole(path, gzip.compress(data, _LEVEL, mtime=0))
