"""The format `asv`: the results of airspeed velocity, a file for each commit, machine and environment.

asv keeps the median of all samples of a benchmark, so a file is one run.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import msgspec

from perfcore.errors import FormatError, NotFoundError, PerfError
from perfcore.hookspecs import VersionedProfile
from perfcore.model import EMPTY, Profile
from perfcore.model.record import replace
from perfcore.settings import option
from perfcore.text import printable
from perfcore_format_benchmarks.metrics import MAX_RSS, MEMORY, WALL, Metric, scaled
from perfcore_format_benchmarks.reading import ResultFile, commit_of, json_of, read_profile, result_file
from perfcore_format_benchmarks.suite import (
    NO_LASTING_NAME,
    Benchmark,
    Origin,
    Scalar,
    SuiteBuilder,
    has_address,
    machine,
    scalar,
    suite_option,
)

_BEGINNING = re.compile(rb'\s*\{\s*"commit_hash"\s*:')
_VERSION = 2
_CATALOGUE = "benchmarks.json"
_FOLDERS = ("", "results", ".asv/results")
# asv takes an increase as worse for every type, `track` included.
_TYPES: Mapping[str, tuple[Metric, float]] = {
    "time": (WALL, 1e9),
    "memory": (MEMORY, 1.0),
    "peakmemory": (MAX_RSS, 1.0),
}
# Prefixes of functions, by which asv tells the type; CamelCase is for classes.
_PREFIXES = (("timeraw", "time"), ("time", "time"), ("peakmem", "peakmemory"), ("mem", "memory"))
_UNNAMED_UNIT = "unit"  # of a `track_` function that sets none
_QUOTED = re.compile(r"'([^'\\]*)'|\"([^\"\\]*)\"")


class _Kind(msgspec.Struct, rename={"kind": "type"}):
    """An entry of `benchmarks.json`."""

    kind: str = ""
    unit: str = ""
    param_names: list[str] = []
    version: str = ""


class _Results(msgspec.Struct):
    commit_hash: str
    result_columns: list[str]
    results: dict[str, list[Any]]
    version: int = 0
    params: dict[str, Any] = {}
    python: str = ""
    requirements: dict[str, Any] = {}
    env_vars: dict[str, Any] = {}


@attrs.frozen(kw_only=True)
class AsvSettings:
    suite: str = suite_option()
    all_versions: bool = option(False, help="Keep results of earlier versions of a benchmark, which asv drops.")


class AsvFormat:
    """A file of results, or the folder of them all. `benchmarks.json` beside the machines' folders names the types,
    units and parameters; without it the type is guessed from the name of the benchmark."""

    Settings = AsvSettings
    contract = "perfcore_format_benchmarks.contract:AsvContract"

    def __init__(self, settings: AsvSettings | None = None) -> None:
        self._settings = settings or AsvSettings()

    def sniff(self, head: bytes, name: str) -> bool:
        return _BEGINNING.match(head) is not None and b'"env_name"' in head

    def read(self, path: Path) -> Profile:
        catalogue = path.parent.parent / _CATALOGUE
        try:
            kinds = _catalogue(catalogue)
        except NotFoundError:
            kinds = {}
        return read_profile(path, lambda file: self._decode(file, kinds))

    def read_all(self, path: Path) -> Iterator[VersionedProfile | FormatError]:
        if path.is_dir():
            yield from self._read_folder(path)
        else:
            yield VersionedProfile(self.read(path))

    def _read_folder(self, folder: Path) -> Iterator[VersionedProfile | FormatError]:
        root = next((folder / name for name in _FOLDERS if any((folder / name).glob("*/machine.json"))), None)
        if root is None:
            raise FormatError(
                f"{printable(str(folder))} holds no results of asv", hint="name the folder `.asv/results`"
            )
        for path in sorted(root.glob("*/*.json")):
            if path.name == "machine.json":
                continue
            try:
                profile = self.read(path)
            except PerfError as error:
                yield FormatError(error.message, hint=error.hint)
                continue
            yield VersionedProfile(replace(profile, origin=None), profile.origin, f"{path.parent.name}/{path.name}")

    def _decode(self, file: ResultFile, kinds: Mapping[str, _Kind]) -> Profile:
        document = json_of(file.data, _Results, "asv")
        if document.version != _VERSION:
            raise FormatError(f"version {document.version} of asv's results is not supported", hint="asv update")
        commit = commit_of(document.commit_hash)
        if commit is None:
            raise FormatError("its commit_hash is no id of a commit")
        builder, started = SuiteBuilder(), []
        for name, row in document.results.items():
            fields = dict(zip(document.result_columns, row, strict=False))  # asv cuts empty columns at the end
            self._add(builder, name, fields, kinds.get(name))
            started.append(_nanoseconds(fields.get("started_at"), file.modified))
        return builder.profile(
            Origin(
                harness="asv",
                suite=self._settings.suite,
                created=min(started, default=file.modified),
                identity={
                    "python": document.python,
                    "requirements": _texts(document.requirements),
                    "env_vars": _texts(document.env_vars),
                },
                machine=_machine(document.params),
                commit=commit,
                notes=("asv keeps a median of all processes: it is one run",),
            )
        )

    def _add(self, builder: SuiteBuilder, name: str, fields: Mapping[str, Any], kind: _Kind | None) -> None:
        metric, factor = _metric(name, kind)
        version, results, lists = fields.get("version"), fields.get("result"), _lists(fields.get("params"))
        combinations = [*itertools.islice(itertools.product(*lists), _most(results))]
        names = kind.param_names if kind is not None and len(kind.param_names) == len(lists) else None
        keys = names or [str(position) for position in range(len(lists))]
        is_old = kind is not None and kind.version != version and not self._settings.all_versions
        if isinstance(results, list) and len(results) != len(combinations):
            raise FormatError(f"{name} has {len(results)} results for {len(combinations)} combinations of parameters")
        for position, words in enumerate(combinations):
            benchmark = Benchmark(name, {key: _word(word) for key, word in zip(keys, words, strict=True)})
            attributes = _attributes(fields, position, factor)
            amount = results[position] if isinstance(results, list) else None
            if any(map(has_address, words)):
                builder.lost(benchmark, "skipped", NO_LASTING_NAME, **attributes)
            elif is_old:
                message = "of an earlier version of the benchmark (--all-versions keeps it)"
                builder.lost(benchmark, "skipped", message, **attributes)
            elif amount is None:
                builder.lost(benchmark, "failed", "asv recorded a failure", **attributes)
            elif amount != amount:  # NaN
                builder.lost(benchmark, "skipped", "asv recorded NaN: skipped, or without a number", **attributes)
            else:
                builder.measured(benchmark, [(0, {metric: scaled(amount, factor)})], **attributes)


def _catalogue(path: Path) -> dict[str, _Kind]:
    """The entries of `benchmarks.json` by name; its `version` is none."""
    try:
        entries = json_of(result_file(path).data, dict[str, Any], "asv")
        return {name: msgspec.convert(entry, _Kind) for name, entry in entries.items() if isinstance(entry, dict)}
    except msgspec.ValidationError as error:
        raise FormatError(f"{printable(str(path))}: {printable(str(error))}") from error
    except FormatError as error:
        raise FormatError(f"{printable(str(path))}: {printable(error.message)}") from error


def _metric(name: str, kind: _Kind | None) -> tuple[Metric, float]:
    type_name = kind.kind if kind is not None else ""
    if not type_name:
        function = name.rpartition(".")[2].lower()
        type_name = next((guess for prefix, guess in _PREFIXES if function.startswith(prefix)), "track")
    unit = kind.unit if kind is not None and kind.unit != _UNNAMED_UNIT else ""
    track = Metric(f"track ({unit})" if unit else "track", unit), 1.0
    return _TYPES.get(type_name, track)


def _lists(params: Any) -> list[list[str]]:
    if not isinstance(params, list) or not all(isinstance(words, list) for words in params):
        raise FormatError("`params` is no list of lists")
    return [[str(word) for word in words] for words in params]


def _most(results: Any) -> int:
    """One more combination than there are results; of a benchmark that failed as a whole not more than a thousand."""
    return len(results) + 1 if isinstance(results, list) else 1000


def _word(text: str) -> Scalar:
    """A parameter from what `repr` made of it."""
    match = _QUOTED.fullmatch(text)
    return scalar(text) if match is None else match[1] or match[2] or ""


def _attributes(fields: Mapping[str, Any], position: int, factor: float) -> dict[str, Any]:
    """The confidence interval of the median in the unit of the metric, loops, samples and the version."""
    version = fields.get("version")
    attributes = {
        "ci_99_low": scaled(_at(fields.get("stats_ci_99_a"), position), factor),
        "ci_99_high": scaled(_at(fields.get("stats_ci_99_b"), position), factor),
        "loops": _at(fields.get("stats_number"), position),
        "samples": _at(fields.get("stats_repeat"), position),
        "version": version if isinstance(version, str) else None,
    }
    return {key: attribute for key, attribute in attributes.items() if isinstance(attribute, str | int | float)}


def _at(numbers: Any, position: int) -> Any:
    return numbers[position] if isinstance(numbers, Sequence) and position < len(numbers) else None


def _nanoseconds(milliseconds: Any, default: int) -> int:
    """`date` of the file is the time of the commit, so only this one says when it was measured."""
    is_time = type(milliseconds) is int and 0 < milliseconds < 2**63 // 10**6
    return milliseconds * 10**6 if is_time else default


def _texts(facts: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={fact}" if fact else key for key, fact in sorted(facts.items()))


def _machine(params: Mapping[str, Any] = EMPTY) -> dict[str, Any]:
    system, _, release = str(params.get("os") or "").partition(" ")
    memory = str(params.get("ram") or "")
    cpus = str(params.get("num_cpu") or "")
    return machine(
        host=params.get("machine"),
        system=system,
        release=release,
        arch=params.get("arch"),
        cpu=params.get("cpu"),
        cpus=scalar(cpus),
        memory_gib=round(int(memory) / 2**30) if re.fullmatch(r"[0-9]{1,18}", memory) else None,
        python=params.get("python"),
    )
