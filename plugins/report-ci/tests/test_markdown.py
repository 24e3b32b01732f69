"""The summary in Markdown is one page of our own, whatever the names say."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any, get_args

import pytest
from markdown_it import MarkdownIt
from perfcore_check_kit.fail_rules import parse_rules
from perfcore_report_ci import markdown
from perfcore_testing import hostile
from perfcore_testing.results import acceptance

from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.fail_on import Verdict
from perfcore.model import Change, Unpaired
from perfcore.model.record import replace

OURS = {"<!-- -->", "<code>", "</code>", "<details>", "</details>", "<summary>", "</summary>"}


def tokens(text: str) -> list[Any]:
    """What a renderer makes of it, inner parts in the order of the text."""
    parsed = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return [inner for token in parsed for inner in (token, *(token.children or ()))]


def rows(text: str) -> list[list[str]]:
    """The cells of all tables as people read them."""
    found: list[list[str]] = []
    for token in tokens(text):
        if token.type == "tr_open":
            found.append([])
        elif token.type == "inline" and found and token.level >= 4:
            shown = "".join(
                c.content for c in token.children or () if c.type in ("text", "text_special", "code_inline")
            )
            found[-1].append(shown)
    return found


def test_it_opens_with_the_result(every_kind: CheckResult, change: Callable[..., Change]) -> None:
    assert markdown.render(every_kind).startswith("### Performance: ❌ regression\n")
    assert markdown.render(CheckResult(changes=(change("same"),))).startswith("### Performance: ✅ passed\n")
    strict = CheckResult(changes=(change("cannot tell"),), rules=parse_rules(["cannot-tell"]))
    assert markdown.render(strict).startswith("### Performance: ❔ inconclusive (exit code 8)\n")


def test_a_change_that_was_undone_says_so(change: Callable[..., Change]) -> None:
    undone = change(undone="f" * 40)
    assert rows(markdown.render(CheckResult(changes=(undone,))))[1][0] == f"slower, undone in {'f' * 10}"
    accepted = acceptance(undone.id)
    text = markdown.render(CheckResult(changes=(undone,), accepted={undone.id: accepted}))
    assert rows(text)[1][0] == "slower, accepted"


# What fails a build by each word of --fail-on, with the headline: the word with `never`, the changes, and whether a
# configuration was not compared.
FAILURES = {
    "degradation": (("degradation",), False, "regression"),
    "degradation:cpu": (("degradation",), False, "regression"),
    "drift": (("drift",), False, "regression"),
    "any-degradation": (("degradation",), False, "regression"),
    "noise": (("variance",), False, "more noise"),
    "cannot-tell": (("cannot tell",), False, "inconclusive (exit code 8)"),
    "cannot-tell:cpu": (("cannot tell",), False, "inconclusive (exit code 8)"),
    "not-compared": (("same",), True, "not everything was compared"),
    "nothing-compared": ((), True, "nothing was compared"),
}


def test_every_word_that_fails_a_build_has_a_headline_here() -> None:
    assert {word.partition(":")[0] for word in FAILURES} == {*get_args(Verdict)}


@pytest.mark.parametrize("word", FAILURES)
def test_what_fails_the_build_fails_in_the_headline(
    word: str, change: Callable[..., Change], gap: Callable[..., Unpaired]
) -> None:
    kinds, is_gap, headline = FAILURES[word]
    changes, unpaired = tuple(map(change, kinds)), (gap(),) * is_gap
    failed = CheckResult(changes=changes, unpaired=unpaired, rules=parse_rules(["never", word]))
    assert failed.exit_code
    mark = "❔" if "inconclusive" in headline else "❌"
    assert markdown.render(failed).startswith(f"### Performance: {mark} {headline}\n")
    lenient = markdown.render(replace(failed, rules=parse_rules(["never"])))
    assert not lenient.startswith(f"### Performance: {mark} {headline}")
    assert not lenient.startswith("### Performance: ❌")


def test_a_configuration_without_a_baseline_is_called_so_by_any_word(
    change: Callable[..., Change], gap: Callable[..., Unpaired]
) -> None:
    result = CheckResult(changes=(change("same"),), unpaired=(gap(),), rules=parse_rules(["cannot-tell"]))
    assert result.exit_code == 8
    assert markdown.render(result).startswith("### Performance: ❌ not everything was compared\n")


def test_a_check_without_an_answer_did_not_pass(change: Callable[..., Change]) -> None:
    doubtful = CheckResult(changes=(change("cannot tell"), change("same", metric="faults", primary=False)))
    assert doubtful.exit_code == 0
    assert markdown.render(doubtful).startswith("### Performance: ❔ inconclusive\n")
    answered = CheckResult(changes=(change("cannot tell"), change("same", metric="wall")))
    assert markdown.render(answered).startswith("### Performance: ✅ passed\n")
    unchanged_series = CheckResult(changes=(change("cannot tell"), change("cannot tell", id="later")), compared=2)
    assert markdown.render(unchanged_series).startswith("### Performance: ✅ passed\n")


def test_a_row_tells_what_changed_from_what_to_what(every_kind: CheckResult) -> None:
    row = next(row for row in rows(markdown.render(every_kind)) if "slower" in row)
    assert row == [
        "slower",
        "sort big.txt",
        "cpu",
        "1 ms aaaaaaaaaa",
        "2 ms bbbbbbbbbb",
        "▲ +100.0 %",
        "+90.0 % to +110.0 %",
    ]


def test_what_did_not_change_is_folded_away(every_kind: CheckResult) -> None:
    above, _, folded = markdown.render(every_kind).partition("<details>")
    for word in ("slower", "faster", "noise", "machine"):
        assert word in above
    for word in ("| same", "| inconclusive"):
        assert word not in above
        assert word in folded
    assert folded.count("</details>") == 3


def test_what_was_accepted_says_by_whom_and_why(every_kind: CheckResult) -> None:
    text = markdown.render(every_kind)
    assert "slower, accepted" in text
    assert "accepted by `Ann`: `it is safer`" in text


def test_nothing_at_all_is_a_page_too() -> None:
    assert markdown.render(CheckResult()).startswith("### Performance: ❌ nothing was compared\n")
    allowed = CheckResult(rules=parse_rules(["never"]))
    assert markdown.render(allowed).startswith("### Performance: ❔ nothing was compared\n")


def test_hostile_names_open_no_markup(hostile_outcome: CheckResult) -> None:
    text = markdown.render(replace(hostile_outcome, conclusion="<b>@all</b> #1 [x](y)"))
    found = tokens(text)
    markup = [t.content.strip() for t in found if t.type in ("html_inline", "html_block")]
    assert {tag for content in markup for tag in content.replace("><", ">\n<").split("\n")} - OURS <= {
        "<summary>Evidence</summary>"
    }
    kinds = {token.type for token in found}
    assert not kinds & {
        "link_open",
        "image",
        "em_open",
        "fence",
        "code_block",
        "s_open",
        "blockquote_open",
    }
    assert len([token for token in found if token.type == "heading_open"]) == 1
    for row in rows(text):
        assert len(row) == 7
    assert hostile.unsafe(html.unescape(text)) == set()


def test_nobody_is_mentioned_and_nothing_is_linked(change: Callable[..., Change]) -> None:
    text = markdown.render(CheckResult(changes=(change(label="@octocat #1 https://x.example www.y.example"),)))
    outside = "".join(token.content for token in tokens(text) if token.type == "text")
    for trigger in ("@", "#1", "://", "www."):
        assert trigger in text
        assert trigger not in outside


def test_no_text_refers_to_anything_once_its_entities_are_read(change: Callable[..., Change]) -> None:
    names = ("@octocat", "acme/sort#12", "!7", "$3", "~slow", "&4", "ann@example.org")
    changes = [change(id=name, unit=name, label=f"{name}|", baseline_value=1.0, target_value=2.0) for name in names]
    found = tokens(markdown.render(CheckResult(changes=tuple(changes))))
    rendered = "".join(
        token.content if token.type in ("text", "text_special") else "\n" for token in found if token.type != "inline"
    )
    assert rendered.count("@") == 8  # in the labels of a row and of its evidence, and in the units of both amounts
    assert not re.search(r"[@#!$~&]\w", rendered)


def test_what_could_end_a_name_or_a_cell_is_an_entity(change: Callable[..., Change]) -> None:
    names = ("a | b", "`", "``a` |", "\\", "\\|", "</code>|<b>", "x` ![](y)")
    text = markdown.render(CheckResult(changes=tuple(change(label=name) for name in names)))
    assert [row[1] for row in rows(text) if "slower" in row] == list(names)
    assert {t.content for t in tokens(text) if t.type == "html_inline"} <= OURS


def test_a_page_of_many_changes_stays_short_enough_for_a_comment(change: Callable[..., Change]) -> None:
    many = CheckResult(
        changes=tuple(change(id=str(n), evidence="12 pairs of interleaved runs" * 2) for n in range(1000))
    )
    text = markdown.render(many)
    assert len(text) < 65_000
    assert text.count("… and 900 more") == 2


def test_long_names_are_cut(change: Callable[..., Change]) -> None:
    assert len(markdown.render(CheckResult(changes=(change(label="x" * 9000, evidence=""),)))) < 2000
