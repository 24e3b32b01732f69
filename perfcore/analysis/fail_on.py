"""When a check fails a build: the rules of `--fail-on`, and the exit codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast, get_args

from perfcore.errors import UsageError, nearest
from perfcore.model.record import Record
from perfcore.text import brief

if TYPE_CHECKING:
    from perfcore.model import Change
    from perfcore.repository.repository import Repository

REGRESSED = 1  # exit codes that scripts rely on: 2 to 7 are errors
INCONCLUSIVE = 8
NOT_COMPARED = 9
NEVER = "never"  # takes the default away; all other words add to it
Verdict = Literal["degradation", "drift", "any-degradation", "noise", "cannot-tell", "not-compared", "nothing-compared"]
_VERDICTS: tuple[str, ...] = get_args(Verdict)


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


def parse_rules(words: Sequence[str]) -> tuple[FailRule, ...]:
    """The rules in words such as `degradation:wall`, `any-degradation`, `cannot-tell`, which add to the default. With
    `never` there is no default."""
    rules = [_parse(word) for word in words if word != NEVER]
    return tuple(dict.fromkeys(rules if NEVER in words else (*DEFAULT, *rules)))


def thresholds_of(repository: Repository) -> dict[str, float]:
    """The smallest changes that matter, by metric, as configured; the key "" is the default."""
    configured = {str(key): float(value) for key, value in repository.config.get("check.thresholds").items()}
    default = repository.config.get("check.threshold")
    return configured if default is None else {"": float(default), **configured}


def combined(configured: Mapping[str, float], given: Mapping[str, float]) -> Mapping[str, float]:
    """The thresholds of the configuration with those of a command line, of which one for every metric outweighs
    all that is configured."""
    return given if "" in given else {**configured, **given}


def _parse(word: str) -> FailRule:
    verdict, colon, metric = word.partition(":")
    verdicts = (*_VERDICTS, NEVER)
    if verdict not in _VERDICTS:
        raise UsageError(
            f"a check cannot fail on {brief(word)}", hint=nearest(verdict, verdicts) or f"one of {', '.join(verdicts)}"
        )
    if colon and (not metric or verdict in ("any-degradation", "not-compared", "nothing-compared")):
        raise UsageError(f"{brief(word)} names no metric that could fail", hint="such as degradation:wall")
    return FailRule(cast(Verdict, verdict), metric)
