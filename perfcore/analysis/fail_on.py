"""When a check fails a build: the rules of `--fail-on`, and the exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from perfcore.model.record import Record

if TYPE_CHECKING:
    from perfcore.model import Change

REGRESSED = 1  # exit codes that scripts rely on: 2 to 7 are errors
INCONCLUSIVE = 8
NOT_COMPARED = 9
Verdict = Literal["degradation", "drift", "any-degradation", "noise", "cannot-tell", "not-compared", "nothing-compared"]


class FailRule(Record, frozen=True):
    """A verdict that fails a build: on any primary metric, or on the one of this name, primary or not."""

    verdict: Verdict
    metric: str = ""

    def fits(self, change: Change) -> bool:
        """Whether this change fails the build; what was not compared is no change."""
        if change.kind == "machine" and change.reason:  # in a small suite it may be the code as well
            return self.verdict == "cannot-tell" and self.metric in ("", change.metric)
        if self.metric:
            applies = change.metric == self.metric
        else:
            applies = change.primary or self.verdict == "any-degradation"
        kinds = {"any-degradation": ("degradation", "drift"), "cannot-tell": ("cannot tell",)}
        if self.verdict == "noise":  # noise that shrank is no reason to fail
            return applies and change.kind == "variance" and (change.ratio or 2.0) > 1
        return applies and change.kind in kinds.get(self.verdict, (self.verdict,))

    def __str__(self) -> str:
        return f"{self.verdict}:{self.metric}" if self.metric else self.verdict


# A drift is a regression in small steps: a gate that passes it lets grow whatever grows slowly enough. A gate that
# compared nothing has not looked: on another machine, or after a renamed command, it would pass for ever.
EMPTY_CHECK = FailRule("nothing-compared")
DEFAULT = (FailRule("degradation"), FailRule("drift"), EMPTY_CHECK)
