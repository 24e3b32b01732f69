"""What checks found, as `log` and `status` show it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

from perfcore.analysis import acceptance, change_json, verdict_text
from perfcore.analysis.acceptance import Acceptance
from perfcore.analysis.note_keys import ACCEPTED_FILE
from perfcore.analysis.stored_results import Result, Results, headlines
from perfcore.cli.console import Console
from perfcore.errors import FormatError, PerfError
from perfcore.model import Change
from perfcore.text import align, clip, percent, printable

_LABEL = 60  # columns of a command in a line of 80
_SHOWN = (
    *("id", "kind", "metric", "resource", "contract", "config_id", "label"),
    *("baseline", "ratio", "low", "high", "primary", "until", "pace"),
)


class Marks:
    """The results of checks on versions; those that cannot be read are left out with a warning."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._results = Results(console.repository.store, console.repository.vcs_name)
        self._arrows = _can_write("▲▼✗")
        self._accepted = self._read_accepted()
        self._in_file = (console.repository.root / ACCEPTED_FILE).exists()

    def lines(self, version: str) -> list[str]:
        """A line for each, aligned: `  ▲ slower  +5.2 %  cpu  sort big.txt`."""
        headlines = self.headlines(version)
        if not headlines:
            return []
        lines = align([("  " + verdict, *cells) for verdict, *cells in map(self.cells, headlines)], right=(1,))
        return [self.painted(change, line) for change, line in zip(headlines, lines, strict=True)]

    def headlines(self, version: str) -> tuple[Change, ...]:
        """What became better or worse with a version, and the contracts that it breaks."""
        results = self.results(version)
        return headlines(results) if results else ()

    def short(self, version: str) -> str:
        """The same in a few words: `▲ slower +5.2 % cpu sort big.txt; ✗ broken cpu <= 1 ms sort big.txt`; nothing where
        nothing is known."""
        headlines = self.headlines(version)
        changes, contracts = (
            [headline for headline in headlines if bool(headline.contract) == agreed] for agreed in (False, True)
        )
        return "; ".join(self._gist(group) for group in (changes, contracts) if group)

    def _gist(self, found: Sequence[Change]) -> str:
        # What nobody accepted stands first: an accepted contract must not hide a broken one.
        first = min(found, key=lambda change: (self._acceptance(change) is not None, change.kind != "degradation"))
        overflow = f" and {len(found) - 1} more" if len(found) > 1 else ""
        return self.painted(first, " ".join(filter(None, self.cells(first)))) + overflow

    def painted(self, change: Change, text: str) -> str:
        if self._acceptance(change):
            return self._console.paint(text, "dim")
        colors = {"degradation": "red", "drift": "red", "variance": "yellow"}
        return self._console.paint(text, colors.get(change.kind, "green"))

    def as_json(self, version: str) -> list[dict[str, Any]]:
        return [
            self._change_json(result, change)
            for result in self.results(version)
            for change in result.changes
            if change.kind not in ("same", "cannot tell")
        ]

    def results(self, version: str) -> tuple[Result, ...]:
        """All that is known of a version."""
        try:
            return self._results.of(version)
        except FormatError as error:
            self._warn(error)
            return ()

    def cells(self, change: Change) -> tuple[str, ...]:
        """Verdict, size, metric, command, and whether it was accepted. Of a contract what it says, and no size."""
        size = percent(change.ratio) if change.ratio is not None and not change.contract else ""
        metric = verdict_text.metric(change)
        label = clip(printable(change.label), _LABEL)
        return f"{self._arrow(change)}{verdict_text.word(change)}", size, metric, label, self._remark(change)

    def _arrow(self, change: Change) -> str:
        if self._arrows and change.contract:
            return "✗ "
        if not self._arrows or change.ratio is None:
            return ""
        return "▲ " if change.ratio > 1 else "▼ "

    def _remark(self, change: Change) -> str:
        acceptance = self._acceptance(change)
        accepted = f"(accepted: {clip(printable(acceptance.why), _LABEL)})" if acceptance else ""
        return "  ".join(filter(None, (verdict_text.drift(change), accepted)))

    def _change_json(self, result: Result, change: Change) -> dict[str, Any]:
        values = {name: getattr(change, name) for name in _SHOWN}
        return {
            **values,
            "kind": change_json.kind_word(change),
            "baseline": change_json.full_id(change.baseline, self._full_ids(change.baseline)),
            "method": result.method,
            "time": result.time,
            "accepted": self._acceptance(change) is not None,
        }

    def _full_ids(self, label: str) -> dict[str, str]:
        """That of a label, whose version may be gone."""
        with contextlib.suppress(PerfError):
            return change_json.by_beginning([self._console.repository.version(label.partition("+")[0])])
        return {}

    def _acceptance(self, change: Change) -> Acceptance | None:
        found = acceptance.of_changes((change,), self._accepted).get(change.id)
        if found is None and self._in_file:
            from perfcore.analysis import accepted_file

            try:
                return accepted_file.accepted(self._console.repository, (change,)).get(change.id)
            except PerfError as error:  # a listing is no gate: `perf check` fails where the file is wrong
                self._in_file = False
                self._console.warn(str(error))
        return found

    def _read_accepted(self) -> dict[str, Acceptance]:
        try:
            return acceptance.accepted(self._console.repository.store)
        except FormatError as error:
            self._warn(error)
            return {}

    def _warn(self, error: FormatError) -> None:
        self._console.repository.leave_out(error)


def _can_write(text: str) -> bool:
    """Whether standard output can hold these signs."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
