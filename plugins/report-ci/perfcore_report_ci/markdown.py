"""A summary in Markdown for a pull request: the conclusion, a table of changes, and everything else folded.

Names come from outside, so every one is shown as code, and what could end that is written as entities: it can open no
markup, link to nothing and mention nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perfcore_command_check import companions
from perfcore_command_kit import report_text
from perfcore_command_kit.accepted_file import Entry

from perfcore.analysis import verdict_text
from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.fail_on import INCONCLUSIVE
from perfcore.analysis.note_keys import ACCEPTED_FILE
from perfcore.model import Change
from perfcore.model.decisions import Standing
from perfcore.text import clip, printable, quantity

if TYPE_CHECKING:
    from perfcore.hookspecs import Sources

# A command line may have thousands of characters, and a cell of a table is not wrapped between words.
_LONGEST = 200
_LONGEST_ENTRY = 1000
_ENTRIES = 10  # more than these are no exceptions
_NO_ANSWER = "inconclusive"
_MOST = 100  # rows: a comment on GitHub has room for 65,536 characters
# Everything but these is written as an entity: letters and digits, punctuation that Markdown never interprets, a point
# within a number, and a colon before a blank; `://` or `www.` would become a link.
_SIGNS = re.compile(r"((?<=\d)\.(?=\d)|:(?= )|[^\W_]|[ ,;%+()'-]|[^\x00-\x7f])|.")
_REFERENCES = frozenset("@#!$~&")
"""What begins a mention, or a reference of GitHub or GitLab. Both look for them, and for addresses of mail, in the text
that entities stand for: a comment, of which nothing is seen or copied, parts the sign from its name."""
_DOUBTS = frozenset({"cannot tell", "machine"})  # kinds that say nothing about the code
_HEAD = ("| | command | metric | before | after | change | interval |", "|---|---|---|---:|---:|---:|---|")


class MarkdownReport:
    """A summary in Markdown for a pull request."""

    def render(self, result: CheckResult, sources: Sources) -> str:
        return render(result)


def render(result: CheckResult) -> str:
    """The page, which begins with a heading."""
    reported = companions.reported(result)
    changed = [change for change in reported if change.kind not in ("same", "cannot tell")]
    ids = {change.id for change in changed}
    others = [change for change in result.changes if change.id not in ids]
    paragraphs = [f"### Performance: {_headline(result)}", _plain(report_text.conclusion(result)) + "."]
    paragraphs += [_table(result, changed)] if changed else []
    paragraphs += (
        [_list(_acceptances(result, changed[:_MOST]))] if any(report_text.standing(result, c) for c in changed) else []
    )
    paragraphs += [_list(_unpaired(result)) + _more(result.unpaired)] if result.unpaired else []
    if others:
        paragraphs.append(_folded("Unchanged, inconclusive, and other metrics", _table(result, others)))
    if reasoned := [change for change in result.changes if change.evidence]:
        paragraphs.append(_folded("Evidence", _list(_evidence(reasoned[:_MOST])) + _more(reasoned)))
    if entries := _entries(result):
        paragraphs.append(_folded("To accept what fails the build", entries))
    return "\n\n".join(paragraphs) + "\n"


def _headline(result: CheckResult) -> str:
    """What the build makes of it: a cross for every exit code but 0 and that of a comparison without an answer."""
    if result.exit_code:
        failure = _failure(result)
        return f"❔ {failure} (exit code {INCONCLUSIVE})" if failure == _NO_ANSWER else f"❌ {failure}"
    if not result.compared:
        return "❔ nothing was compared"
    return f"❔ {_NO_ANSWER}" if _is_undecided(result) else "✅ passed"


def _failure(result: CheckResult) -> str:
    kinds = {change.kind for change in result.failing}
    if result.degraded:
        return "more noise" if kinds <= {"variance", *_DOUBTS} else "regression"
    if not result.compared:
        return "nothing was compared"
    # A configuration without a baseline fails the build as `cannot-tell`, too.
    return _NO_ANSWER if result.exit_code == INCONCLUSIVE and kinds else "not everything was compared"


def _is_undecided(result: CheckResult) -> bool:
    """Whether no comparison has an answer. In a history an unchanged series is compared and has no change."""
    primary = [change for change in result.changes if change.primary]
    undecided = {(c.config_id, c.label, c.metric, c.resource, c.contract) for c in primary if c.kind == "cannot tell"}
    return len(undecided) >= result.compared and all(change.kind in _DOUBTS for change in primary)


def _table(result: CheckResult, changes: Sequence[Change]) -> str:
    rows = [_row(result, change) for change in changes[:_MOST]]
    return "\n".join([*_HEAD, *rows]) + _more(changes)


def _row(result: CheckResult, change: Change) -> str:
    cells = (
        _verdict(result, change),
        _command(change),
        _code(verdict_text.metric(change)),
        f"{_plain(quantity(change.baseline_value, change.unit))} {_code(change.baseline)}",
        f"{_plain(quantity(change.target_value, change.unit))} {_code(change.target)}",
        _arrow(change) + report_text.size(change),
        report_text.interval(change),
    )
    return f"| {' | '.join(cells)} |"


def _verdict(result: CheckResult, change: Change) -> str:
    word = verdict_text.word(change)
    standing = report_text.standing(result, change)
    if standing is not None and standing.silences:
        return f"{word}, {_plain(standing.decision.state)}"
    state = "" if standing is None else "reopened" if standing.reopened else _plain(standing.decision.state)
    parts = [f"**{word}**" if result.fails(change) else word, report_text.undone(change), state]
    return ", ".join(filter(None, parts))


def _arrow(change: Change) -> str:
    if change.ratio is None or change.kind not in ("degradation", "optimization", "drift", "improving drift"):
        return ""
    return "▲ " if change.ratio > 1 else "▼ "


def _acceptances(result: CheckResult, changes: Sequence[Change]) -> Iterator[str]:
    for change in changes:
        if standing := report_text.standing(result, change):
            yield f"{_subject(change)}: {_decision(standing)}"


def _decision(standing: Standing) -> str:
    made = standing.decision
    state = f"fixed in {_code(made.fixed_in[:10])}" if made.fixed_in else _plain(made.state)
    reopened = f"reopened, as {_plain(standing.reopened)}; " if standing.reopened else ""
    return f"{reopened}{state} by {_code(made.author)}" + (f": {_code(made.why)}" if made.why else "")


def _unpaired(result: CheckResult) -> Iterator[str]:
    for missing in result.unpaired[:_MOST]:
        yield f"not compared: {_code(missing.label)} at {_code(missing.version[:10])}: {_plain(missing.reason)}"


def _evidence(changes: Sequence[Change]) -> Iterator[str]:
    for change in changes:
        yield f"{_subject(change)}, change {_code(change.id)}: {_code(change.evidence)}"


def _entries(result: CheckResult) -> str:
    """What makes a reviewer's commit of an acceptance, as a block of code: no text of an entry begins a line."""
    given = [(Entry.of(change, why="the reason"), change) for change in result.failing]
    texts = [entry.text() for entry, change in given if entry.fits(change)]
    text = "".join([text for text in texts if len(text) <= _LONGEST_ENTRY][:_ENTRIES])
    return f"Add to `{ACCEPTED_FILE}`, with the reason:\n\n~~~yaml\naccepted:\n{text}~~~" if text else ""


