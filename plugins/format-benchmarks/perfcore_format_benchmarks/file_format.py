"""The formats whose suites are one file each."""

from __future__ import annotations

from pathlib import Path

from perfcore.model import Profile
from perfcore_format_benchmarks.reading import ResultFile, read_profile
from perfcore_format_benchmarks.suite import SuiteSettings


class FileFormat:
    """A format adds `sniff`, and `_decode`, which makes the profile of a file or raises a FormatError."""

    Settings = SuiteSettings

    def __init__(self, settings: SuiteSettings | None = None) -> None:
        self._settings = settings or SuiteSettings()

    def read(self, path: Path) -> Profile:
        return read_profile(path, self._decode)

    def _decode(self, file: ResultFile) -> Profile:
        raise NotImplementedError
