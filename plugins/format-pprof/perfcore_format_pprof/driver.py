"""Reading and writing profiles of pprof."""

from __future__ import annotations

import gzip
from pathlib import Path

from perfcore_pprof_kit.sniffing import is_pprof
from perfcore_sample_kit import Samples, contents, start_of

from perfcore import files
from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.text import printable
from perfcore_format_pprof import reading, writing

_LEVEL = 6  # of gzip, its default


class PprofFormat:
    """Profiles of pprof, as Go, Rust, C++ and Node write them: samples of any metrics, without an order in time."""

    contract = "perfcore_format_pprof.contract:PprofContract"

    def sniff(self, head: bytes, name: str) -> bool:
        """By the first fields: the metrics, each of two texts."""
        return is_pprof(start_of(head))

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
