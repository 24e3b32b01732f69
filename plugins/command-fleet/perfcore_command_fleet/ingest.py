"""Ingestion: files to segments to receipts. What was ingested before is recognised by its receipt."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from perfcore_fleet_kit.commit import Committed, Committer
from perfcore_fleet_kit.fleet_index import FleetIndex
from perfcore_fleet_kit.texts import TextIndex

from perfcore.errors import FormatError, PerfError, UsageError
from perfcore.hookspecs import Segment
from perfcore.model.listener import Listener
from perfcore.repository.repository import Repository
from perfcore.text import printable
from perfcore_command_fleet.files import Candidate, Sources
from perfcore_command_fleet.questions import text_cache

SCHEMA = 1


@attrs.define(kw_only=True)
class Ingested:
    """What became of files: how many segments had each outcome, samples that are new, and (file, what is wrong).
    `partial` counts new segments that are not whole."""

    outcomes: Counter[str] = attrs.field(factory=Counter)
    samples: int = 0
    partial: int = 0
    problems: list[tuple[Path, str]] = attrs.field(factory=list)
    done: list[Path] = attrs.field(factory=list)
    open: list[Path] = attrs.field(factory=list)

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/fleet-ingest.json`."""
        return {
            "schema": SCHEMA,
            **{name: self.outcomes[name] for name in ("new", "replaced", "known", "expired", "conflict")},
            "partial": self.partial,
            "samples": self.samples,
            "problems": [{"path": str(path), "text": text} for path, text in self.problems],
        }


@attrs.define(kw_only=True)
class Ingester:
    """Ingests files into the store of a repository. `release` is the version of all samples; without it, the label
    `release` of each segment names it."""

    repository: Repository
    sources: Sources
    listener: Listener
    release: str | None = None
    labels: Mapping[str, str] = {}
    host: str | None = None
    shard: str = attrs.field(factory=socket.gethostname)
    _committers: dict[tuple[str, str], Committer] = attrs.field(factory=dict)
    _indexes: dict[str, FleetIndex] = attrs.field(factory=dict)
    _versions: dict[str, str] = attrs.field(factory=dict)
    _texts: TextIndex = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._texts = TextIndex(text_cache(self.repository))

    def ingest(self, files: Sequence[Candidate]) -> Ingested:
        """Ingest files. Those that hold no segment are problems, and the others go on."""
        result = Ingested()
        hosts = {file.path: file.host for file in files}
        for done, (source, paths) in enumerate(self._by_source(files, result)):
            self.listener.progress(done, len(files), "ingesting")
            for batch in _batches(self.sources.driver(source).read(paths, ""), result):
                self._commit(source, batch, hosts, result)
        self._texts.save()
        return result

    def forget(self) -> None:
        """Read the state again at the next ingestion: others write, too."""
        self._committers.clear()
        self._indexes.clear()

    def _by_source(self, files: Sequence[Candidate], result: Ingested) -> Iterator[tuple[str, list[Path]]]:
        paths: dict[str, list[Path]] = {}
        for file in files:
            try:
                source = self.sources.of(file.path)
            except FileNotFoundError:
                continue  # somebody else was faster
            except OSError as error:
                result.problems.append((file.path, f"cannot be read: {error.strerror}"))
                continue
            if source is None:
                result.problems.append((file.path, f"no source reads it ({self.sources.names()})"))
            else:
                paths.setdefault(source, []).append(file.path)
        yield from sorted(paths.items())

    def _commit(self, source: str, segments: Sequence[Segment], hosts: Mapping[Path, str], result: Ingested) -> None:
        by_version: dict[str, list[Segment]] = {}
        for segment in segments:
            try:
                by_version.setdefault(self._version(segment), []).append(segment)
            except PerfError as error:
                result.problems.append((segment.path, error.message))
        for version, members in by_version.items():
            own = [self._own_labels(segment, hosts.get(segment.path, "")) for segment in members]
            for segment, committed in zip(members, self._committer(version, source).commit(members, own), strict=True):
                _note(segment, committed, result)

    def _own_labels(self, segment: Segment, folder: str) -> dict[str, str]:
        host = self.host or segment.labels.get("host") or folder or self.shard
        return {"host": host}

    def _version(self, segment: Segment) -> str:
        """The full id of the version that a segment is of."""
        release = self.release or segment.labels.get("release")
        if not release:
            raise UsageError("its release is not known", hint="--release REV")
        if release not in self._versions:
            self._versions[release] = self.repository.version(release)
        return self._versions[release]

    def _committer(self, version: str, source: str) -> Committer:
        if version not in self._indexes:
            self._indexes[version] = FleetIndex.read(self.repository.store, version)
            for problem in self._indexes[version].problems:
                self.listener.note(problem)
        key = (version, source)
        if key not in self._committers:
            self._committers[key] = Committer(
                self.repository.store,
                version,
                self._indexes[version],
                self.shard,
                source,
                self.labels,
                self._texts,
            )
        return self._committers[key]


def _batches(read: Iterable[Segment | tuple[Path, FormatError]], result: Ingested) -> Iterator[list[Segment]]:
    """Segments that are stored together: those that share their stacks."""
    batch: list[Segment] = []
    shared: object = None
    for segment in read:
        if not isinstance(segment, Segment):
            result.problems.append((segment[0], segment[1].message))
            continue
        stacks = segment.profile.tables.get("stacks")
        if batch and stacks is not shared:
            yield batch
            batch = []
        shared = stacks
        batch.append(segment)
    if batch:
        yield batch


def _note(segment: Segment, committed: Committed, result: Ingested) -> None:
    result.outcomes[committed.outcome] += 1
    if committed.outcome in ("new", "replaced"):
        result.samples += committed.receipt.total
        result.partial += not segment.whole
    if committed.outcome == "conflict":
        result.problems.append((segment.path, committed.reason))
    elif segment.whole or committed.receipt.whole:
        result.done.append(segment.path)
    else:
        result.open.append(segment.path)
        if segment.profile.notes and committed.outcome == "new":
            problem = printable("; ".join(segment.profile.notes))
            text = f"not whole, {committed.receipt.total:,} samples counted: {problem}"
            result.problems.append((segment.path, text))
