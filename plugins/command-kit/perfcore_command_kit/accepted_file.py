"""Changes that are accepted in the repository itself, in a file that reviewers see beside the code.

An entry holds for what came with it: for changes after a baseline whose own file does not have it. So it goes on to
hold when its commits are squashed, rebased or merged, and the next change of the same command is a new one.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import attrs

from perfcore.analysis.note_keys import ACCEPTED_FILE
from perfcore.config.documents import lines, parse
from perfcore.config.layers import read_bytes
from perfcore.config.settings import option, structure
from perfcore.errors import NotFoundError, PerfError, UsageError
from perfcore.model import EMPTY, Change
from perfcore.model.decisions import Decision
from perfcore.repository.repository import Repository
from perfcore.text import encodable

_FOR_THE_WORSE = ("degradation", "drift", "variance")


def _any(attribute: str) -> Any:
    return option("", help=f"The {attribute} of the change; every one where it is left out.")


@attrs.frozen
class Entry:
    """An entry of the file. Two entries are the same if all of them is."""

    command: str = option(help="The command, as `perf check` shows it.")
    why: str = option(help="The reason.")
    metric: str = _any("metric")
    benchmark: str = _any("benchmark")
    contract: str = option("", help="The sentence of the contract that may be broken, instead of a metric.")
    limit: float | None = option(None, minimum=0, help="The largest relative change, such as 0.1; any size without it.")
    author: str = option("", help="Who accepts it.")
    date: str = option("", help="When, as 2026-01-31.")
    change: str = option("", help="The id of the change as it was when it was accepted.")

    @classmethod
    def of(cls, change: Change, *, why: str, author: str = "", date: str = "") -> Entry:
        """The entry that accepts a change, as large as it may be within its interval."""
        entry = cls(command=change.label, why=why, author=author, date=date, change=change.id, contract=change.contract)
        if change.contract:
            return entry
        sizes = [abs(ratio - 1) for ratio in (change.low, change.ratio, change.high) if ratio is not None]
        known = [size for size in sizes if math.isfinite(size)]
        limit = math.ceil(max(known) * 1000) / 1000 if known else None
        return attrs.evolve(entry, metric=change.metric, benchmark=change.resource, limit=limit)

    def text(self) -> str:
        """The entry in YAML, as an item of the list."""
        given = {
            key: value
            for key, value in attrs.asdict(self).items()
            if value not in ("", None) or key in ("command", "why")
        }
        texts = [f"{key}: {_quoted(value) if isinstance(value, str) else value}" for key, value in given.items()]
        return "- " + "\n  ".join(texts) + "\n"

    def fits(self, change: Change, renamed: Mapping[str, str] = EMPTY) -> bool:
        """Whether it is for such a change, whatever version that came with. `renamed` has new names of benchmarks by
        old ones."""
        if change.kind not in _FOR_THE_WORSE or change.label != self.command or change.contract != self.contract:
            return False
        if change.contract:
            return True
        size = abs(change.ratio - 1) if change.ratio is not None else None
        within = self.limit is None or (size is not None and size <= self.limit)
        return (
            within
            and self.metric in ("", change.metric)
            and renamed.get(self.benchmark, self.benchmark) in ("", change.resource)
        )

    def acceptance(self, change: str) -> Decision:
        """It as that of the change with this id."""
        try:
            moment = datetime.datetime.fromisoformat(self.date).replace(tzinfo=datetime.UTC)
        except ValueError:
            moment = datetime.datetime.fromtimestamp(0, datetime.UTC)
        return Decision(change=change, why=self.why, author=self.author, time=int(moment.timestamp()) * 10**9)


def read(data: bytes, where: str = ACCEPTED_FILE) -> tuple[Entry, ...]:
    """The entries of a file. UsageError names the line of one that is none."""
    document = parse(data, where)
    if document is None or document == {"accepted": None}:
        return ()
    found = document.get("accepted") if isinstance(document, dict) and set(document) == {"accepted"} else None
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise UsageError(f"{where} is not `accepted:` with a list of entries")
    at = lines(data)
    places = [f"{where}, line {at['accepted', position]}" for position in range(len(found))]
    return tuple(structure(Entry, entry, where=place) for entry, place in zip(found, places, strict=True))


def _quoted(text: str) -> str:
    """A text as YAML 1.2 reads it in double quotes, whatever it holds."""
    signs = (sign if sign.isprintable() and sign not in '"\\' else f"\\U{ord(sign):08x}" for sign in encodable(text))
    return f'"{"".join(signs)}"'


def of_tree(repository: Repository) -> tuple[Entry, ...]:
    """The entries of the working tree."""
    return read(read_bytes(repository.root / ACCEPTED_FILE) or b"")


def accepted(repository: Repository, changes: Iterable[Change]) -> dict[str, Decision]:
    """The acceptances of the working tree that hold for these changes, by the id of the change."""
    entries, renamed = of_tree(repository), repository.config.get("benchmarks.renamed")
    before: dict[str, Collection[Entry]] = {"": ()}  # a contract may have no baseline
    found = {}
    for change in changes:
        for entry in (entry for entry in entries if entry.fits(change, renamed)):
            if change.baseline not in before:
                before[change.baseline] = _of_version(repository, change.baseline, entries)
            if entry.change == change.id or entry not in before[change.baseline]:
                found[change.id] = entry.acceptance(change.id)
    return found


def _of_version(repository: Repository, label: str, unknown: Collection[Entry]) -> Collection[Entry]:
    """The entries that a version had; `unknown` where nobody can tell."""
    try:
        return read(repository.vcs.read_file(repository.version(label.partition("+")[0]), ACCEPTED_FILE))
    except (NotFoundError, UsageError):  # it had none, or one that accepted nothing
        return ()
    except PerfError:
        return unknown
