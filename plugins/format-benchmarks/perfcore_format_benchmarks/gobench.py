"""The format `gobench`: what `go test -bench` prints, as text or with `-json`.

Lines of one benchmark are repetitions in one process (`-count`). A further header of the same package is a further
process, and so a further run: append the output of several commands to one file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import attrs
import msgspec

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.text import clip, printable
from perfcore_format_benchmarks.file_format import FileFormat
from perfcore_format_benchmarks.metrics import BYTES_PER_SECOND, WALL, Metric, counter
from perfcore_format_benchmarks.reading import ResultFile, commit_of, json_of, moment
from perfcore_format_benchmarks.suite import Benchmark, Origin, Scalar, SuiteBuilder, machine, scalar

# https://go.dev/design/14313-benchmark-format
_HEADER = re.compile(rb"(?:goos|goarch|pkg): \S")
_RESULT = re.compile(rb"Benchmark\S*\s+[0-9]+\s+[0-9.eE+-]+\s+\S+/op\b")
_EVENT = re.compile(rb'\s*\{"(?:Time|Action|ImportPath)":"')
_CONFIGURATION = re.compile(r"([a-z][^\s:]*):[ \t]+(.*)")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|Inf|NaN)")
_OUTCOME = re.compile(r"\s*--- (FAIL|SKIP): (\S+)")
_PROCS = re.compile(r"-([1-9][0-9]{0,5})")
_END = re.compile(r"(?:PASS|FAIL|ok\s.*)\b")
_UNITS: Mapping[str, tuple[Metric, float]] = {
    "ns/op": (WALL, 1.0),
    "MB/s": (BYTES_PER_SECOND, 1e6),
    "B/op": (Metric("B/op", "B"), 1.0),
    "allocs/op": (Metric("allocs/op"), 1.0),
}
_LONG = 80


class _Event(msgspec.Struct):
    """An event of `go test -json` (test2json)."""

    Package: str = ""
    Output: str = ""
    Time: str = ""


@attrs.define
class _Process:
    """What the header of the output says. A run is a process of one package."""

    package: str = ""
    runs: dict[str, int] = attrs.field(factory=dict)
    facts: dict[str, str] = attrs.field(factory=dict)
    has_end: bool = False

    def configure(self, key: str, text: str) -> None:
        if key == "pkg":
            self.package = text
            self.runs[text] = self.runs.get(text, -1) + 1
            self.has_end = False
        self.facts[key] = text


class GobenchFormat(FileFormat):
    """Metrics of `b.ReportMetric` have an unknown direction, except rates such as `req/s`."""

    contract = "perfcore_format_benchmarks.contract:GobenchContract"

    def sniff(self, head: bytes, name: str) -> bool:
        if _EVENT.match(head):
            return b"goos: " in head or b"Benchmark" in head
        lines = head.split(b"\n")
        return any(_HEADER.match(line) or _RESULT.match(line) for line in lines)

    def _decode(self, file: ResultFile) -> Profile:
        created = file.modified
        if _EVENT.match(file.data):
            text, started = _joined(file.data)
            created = moment(started, created)
        else:
            text = file.data.decode("utf-8", "backslashreplace")
        if "\0" in text:
            raise FormatError("a NUL is in the text")
        if text and not text.endswith("\n"):
            raise FormatError("the last line has no end: the file is cut")
        builder, process = SuiteBuilder(repetitions=True), _Process()
        _read_lines(builder, process, text.split("\n"))
        if not process.has_end:
            builder.note("the output does not end with PASS, FAIL or ok: it may be cut")
        facts = process.facts
        processes = max(process.runs.values(), default=0) + 1
        return builder.profile(
            Origin(
                harness="gobench",
                suite=self._settings.suite,
                created=created,
                machine=machine(system=facts.get("goos"), arch=facts.get("goarch"), cpu=facts.get("cpu")),
                commit=commit_of(facts.get("commit")),
                notes=() if processes > 1 else ("one process measured each package: its values are one run",),
            )
        )


def _joined(data: bytes) -> tuple[str, str]:
    """(the output of all packages, one after the other; the time of the first event). One line of a result may be
    split over several events, and the packages take turns."""
    outputs: dict[str, list[str]] = {}
    started = ""
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.lstrip().startswith(b"{"):  # what the compiler printed
            continue
        try:
            event = json_of(line, _Event, "go test")
        except FormatError as error:
            raise FormatError(f"line {number}: {error.message}") from error
        started = started or event.Time
        outputs.setdefault(event.Package, []).append(event.Output)
    return "".join(_ended("".join(parts)) for parts in outputs.values()), started


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _read_lines(builder: SuiteBuilder, process: _Process, lines: Sequence[str]) -> None:
    begun = ""  # a benchmark whose name was printed, and whose result follows what the benchmark itself printed
    for number, line in enumerate(lines, 1):
        words = line.split()
        configuration, outcome = _CONFIGURATION.fullmatch(line), _OUTCOME.match(line)
        if line.startswith("panic: ") and begun:
            builder.lost(_benchmark(process, begun), "failed", line)
        elif configuration:
            process.configure(configuration[1], configuration[2].strip())
        elif outcome:
            _add_outcome(builder, process, outcome, lines[number : number + 1])
        elif _END.match(line):
            process.has_end, begun = True, ""
        elif line.startswith("Benchmark"):
            begun = words[0]
            if len(words) >= 4 and words[1].isdecimal():
                _add(builder, process, begun, words[1:], number)
        elif begun and len(words) >= 3 and words[0].isdecimal() and words[2] == "ns/op":
            _add(builder, process, begun, words, number)


def _add(builder: SuiteBuilder, process: _Process, name: str, words: Sequence[str], number: int) -> None:
    """Add a result: the count of iterations, then pairs of a number and its unit."""
    benchmark = _benchmark(process, name)
    amounts: dict[Metric, float] = {}
    for text, unit in _pairs(words[1:], number):
        metric, factor = _UNITS.get(unit) or (_other(unit), 1.0)
        amount = float(text) if _NUMBER.fullmatch(text) else None
        if amount is None:
            raise FormatError(f"line {number}: {clip(printable(text), _LONG)!r} is no number")
        amounts[metric] = amount * factor if math.isfinite(amount) else math.nan
    iterations = scalar(words[0])
    attributes = {"iterations": iterations} if isinstance(iterations, int) else {}
    builder.measured(benchmark, [(process.runs.get(process.package, 0), amounts)], **attributes)


def _pairs(words: Sequence[str], number: int) -> Iterator[tuple[str, str]]:
    if len(words) % 2:
        raise FormatError(f"line {number}: a number has no unit")
    return zip(words[::2], words[1::2], strict=True)


def _other(unit: str) -> Metric:
    return Metric(unit, "1/s", "higher") if unit.endswith("/s") else counter(unit)


def _add_outcome(builder: SuiteBuilder, process: _Process, outcome: re.Match[str], following: Sequence[str]) -> None:
    """Add what failed or was skipped, with the line below it, which is indented."""
    if not outcome[2].startswith("Benchmark"):  # a test
        return
    message = next((line.strip() for line in following if line.startswith(" ") and "--- " not in line), "")
    status, default = ("failed", "it failed") if outcome[1] == "FAIL" else ("skipped", "it was skipped")
    builder.lost(_benchmark(process, outcome[2]), "failed" if status == "failed" else "skipped", message or default)


def _benchmark(process: _Process, full_name: str) -> Benchmark:
    """`BenchmarkSum/n=100-2` of a package: name, parameters, and GOMAXPROCS, which is written unless it is 1."""
    stem, _, procs = full_name.rpartition("-")
    parameters: dict[str, Scalar] = {}
    if stem and _PROCS.fullmatch(f"-{procs}"):
        parameters["procs"] = int(procs)
    else:
        stem = full_name
    function, *parts = stem.split("/")
    names = [f"{process.package}.{function}" if process.package else function]
    for part in parts:
        key, equals, word = part.partition("=")
        if key and equals and key not in parameters:
            parameters[key] = scalar(word)
        else:
            names.append(part)
    prefix = f"{process.package}." if process.package else ""
    return Benchmark("/".join(names), parameters, f"{prefix}{full_name}")
