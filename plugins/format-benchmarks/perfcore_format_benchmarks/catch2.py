"""The format `catch2`: the report of Catch2's XML reporter, of versions 2 and 3.

It holds the mean of each benchmark and no samples, so a file is one run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.parsers import expat

import attrs

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore_format_benchmarks.file_format import FileFormat
from perfcore_format_benchmarks.metrics import WALL
from perfcore_format_benchmarks.reading import ResultFile
from perfcore_format_benchmarks.suite import Benchmark, Origin, SuiteBuilder, scalar

_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*)?<(?:Catch|Catch2TestRun)[\s>]")
_ROOTS = ("Catch", "Catch2TestRun")
_NESTED = ("TestCase", "Section")
_DEEPEST = 200  # sections are functions of C++ within one another


@attrs.define
class _Report:
    """The benchmarks of a report. `amounts` are those of the test case that is being read: it may yet fail."""

    names: list[str] = attrs.field(factory=list)
    depth: int = 0
    name: str = ""
    amounts: list[tuple[str, float | None, dict[str, int]]] = attrs.field(factory=list)
    failures: list[tuple[str, str]] = attrs.field(factory=list)
    has_failed: bool = False
    version: str = ""
    builder: SuiteBuilder = attrs.field(factory=lambda: SuiteBuilder(repetitions=True))
    counts: dict[str, int] = attrs.field(factory=dict)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self.depth == 0 and tag not in _ROOTS:
            raise FormatError("no report of Catch2's XML reporter")
        self.depth += 1
        if self.depth > _DEEPEST:
            raise FormatError(f"sections are nested more than {_DEEPEST} times")
        if self.depth == 1:
            self.version = attributes.get("catch2-version", "")
        elif tag in _NESTED:
            self.names.append(attributes.get("name", ""))
        elif tag == "BenchmarkResults":
            self.name = "/".join((*self.names, attributes.get("name", "")))
            self.counts = _counts(attributes)
        elif tag == "mean":
            self.amounts.append((self.name, _nanoseconds(attributes), self.counts))
        elif tag == "failed":
            self.failures.append((self.name, attributes.get("message", "")))
        elif tag == "OverallResult" and attributes.get("success") == "false":
            self.has_failed = True

    def end(self, tag: str) -> None:
        self.depth -= 1
        if tag in _NESTED:
            self.names.pop()
        if tag == "TestCase":
            self._add()

    def _add(self) -> None:
        """The case is complete: a failed benchmark leaves the case a success, a failed assertion does not."""
        for name, mean, counts in self.amounts:
            if self.has_failed:
                self.builder.lost(Benchmark(name), "failed", "its test case failed", **counts)
            else:
                self.builder.measured(Benchmark(name), [(0, {WALL: mean})], **counts)
        for name, message in self.failures:
            self.builder.lost(Benchmark(name), "failed", message or "it failed")
        self.amounts, self.failures, self.has_failed = [], [], False


class Catch2Format(FileFormat):
    """The JUnit reporter drops benchmarks: use `--reporter xml`."""

    contract = "perfcore_format_benchmarks.contract:Catch2Contract"

    def sniff(self, head: bytes, name: str) -> bool:
        return _BEGINNING.match(head) is not None

    def _decode(self, file: ResultFile) -> Profile:
        report = _Report()
        parser = expat.ParserCreate()
        parser.StartElementHandler = report.start
        parser.EndElementHandler = report.end
        parser.StartDoctypeDeclHandler = _refuse_doctype
        try:
            parser.Parse(file.data, True)
        except (expat.ExpatError, LookupError, ValueError) as error:  # the last two of an encoding that it names
            raise FormatError(f"no whole XML: {error}") from error
        return report.builder.profile(
            Origin(
                harness="catch2",
                harness_version=report.version,
                suite=self._settings.suite,
                created=file.modified,
                notes=("the file has the means of one process: they are one run",),
            )
        )


def _refuse_doctype(*_: object) -> None:
    """Entities can make a small file a large one, and no report has any."""
    raise FormatError("a document type, which no report of Catch2 has")


def _nanoseconds(attributes: Mapping[str, str]) -> float | None:
    try:
        return float(attributes.get("value", ""))
    except ValueError:
        return None


def _counts(attributes: Mapping[str, str]) -> dict[str, int]:
    numbers = {key: scalar(attributes.get(key, "")) for key in ("samples", "iterations")}
    return {key: number for key, number in numbers.items() if isinstance(number, int)}
