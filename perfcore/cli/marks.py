"""What checks found, as `log` and `status` show it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perfcore.analysis import change_json, decisions, verdict_text
from perfcore.analysis.stored_results import Result, Results, headlines
from perfcore.cli.console import Console
from perfcore.errors import FormatError, PerfError, PluginError
from perfcore.model import Change
from perfcore.model.record import replace
from perfcore.text import align, clip, fitted, percent, printable

if TYPE_CHECKING:
    from perfcore.model.decisions import Standing

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
        self._standings = self._read_standings()
        self._fail_on = console.repository.config.get("check.fail_on")

    def lines(self, version: str) -> list[str]:
        """A line for each, aligned: `  ▲ slower  +5.2 %  cpu  sort big.txt`. Profiles name commands of suites."""
        headlines, results = self.headlines(version), self.results(version)
        is_suite = all(c.resource for c in headlines) and len({result.config_id for result in results}) == 1
        cells = [(f"  {cells[0]}", *cells[1:3], *cells[3 + is_suite :]) for cells in map(self.cells, headlines)]
        lines = align(fitted(cells, self._console.width, cut=(2, 3)), right=(1,))
        return [self.painted(change, line) for change, line in zip(headlines, lines, strict=True)]

    def headlines(self, version: str) -> tuple[Change, ...]:
        """What became better or worse with a version, and the contracts that it breaks."""
        return headlines(self.results(version), self._fail_on)

    def short(self, version: str) -> str:
        """The same in a few words: `▲ slower +5.2 % cpu sort big.txt; ✗ broken cpu <= 1 ms sort big.txt`, or none."""
        headlines = self.headlines(version)
        groups = ([change for change in headlines if bool(change.contract) == agreed] for agreed in (False, True))
        return "; ".join(self._gist(group) for group in groups if group)

    def _gist(self, found: Sequence[Change]) -> str:
        # What nobody accepted stands first: an accepted contract must not hide a broken one.
        first = min(found, key=lambda change: (self._is_silent(change), change.kind != "degradation"))
        overflow = f" and {len(found) - 1} more" if len(found) > 1 else ""
        return self.painted(first, " ".join(filter(None, self.cells(first)))) + overflow

    def painted(self, change: Change, text: str) -> str:
        if self._is_silent(change):
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
        """Verdict, size, metric, command, and what somebody decided. Of a contract what it says, and no size."""
        size = percent(change.ratio) if change.ratio is not None and not change.contract else ""
        word, label = f"{self._arrow(change)}{verdict_text.word(change)}", clip(printable(change.label), _LABEL)
        return word, size, verdict_text.metric(change), label, self._remark(change)

    def _arrow(self, change: Change) -> str:
        if self._arrows and change.contract:
            return "✗ "
        if not self._arrows or change.ratio is None:
            return ""
        return "▲ " if change.ratio > 1 else "▼ "

    def _remark(self, change: Change) -> str:
        standing = self._standing(change)
        if standing is None:
            return verdict_text.drift(change)
        state = f"reopened: {standing.reopened}" if standing.reopened else standing.decision.state
        reason = clip(printable(standing.decision.why), _LABEL)
        decided = f"({': '.join(filter(None, (printable(state), '' if standing.reopened else reason)))})"
        return "  ".join(filter(None, (verdict_text.drift(change), decided)))

    def _change_json(self, result: Result, change: Change) -> dict[str, Any]:
        values = {name: getattr(change, name) for name in _SHOWN}
        return {
            **values,
            "kind": change_json.kind_word(change),
            "baseline": change_json.full_id(change.baseline, self._full_ids(change.baseline)),
            "method": result.method,
            "time": result.time,
            "accepted": self._is_silent(change),
        }

    def _full_ids(self, label: str) -> dict[str, str]:
        """That of a label, whose version may be gone."""
        with contextlib.suppress(PerfError):
            return change_json.by_beginning([self._console.repository.version(label.partition("+")[0])])
        return {}

    def _is_silent(self, change: Change) -> bool:
        standing = self._standing(change)
        return standing is not None and standing.silences

    def _standing(self, change: Change) -> Standing | None:
        if self._standings is None:
            return None
        try:
            standing: Standing | None = self._standings.on((change,)).get(change.id)
        except PerfError as error:  # a listing is no gate: `perf check` fails where the file is wrong
            self._standings = replace(self._standings, has_file=False)
            self._console.warn(str(error))
            return self._standing(change)
        return standing

    def _read_standings(self) -> Any:
        try:
            repository = self._console.repository
            return decisions.standings(repository) if decisions.exist(repository) else None
        except FormatError as error:
            self._warn(error)
        except PluginError as error:
            self._console.warn(str(error))
        return None

    def _warn(self, error: FormatError) -> None:
        self._console.repository.leave_out(error)


def _can_write(text: str) -> bool:
    """Whether standard output can hold these signs."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
