"""JUnit XML: a suite for every command, a test case for every primary metric and every other one that changed.

A change that fails the build is a failure; an inconclusive one, and a configuration that was not compared, is a skipped
test, or an error where the build is to fail on it. The attributes and their order of nesting are those of the schema
that the Jenkins plugin for JUnit publishes, which GitLab, Azure and others read as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

import attrs
from perfcore_command_check import companions
from perfcore_command_kit import report_text

from perfcore.analysis import verdict_text
from perfcore.analysis.check_result import CheckResult
from perfcore.model import Change, Unpaired
from perfcore.text import encodable, printable

if TYPE_CHECKING:
    from perfcore.hookspecs import Sources

_RESULTS = ("failure", "error", "skipped")


@attrs.frozen(kw_only=True)
class _Case:
    """A test case. `result` is one of `failure`, `error`, `skipped`, or "" for one that passed."""

    suite: str
    name: str
    result: str = ""
    type: str = ""
    message: str = ""
    text: str = ""


class JunitReport:
    """JUnit XML, as Jenkins, GitLab, Azure and others read test results."""

    def render(self, result: CheckResult, sources: Sources) -> str:
        return render(result)


def render(result: CheckResult) -> str:
    """The document."""
    cases = [*_unique([_case(result, change) for change in companions.reported(result)], result)]
    cases += [_missing(result, missing) for missing in result.unpaired]
    suites: dict[str, list[_Case]] = {}
    for case in cases:
        suites.setdefault(case.suite, []).append(case)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="perf check"{_counts(cases)}>']
    for name, members in suites.items():
        lines.append(f"  <testsuite name={_attribute(name)}{_counts(members)}>")
        lines += [line for case in members for line in _lines(case)]
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _case(result: CheckResult, change: Change) -> _Case:
    status = _status(result, change)
    parts = [report_text.sentence(change), printable(change.evidence), f"change {printable(change.id)}"]
    parts.append(report_text.decided(result, change))
    return _Case(
        suite=_suite(change.label),
        name=verdict_text.metric(change) + report_text.on_machine(change),
        result=status,
        type=change.kind,
        message=report_text.title(change) if status else "",
        text="\n".join(filter(None, parts)),
    )


def _status(result: CheckResult, change: Change) -> str:
    if result.fails(change):
        return "error" if change.kind == "cannot tell" else "failure"
    return "skipped" if change.kind == "cannot tell" else ""


def _missing(result: CheckResult, missing: Unpaired) -> _Case:
    return _Case(
        suite=_suite(missing.label),
        name="not compared",
        result="error" if result.requires_all else "skipped",
        type="not compared",
        message=report_text.unpaired(missing),
        text=report_text.unpaired(missing),
    )


def _suite(label: str) -> str:
    return printable(label) or "(no command)"


def _unique(cases: Sequence[_Case], result: CheckResult) -> Iterator[_Case]:
    """Readers take two cases of one name for one test that ran twice: in a history, each says its version. Else the
    name is the same from one build to the next, so that they can tell what is new."""
    count = Counter((case.suite, case.name) for case in cases)
    for case, change in zip(cases, companions.reported(result), strict=True):
        many = count[case.suite, case.name] > 1
        yield attrs.evolve(case, name=f"{case.name} at {printable(change.target)}") if many else case


def _lines(case: _Case) -> Iterator[str]:
    # Readers require a time; that of a verdict is not the time of any test, so it is 0.
    yield f'    <testcase classname={_attribute(case.suite)} name={_attribute(case.name)} time="0">'
    if case.result == "skipped":
        yield f"      <skipped message={_attribute(case.message)}/>"
    elif case.result:
        yield f"      <{case.result} type={_attribute(case.type)} message={_attribute(case.message)}>"
        yield f"{_text(case.text)}</{case.result}>"
    if case.result in ("", "skipped"):
        # The evidence of a test that passed; readers show the text of an element `failure` by themselves.
        yield f"      <system-out>{_text(case.text)}</system-out>"
    yield "    </testcase>"


def _counts(cases: Iterable[_Case]) -> str:
    results = Counter(case.result for case in cases)
    counts = {
        "tests": results.total(),
        "failures": results["failure"],
        "errors": results["error"],
        "skipped": results["skipped"],
    }
    return "".join(f' {name}="{count}"' for name, count in counts.items()) + ' time="0"'


def _attribute(text: str) -> str:
    return quoteattr(_legal(text))


def _text(text: str) -> str:
    return escape(_legal(text))


def _legal(text: str) -> str:
    """The text without the characters that XML 1.0 has no way to write. What people were given has none any more, as
    control characters are written as escapes; a plugin's own words may."""
    # U+FFFD is what Unicode provides for a character that cannot be written.
    return "".join(c if _is_legal(c) else "\ufffd" for c in encodable(text))


def _is_legal(c: str) -> bool:
    # The production Char of XML 1.0 (section 2.2).
    return c in "\t\n\r" or "\x20" <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c >= "\U00010000"
