"""The words of `--fail-on`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast, get_args

from perfcore.analysis.fail_on import DEFAULT, FailRule, Verdict
from perfcore.errors import UsageError, nearest
from perfcore.text import brief

NEVER = "never"  # takes the default away; all other words add to it
_VERDICTS: tuple[str, ...] = get_args(Verdict)


def parse_rules(words: Sequence[str]) -> tuple[FailRule, ...]:
    """The rules in words such as `degradation:wall`, `any-degradation`, `cannot-tell`, which add to the default. With
    `never` there is no default."""
    rules = [_parse(word) for word in words if word != NEVER]
    return tuple(dict.fromkeys(rules if NEVER in words else (*DEFAULT, *rules)))


def gated_metrics(words: Sequence[str], metrics: Iterable[str]) -> frozenset[str]:
    """The metrics of these that rules in words judge beside the primary ones: what looks at primary metrics looks at
    them as well."""
    rules = parse_rules(words)
    judges_all = any(rule.verdict == "any-degradation" for rule in rules)
    named = {rule.metric for rule in rules}
    return frozenset(metric for metric in metrics if judges_all or metric in named)


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
