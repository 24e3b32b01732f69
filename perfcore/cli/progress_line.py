"""How far long work is: one line that is written again and again on a terminal, and a line now and then in a log."""

from __future__ import annotations

import sys
import time

from perfcore.text import clip, printable

_MEASURED = 1.0  # seconds of a stage before the time left is told
_LOG_INTERVAL = 30.0  # seconds between two lines of a log, which some services end that is silent for minutes


class ProgressLine:
    """The progress of one command on standard error."""

    def __init__(self) -> None:
        self._logged = -_LOG_INTERVAL
        self._stage = (0, 0, time.monotonic())  # the total and the steps done when it began, and when that was
        self._shown = False

    def show(self, done: int, total: int, text: str, columns: int) -> None:
        """As `Listener.progress`. What was finished has a line in a log, and none on a terminal, whose line goes on."""
        now, terminal = time.monotonic(), sys.stderr.isatty()
        if done == total > 0:
            if not terminal:
                sys.stderr.write(f"measured {printable(text)}\n")
            return
        line = " ".join(filter(None, (f"{done + 1}/{total}" if total else f"{done + 1}", printable(text))))
        left = self._left(done, total, now)
        if terminal:
            sys.stderr.write(f"\r\x1b[K{clip(line, columns - 1 - len(left))}{left}")  # ECMA-48: EL erases the line
            self._shown = True
        elif now - self._logged >= _LOG_INTERVAL:
            sys.stderr.write(f"{line}{left}\n")
            self._logged = now
        else:
            return
        sys.stderr.flush()

    def _left(self, done: int, total: int, now: float) -> str:
        """`, 2 min left` as the steps until now went; nothing before some of this stage are over."""
        if self._stage[0] != total or done <= self._stage[1]:
            self._stage = (total, done, now)
        _, first, since = self._stage
        if not total or done - first < 2 or now - since < _MEASURED:
            return ""
        seconds = (now - since) / (done - first) * (total - done)
        return f", {seconds / 60:.0f} min left" if seconds >= 90 else f", {max(1, seconds):.0f} s left"

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
