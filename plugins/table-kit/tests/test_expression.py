"""The expression language: against a naive oracle, row by row, and its errors."""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_table_kit import units
from perfcore_table_kit.expression import main_value, matching, parse
from perfcore_table_kit.wildcards import matcher

from perfcore.errors import UsageError
from perfcore.profile.table import column, table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from perfcore.profile.table import Table

    Row = Mapping[str, Any]
    Oracle = Callable[[Row], bool | None]

SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
WORDS = ["parse", "parse_all", "Parse", "read", "it's", 'say "x"', "100%", "", "naïve\n", "`odd`"]
INTS = st.integers(-5, 5) | st.sampled_from([2**53 + 1, 2**63 - 1, -(2**63)])
FLOATS = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, -0.0, 0.1, 2.5, 3.0])
ROW = st.fixed_dictionaries(
    {
        "wall": INTS,
        "amount": st.none() | INTS,
        "share": st.none() | FLOATS,
        "uid": st.none() | st.sampled_from(WORDS),
        "odd `name`": st.sampled_from(WORDS),
        "hot": st.none() | st.booleans(),
    }
)
DTYPES: dict[str, Any] = {
    "wall": ("i64", "ns", "value"),
    "amount": ("i64", "", "value"),
    "share": ("f64", "B", "value"),
    "uid": ("str", "", "dimension"),
    "odd `name`": ("str", "", "dimension"),
    "hot": ("bool", "", "dimension"),
}


def table_of(rows: list[dict[str, Any]]) -> Table:
    return table(
        "resources",
        [
            column(name, [row[name] for row in rows], dtype=dtype, unit=unit, role=role)
            for name, (dtype, unit, role) in DTYPES.items()
        ],
    )


def written(name: str) -> str:
    return name if name.isidentifier() else "`" + name.replace("`", "``") + "`"


def quoted(text: str, quote: str) -> str:
    return quote + text.replace(quote, quote * 2) + quote


def unknown_or(value: Any, predicate: Callable[[Any], bool]) -> bool | None:
    return None if value is None else predicate(value)


@st.composite
def numeric(draw: st.DrawFn) -> tuple[str, Oracle]:
    name = draw(st.sampled_from(["wall", "amount", "share"]))
    sign = draw(st.sampled_from(list(SIGNS)))
    if name == "share":
        number = draw(st.decimals(-4, 4, places=1))
        bound: Any = float(number)
    else:
        number = draw(st.decimals(-6, 6, places=1) | INTS.map(Decimal))
        bound = Fraction(number)
    compare, flipped = SIGNS[sign], draw(st.booleans())
    if flipped:
        return f"{number}{sign}{name}", lambda row: unknown_or(row[name], lambda v: compare(bound, v))
    return f"{name} {sign}{number}", lambda row: unknown_or(row[name], lambda v: compare(v, bound))


@st.composite
def textual(draw: st.DrawFn) -> tuple[str, Oracle]:
    name = draw(st.sampled_from(["uid", "odd `name`"]))
    sign = draw(st.sampled_from(list(SIGNS)))
    word, quote = draw(st.sampled_from(WORDS)), draw(st.sampled_from("'\""))
    compare = SIGNS[sign]
    text = f"{written(name)} {sign} {quoted(word, quote)}"
    return text, lambda row: unknown_or(row[name], lambda v: compare(v, word))


@st.composite
def listed(draw: st.DrawFn) -> tuple[str, Oracle]:
    name = draw(st.sampled_from(["uid", "amount", "hot"]))
    if name == "uid":
        items: list[Any] = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))
        shown = [quoted(item, "'") for item in items]
    elif name == "hot":
        items = draw(st.lists(st.booleans(), min_size=1, max_size=2))
        shown = [str(item).upper() for item in items]
    else:
        items = draw(st.lists(INTS, min_size=1, max_size=4))
        shown = [str(item) for item in items]
    text = f"{name} IN ({', '.join(shown)})"
    return text, lambda row: unknown_or(row[name], lambda v: v in items)


FIXED: list[tuple[str, Oracle]] = [
    ("uid is missing", lambda row: row["uid"] is None),
    ("share IS NOT missing", lambda row: row["share"] is not None),
    ("hot", lambda row: row["hot"]),
    ("hot != true", lambda row: unknown_or(row["hot"], lambda v: not v)),
    ("uid like 'parse%'", lambda row: unknown_or(row["uid"], lambda v: v.startswith("parse"))),
    ("uid not ilike '%PARSE%'", lambda row: unknown_or(row["uid"], lambda v: "parse" not in v.lower())),
    ("<2", lambda row: unknown_or(row["amount"], lambda v: v < 2)),
    ("amount >= wall", lambda row: unknown_or(row["amount"], lambda v: v >= row["wall"])),
    ("uid = `odd ``name```", lambda row: unknown_or(row["uid"], lambda v: v == row["odd `name`"])),
]


