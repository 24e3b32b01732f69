"""Which redacted objects belong to which objects of this store: kept, or pulling them back would double profiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from perfcore import files
from perfcore.errors import FormatError, StorageError
from perfcore.locks import Lock
from perfcore.store.objects import ID

_PATIENCE = 10.0  # seconds to wait for another push
_LARGEST = 1 << 28  # bytes, of some three million links


@attrs.define
class Links:
    """Original ids by the redacted ones: a line each in a file, `REDACTED ORIGINAL`, which grows only."""

    path: Path | None = None
    originals: dict[str, str] = attrs.field(factory=dict)
    _redacted: dict[str, list[str]] = attrs.field(factory=dict)

    @classmethod
    def read(cls, path: Path) -> Links:
        """FormatError for a file that is damaged."""
        links = cls(path)
        if path.exists():
            links._take(_parsed(path))
        return links

    def redacted(self, original: str) -> tuple[str, ...]:
        """The ids that an object got when it was redacted, each time by other rules; the newest is the last."""
        return tuple(self._redacted.get(original, ()))

    def keep(self, redacted: str, original: str) -> None:
        """Remember one more. `write` makes it last."""
        self._take({redacted: original})

    def write(self) -> None:
        """Join with what the file holds. Before anything is sent: a link that is lost is a profile that is doubled."""
        if self.path is None or not self.originals:
            return
        busy = StorageError(f"another push is writing {self.path}", hint="try again")
        with Lock(self.path.with_name(f"{self.path.name}.lock")).hold(_PATIENCE, busy):
            there = _parsed(self.path) if self.path.exists() else {}
            every = {**there, **self.originals}
            if every != there:
                text = "".join(f"{redacted} {original}\n" for redacted, original in every.items())
                files.write_atomically(self.path, text.encode())

    def _take(self, originals: Mapping[str, str]) -> None:
        for redacted, original in originals.items():
            if self.originals.setdefault(redacted, original) == original:
                known = self._redacted.setdefault(original, [])
                known += [redacted] if redacted not in known else []


def _parsed(path: Path) -> dict[str, str]:
    lines = files.read(path, _LARGEST).data.decode("ascii", "replace").splitlines()
    return dict(_pairs(lines, path))


def _pairs(lines: Iterable[str], path: Path) -> Iterable[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        redacted, _, original = line.partition(" ")
        if not ID.fullmatch(redacted) or not ID.fullmatch(original):
            raise FormatError(
                f"{path} is damaged in line {number}",
                hint="bring it back from a copy; without it, `perf pull` may bring profiles twice",
            )
        yield redacted, original
