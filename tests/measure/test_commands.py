"""Command lines as users write them: words, operators of a shell, and jobs of them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfcore.errors import UsageError
from perfcore.measure import commands
from perfcore.model.record import replace

_text = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(
    st.lists(_text, min_size=1, max_size=5).filter(lambda words: not {"|", ";", "&", "<", ">"} & set("".join(words)))
)
def test_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    assert commands.split(shlex.join(words), "here") == words


def test_operators_inside_quotes_are_text() -> None:
    assert commands.split("a '|' 'b;' c;d", "here") == ["a", "|", "b;", "c;d"]
    assert commands.split("it\\'s fine", "here") == ["it's", "fine"]
    for text in ("a | b", "a; b", "a && b", "a > b", "a 2>&1", "a '|' b | c"):
        with pytest.raises(UsageError, match="needs a shell"):
            commands.split(text, "here")


def test_a_command_line_that_is_split_already_stays_as_it_is() -> None:
    job = commands.job(["a", "b c", ";"], workload=["d e"])
    assert job.argv == ("a", "b c", ";", "d e")
    assert (job.cmd, job.args, job.workload) == ("a", "'b c' ';'", "'d e'")
    assert commands.job(["a | b"], workload=["c d"], shell=True).argv == ("a | b 'c d'",)


@pytest.mark.parametrize(
    ("words", "workload", "shell"),
    [
        (["./run"], [], False),
        (["./run", "a b"], ["c d"], False),
        (["./run | x: y"], ["c d"], True),
        (["a: a"], [], True),
    ],
)
def test_a_command_below_the_root_is_called_by_its_folder(words: list[str], workload: list[str], shell: bool) -> None:
    at_root = commands.job(words, workload=workload, shell=shell)
    assert commands.in_folder(at_root) == at_root
    assert commands.folder(at_root) == ""
    inside = commands.in_folder(replace(at_root, cwd=Path("we: ird/one")))
    assert commands.folder(inside) == "we: ird/one"
    assert inside.label == f"we: ird/one: {at_root.label}"
    assert commands.in_folder(inside) == inside
    assert commands.label(inside) == inside.label
    ids = {commands.job_config_id(job, {}, "time") for job in (at_root, inside)}
    assert len(ids) == 2


@pytest.mark.parametrize("argv", [[], [""], ["a\0b"]])
def test_no_command_is_an_error(argv: list[str]) -> None:
    with pytest.raises(UsageError):
        commands.job(argv)