@st.composite
def other(draw: st.DrawFn) -> tuple[str, Oracle]:
    return draw(st.sampled_from(FIXED))


def negated(said: bool | None) -> bool | None:
    return None if said is None else not said


def both(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _combined(children: st.SearchStrategy[tuple[str, Oracle]]) -> st.SearchStrategy[tuple[str, Oracle]]:
    def negation(child: tuple[str, Oracle]) -> tuple[str, Oracle]:
        text, oracle = child
        return f"not ({text})", lambda row: negated(oracle(row))

    def pair(joined: tuple[tuple[str, Oracle], str, tuple[str, Oracle]]) -> tuple[str, Oracle]:
        (one, left), word, (two, right) = joined
        if word == "and":
            return f"({one}) AND ({two})", lambda row: both(left(row), right(row))
        return f"({one}) or ({two})", lambda row: negated(both(negated(left(row)), negated(right(row))))

    return children.map(negation) | st.tuples(children, st.sampled_from(["and", "or"]), children).map(pair)


EXPRESSIONS = st.recursive(numeric() | textual() | listed() | other(), _combined, max_leaves=6)


@given(EXPRESSIONS, st.lists(ROW, max_size=12))
def test_rows_match_as_reading_them_one_by_one_says(expression: tuple[str, Oracle], rows: list[Any]) -> None:
    text, oracle = expression
    wanted = [i for i, row in enumerate(rows) if oracle(row) is True]
    assert list(matching(parse(text), table_of(rows))) == wanted


@given(EXPRESSIONS, st.lists(ROW, max_size=12))
def test_an_expression_its_negation_and_the_unknown_share_out_the_rows(
    expression: tuple[str, Oracle], rows: list[Any]
) -> None:
    text, oracle = expression
    said = table_of(rows)
    true, false = set(matching(parse(text), said)), set(matching(parse(f"not ({text})"), said))
    assert not true & false
    assert set(range(len(rows))) - true - false == {i for i, row in enumerate(rows) if oracle(row) is None}


@given(st.text(alphabet="ab%_\\", max_size=8), st.text(alphabet="ab_\\\n", max_size=8))
def test_like_agrees_with_a_matcher_that_tries_everything(pattern: str, text: str) -> None:
    def tries(p: str, t: str) -> bool:
        if not p:
            return not t
        if p[0] == "%":
            return any(tries(p[1:], t[i:]) for i in range(len(t) + 1))
        literal, rest = (p[1], p[2:]) if p[0] == "\\" and len(p) > 1 else (p[0], p[1:])
        wild = p[0] == "_"
        return bool(t) and (wild or t[0] == literal) and tries(rest, t[1:])

    assert matcher(pattern)(text) == tries(pattern, text)


def test_like_takes_no_longer_for_many_percent_signs() -> None:
    assert not matcher("%a" * 50 + "b")("a" * 5000)


@given(st.text(max_size=60) | st.text(alphabet="()'\"`<>=! andotlikeis15%.-,", max_size=60))
def test_any_text_is_an_expression_or_a_usage_error(text: str) -> None:
    try:
        expression = parse(text)
    except UsageError:
        return
    assert parse(expression.text) == expression


@pytest.mark.parametrize("text", ["(" * 100_000, "not " * 100_000 + "hot", "(" * 500 + "hot" + ")" * 500])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="nested deeper than 64"):
        parse(text)


def test_length_is_not_depth() -> None:
    text = " or ".join(f"wall = {n}" for n in range(2000))
    assert list(matching(parse(text), _walls(5, 1999, 2000))) == [0, 1]


def _walls(*values: int | None, unit: str = "ns") -> Table:
    return table("resources", [column("wall", values, dtype="i64", unit=unit, role="value")])


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("wall > 10ms", [2]),
        ("wall >= 10 ms", [1, 2]),
        ("wall = 10_000us", [1]),
        ("wall = 10000µs", [1]),
        ("wall < 0.01s", [0]),
        ("wall <= 1e-2 s", [0, 1]),
        ("wall in (9ms, 11ms)", [0, 2]),
        ("9.5ms < wall and wall < .0105s", [1]),
        (">9999999.5", [1, 2]),
        ("wall != 10000000.5", [0, 1, 2]),
        ("wall = 10000000.5", []),
        ("wall < 1e400", [0, 1, 2]),
    ],
)
def test_numbers_convert_to_the_unit_of_the_column(text: str, rows: list[int]) -> None:
    assert list(matching(parse(text), _walls(9_000_000, 10_000_000, 11_000_000))) == rows