def _subject(change: Change) -> str:
    return f"{_code(verdict_text.metric(change))} of {_command(change)}"


def _command(change: Change) -> str:
    machine = report_text.on_machine(change).removeprefix(" on ")
    return f"{_code(change.label)} on {_code(machine)}" if machine else _code(change.label)


def _more(items: Sequence[object]) -> str:
    return f"\n\n… and {len(items) - _MOST:,} more" if len(items) > _MOST else ""


def _list(items: Iterator[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _folded(summary: str, content: str) -> str:
    """GitHub and GitLab render Markdown inside of a folded part after an empty line."""
    return f"<details>\n<summary>{summary}</summary>\n\n{content}\n\n</details>"


def _code(text: str) -> str:
    """A name: a code span, or an element where it holds what could end one or a cell."""
    name = clip(printable(text), _LONGEST).strip()
    if not name:
        return ""
    # A pipe ends a cell in GitHub's tables within a code span too; escaped, it would show its backslash in lists.
    return f"<code>{_plain(name)}</code>" if set("`|\\") & set(name) else f"`{name}`"


def _plain(text: str) -> str:
    """The text with all that could be markup as entities."""
    return _SIGNS.sub(lambda match: match[1] or _entity(match[0]), printable(text))


def _entity(sign: str) -> str:
    return f"&#{ord(sign)};" + ("<!-- -->" if sign in _REFERENCES else "")
