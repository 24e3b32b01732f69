"""YAML that people write, and what they should never be able to do with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from perfcore.config import documents
from perfcore.config.documents import Source
from perfcore.errors import UsageError
from perfcore.text import brief

_words = st.sampled_from(
    ["git", "time", "a-b", "true", "no", "null", "nan", "1", "007", "12", "1e3", "-3", "~", "y", ""]
)
_keys = st.sampled_from(["format", "vcs", "name", "on", "null", "no", "x_y"])
_lines = st.builds(
    lambda indent, key, colon, word: f"{indent}{key}{colon}{word}",
    st.sampled_from(["", "", "  ", "    ", "\t"]),
    _keys,
    st.sampled_from([": ", ": ", ":", " : "]),
    _words,
)


@given(st.lists(_lines, max_size=5).map("\n".join))
def test_simple_files_mean_what_a_complete_parser_makes_of_them(text: str) -> None:
    assert _outcome(lambda: documents.parse(text.encode(), "file")) == _outcome(lambda: _by_ruamel(text))


def _by_ruamel(text: str) -> Any:
    try:
        return YAML(typ="safe", pure=True).load(text)
    except Exception as error:
        raise UsageError("wrong") from error


def _outcome(read: Any) -> Any:
    try:
        return repr(read())
    except UsageError:
        return UsageError


def test_a_repository_s_own_file_needs_no_parser() -> None:
    assert documents.parse(b"format: 1\nvcs:\n  name: git\n", "file") == {"format": 1, "vcs": {"name": "git"}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bins:\n  - [a\n", "line 3, is not YAML"),
        ("a: 1\nb: : 2\n", "line 2, is not YAML"),
        ("a: 1\na: 2\n", 'line 2, is not YAML: found duplicate key "a"'),
        ("a: !!python/object/apply:os.system [ls]\n", "is not YAML"),
        ("a: \x07\n", "is not YAML"),
        ("--- 1\n--- 2\n", "is not YAML"),
        ("a: *nothing\n", "is not YAML: found undefined alias"),
    ],
)
def test_what_is_no_yaml_is_an_error_with_its_line(text: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        documents.parse(text.encode(), "matrix.yml")
    assert str(raised.value).startswith("matrix.yml")
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_bytes_that_are_no_text_are_an_error() -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        documents.parse(b"\xff\xfe a", "matrix.yml")


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert documents.parse(b"\xef\xbb\xbfformat: 1\n", "file") == {"format": 1}


def test_aliases_that_stay_small_are_allowed() -> None:
    assert documents.parse(b"a: &x [1, 2]\nb: *x\n", "file") == {"a": [1, 2], "b": [1, 2]}


def test_aliases_that_grow_are_refused_before_anything_is_made_of_them() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(UsageError, match="aliases"):
        documents.parse("\n".join(lines).encode(), "bomb.yml")


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "a: &a {b: *a}\n"])
def test_what_holds_itself_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="aliases"):
        documents.parse(text.encode(), "bomb.yml")


@pytest.mark.parametrize("text", ["[" * 10_000, "a: " + "{b: " * 20_000, "- " * 50_000])
def test_deep_nesting_is_an_error(text: str) -> None:
    with pytest.raises(UsageError):
        documents.parse(text.encode(), "bomb.yml")


def test_the_line_of_a_key_is_found_at_any_depth() -> None:
    source = Source("matrix.yml", b"# comment\nbins:\n  - name: a\n    parms: [x]\nparms: 1\n")
    assert source.at("parms") == "matrix.yml, line 4"
    assert source.at("bins") == "matrix.yml, line 2"
    assert source.at("elsewhere") == "matrix.yml"
    assert Source("the command line").at("bins") == "the command line"


def test_long_and_hostile_values_are_shown_in_one_harmless_line() -> None:
    assert len(brief("x" * 10_000)) <= 80
    assert "\x1b" not in brief(["\x1b[31m", Path("\n")])