def test_units_of_counts_and_of_unknown_kinds() -> None:
    events = _walls(1500, 2500, unit="events")
    assert list(matching(parse("wall > 2k"), events)) == [1]
    assert list(matching(parse("wall > 2000 events"), events)) == [1]
    assert list(matching(parse("wall > 50%"), _walls(49, 51, unit="%"))) == [1]


def test_columns_of_one_family_compare_by_what_they_measure() -> None:
    two = table(
        "resources",
        [
            column("a", [1000, 1023, 1024], unit="B", role="value"),
            column("b", [1.0, 1.0, 1.0], unit="KiB", role="value"),
        ],
    )
    assert list(matching(parse("a < b"), two)) == [0, 1]
    assert list(matching(parse("b = a"), two)) == [2]


@pytest.mark.parametrize("unit", ["ns", "B", "Hz", "", "widgets"])
def test_ratios_of_units_are_exact_and_inverse(unit: str) -> None:
    for known in units.related(unit):
        there, back = units.ratio(known, unit), units.ratio(unit, known)
        assert there is not None
        assert back in (1 / there, None)
    assert units.ratio(unit, unit) == 1
    assert units.ratio("furlong", unit) is None


def test_integers_beyond_the_floats_stay_exact() -> None:
    big = table("t", [column("n", [2**53, 2**53 + 1, 2**64 - 1], dtype="u64", role="value")])
    assert list(matching(parse(f"n > {2**53}"), big)) == [1, 2]
    assert list(matching(parse(f"n = {2**64 - 1}"), big)) == [2]
    assert list(matching(parse(f"n < {2**64}"), big)) == [0, 1, 2]


def test_the_short_form_is_about_amount_and_else_the_first_value() -> None:
    first, amount = column("wall", [5], role="value"), column("amount", [50], role="value")
    line = column("line", [1])
    assert main_value(table("t", [first, amount])) is amount
    assert main_value(table("t", [line, first])) is first
    assert main_value(table("t", [line])) is None
    with pytest.raises(UsageError, match="no value column"):
        matching(parse("<20"), table("t", [line]))


def test_words_with_dots_and_hyphens_are_names_and_keywords_are_quoted() -> None:
    odd = table("t", [column("L1-dcache.loads:u", [1, 9]), column("in", [9, 1])])
    assert list(matching(parse("L1-dcache.loads:u>5"), odd)) == [1]
    assert list(matching(parse("`in` > 5"), odd)) == [0]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("wal > 5", "no column 'wal'\n  wal > 5\n  ^", "did you mean 'wall'? it has wall, amount, share, uid, "),
        ("hot and uid = parse", "\n  hot and uid = parse\n                ^", "quotes: 'parse'"),
        ("wall > 5MB", "'wall' is in 'ns', which 'MB' does not convert to", "ps, ns, us"),
        ("amount > 5ms", "'amount' has no unit, which 'ms' does not convert to", "k, M, G, T"),
        ("wall > '5'", "holds numbers", "without quotes"),
        ("uid > 5", "holds text", "in quotes"),
        ("hot = 1", "holds true or false", "write true or false"),
        ("hot > false", "have no order", None),
        ("wall", "'wall' holds numbers, so compare it", None),
        ("wall like '5%'", "'like' is for text", None),
        ("wall = uid", "'wall' holds numbers, 'uid' text", None),
        ("wall > share", "'ns' and 'B' do not convert", None),
        ("uid in ('a', 5)", "holds text", None),
    ],
)
def test_what_does_not_fit_the_table_is_pointed_at(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as raised:
        matching(parse(text), table_of([]))
    assert message in raised.value.message
    assert (hint or "") in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing is there"),
        ("wall >", "expected a value instead of the end\n  wall >\n        ^"),
        ("wall > 5 6", "expected 'and' or 'or' before '6'"),
        ("5 < 6", "a comparison needs a column"),
        ("5", "expected a comparison instead of the end"),
        ("(wall > 5", "expected ')' instead of the end"),
        ("uid = 'open", "the quote ' is never closed"),
        ("uid like parse", "expected a quoted pattern"),
        ("uid is null", "expected 'missing' instead of 'null'"),
        ("uid in ()", "expected a value instead of ')'"),
        ("uid not = 'x'", "expected 'like', 'ilike' or 'in'"),
        ("wall > 5 && hot", "'&' means nothing here"),
        ("wall > 1e999999999", "too long or too large"),
        ("wall > " + "9" * 5000, "too long or too large"),
        ("in = 5", "expected a value instead of 'in'"),
        ("\x1b[31m", "'\\\\x1b' means nothing here"),
    ],
)
def test_text_that_is_no_expression_says_where(text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(text)
    assert message in raised.value.message
    assert raised.value.message.replace("\n", "").isprintable()
