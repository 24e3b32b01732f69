"""Expressions that choose rows of a table: what people write after `--filter`.

    amount >= 20 and uid like 'parse%'
    wall > 10ms or max_rss >= 5MiB          numbers convert to the unit of the column
    <20                                     the short form: about the table's main value
    not (file in ('a.c', 'b.c')) and line is not missing
    disturbed or `cache-misses/s` = 0       a column of booleans stands alone; other names in backquotes

- Comparisons are `=` `==` `!=` `<` `<=` `>` `>=`, of a column with a constant (either way round) or with
  another column. Text compares by code points.
- `like` matches the whole text: `%` is anything, `_` one character, a backslash takes the next character as
  it is. `ilike` does not regard case. `in (...)` lists constants. All three take a `not` before them.
- Text stands in single or double quotes, which are doubled inside. Keywords are written in any case. Names
  of columns are words with `.`, `:` or `-` inside; any other, and a keyword, stands in backquotes.
- The main value is the column `amount` where that is a value, else the first value column.

Logic is three-valued, as in SQL: what is said of a missing value is neither true nor false, and only rows
for which the whole expression is true match. So `not (wall > 5)` does not match a missing `wall`, which
`wall is missing` does. A NaN is a value: equal to nothing, itself included, and neither less nor greater.

A number is exact; for a column of floats it is first rounded to the nearest float, as its values were.
Nothing is ever executed, evaluation takes time linear in rows times length, and nesting is bounded.
"""

from __future__ import annotations

import math
import operator
from array import array
from fractions import Fraction
from itertools import compress
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import nearest
from perfcore.named_tuple import NamedTuple
from perfcore.profile import bitmap
from perfcore.text import printable
from perfcore_table_kit import units
from perfcore_table_kit.grammar import (
    Among,
    And,
    Compare,
    Expression,
    Flag,
    Like,
    Missing,
    Name,
    Not,
    Number,
    Or,
    Text,
    Truth,
    parse,
    wrong,
)
from perfcore_table_kit.wildcards import matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from perfcore.profile.table import Column, Table
    from perfcore_table_kit.grammar import Constant, Node, Sign

__all__ = ["Expression", "main_value", "matching", "parse"]

# One comprehension each: calling a function for every value would take three times as long.
_AGAINST: Mapping[Sign, Callable[[Iterable[Any], Any], list[bool]]] = {
    "=": lambda values, x: [v == x for v in values],
    "!=": lambda values, x: [v != x for v in values],
    "<": lambda values, x: [v < x for v in values],
    "<=": lambda values, x: [v <= x for v in values],
    ">": lambda values, x: [v > x for v in values],
    ">=": lambda values, x: [v >= x for v in values],
}
_BETWEEN: Mapping[Sign, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NOUNS = {"str": "text", "bool": "true or false", "i64": "numbers", "u64": "numbers", "f64": "numbers"}
_WRITTEN = {
    "text": "text stands in quotes",
    "numbers": "numbers stand without quotes",
    "true or false": "write true or false",
}


def matching(expression: Expression, table: Table) -> array[int]:
    """The numbers of the rows for which the expression is true, ascending.

    UsageError where it does not fit the table: an unknown column, a constant of another kind, a unit that
    does not convert.
    """
    scope = _Scope(expression.text, table)
    flags = scope.truth(expression.root).true.to_bytes(table.rows, "little")
    return array("q", compress(range(table.rows), flags))


def main_value(table: Table) -> Column | None:
    """The column that the short form is about; None for a table without values."""
    values = table.values()
    return next((column for column in values if column.name == "amount"), values[0] if values else None)


class _Truth(NamedTuple):
    """For which rows something is true and for which false: integers with one byte, 0 or 1, a row. Rows in
    neither are unknown. So the logic of a million rows is a handful of operations on integers."""

    true: int
    false: int


@attrs.frozen
class _Scope:
    """An expression's text, for errors, and the table it is held against."""

    text: str
    table: Table

    def truth(self, node: Node) -> _Truth:
        match node:
            case And(children):
                return self._and(children)
            case Or(children):
                # De Morgan's law, which holds in three-valued logic (S. C. Kleene, 1938) as well.
                negated = self._and([Not(child) for child in children])
                return _Truth(negated.false, negated.true)
            case Not(child):
                true, false = self.truth(child)
                return _Truth(false, true)
            case Compare():
                return self._compare(node)
            case Like(name, pattern, folded):
                return self._like(name, pattern, folded)
            case Among(name, items):
                return self._among(name, items)
            case Missing(name):
                present = _there(self._column(name))
                return _Truth(present ^ _ones(self.table.rows), present)
            case Flag(name):
                return self._flag(name)

    def _and(self, children: Sequence[Node]) -> _Truth:
        true, false = self.truth(children[0])
        for child in children[1:]:
            operand = self.truth(child)
            true, false = true & operand.true, false | operand.false
        return _Truth(true, false)

    def _compare(self, node: Compare) -> _Truth:
        column = self._column(node.left) if node.left else self._main(node.at)
        if isinstance(node.right, Name):
            return self._between(node.sign, column, self._column(node.right), node.right)
        sign, constant = node.sign, self._constant(column, node.right)
        if column.dtype == "bool" and sign not in ("=", "!="):
            raise wrong(self.text, node.at, f"true and false have no order, so {sign!r} cannot compare them")
        if isinstance(constant, Fraction):
            sign, constant = _whole(sign, constant)
        return _split(column, _per_value(column, lambda values: _AGAINST[sign](values, constant)))

    def _between(self, sign: Sign, left: Column, right: Column, name: Name) -> _Truth:
        if _NOUNS[left.dtype] != _NOUNS[right.dtype]:
            message = f"{_shown(left)} holds {_NOUNS[left.dtype]}, {_shown(right)} {_NOUNS[right.dtype]}"
            raise wrong(self.text, name.at, message)
        factor = units.ratio(left.unit, right.unit) if left.unit and right.unit else Fraction(1)
        if factor is None:
            message = f"{printable(left.unit)!r} and {printable(right.unit)!r} do not convert into each other"
            raise wrong(self.text, name.at, f"{_shown(left)} and {_shown(right)}: {message}")
        # Both sides times a whole number: units compare without rounding.
        values = _scaled(left, factor.numerator), _scaled(right, factor.denominator)
        present = _there(left) & _there(right)
        true = _integer(map(_BETWEEN[sign], *values)) & present
        return _Truth(true, true ^ present)

    def _like(self, name: Name, pattern: str, folded: bool) -> _Truth:
        column = self._column(name)
        if column.dtype != "str":
            message = f"column {_shown(column)} holds {_NOUNS[column.dtype]}; 'like' is for text"
            raise wrong(self.text, name.at, message)
        matches = matcher(pattern.casefold() if folded else pattern)
        fold = str.casefold if folded else str
        return _split(column, _per_value(column, lambda values: [matches(fold(v)) for v in values]))

    def _among(self, name: Name, items: Sequence[Constant]) -> _Truth:
        column = self._column(name)
        constants = {self._constant(column, item) for item in items}
        return _split(column, _per_value(column, lambda values: [v in constants for v in values]))

    def _flag(self, name: Name) -> _Truth:
        column = self._column(name)
        if column.dtype != "bool":
            message = f"column {_shown(column)} holds {_NOUNS[column.dtype]}, so compare it with something"
            raise wrong(self.text, name.at, message)
        return _split(column, column.data)

    def _column(self, name: Name) -> Column:
        column = self.table.get(name.name)
        if column is not None:
            return column
        printable_name, names = printable(name.name), list(map(printable, self.table.names))
        near, has = nearest(printable_name, names), f"it has {', '.join(names) or 'none'}"
        message = f"table {_shown(self.table)} has no column {printable_name!r}"
        hint = f"{near} {has}" if near else has
        raise wrong(self.text, name.at, message, hint=f"{hint} (text stands in quotes: '{printable_name}')")

    def _main(self, at: int) -> Column:
        column = main_value(self.table)
        if column is None:
            raise wrong(self.text, at, f"table {_shown(self.table)} has no value column; name a column")
        return column

    def _constant(self, column: Column, constant: Constant) -> int | float | bool | str | Fraction:
        """The constant as a value of the column; a Fraction only where integers cannot hold it."""
        if isinstance(constant, Number) and _NOUNS[column.dtype] == "numbers":
            return _narrow(column, self._in_unit(column, constant))
        if isinstance(constant, Text) and column.dtype == "str":
            return constant.value
        if isinstance(constant, Truth) and column.dtype == "bool":
            return constant.value
        message = f"column {_shown(column)} holds {_NOUNS[column.dtype]} and is compared with something else"
        raise wrong(self.text, constant.at, message, hint=_WRITTEN[_NOUNS[column.dtype]])

    def _in_unit(self, column: Column, number: Number) -> Fraction:
        if not number.unit:
            return number.value
        factor = units.ratio(number.unit, column.unit)
        if factor is None:
            related = [unit for unit in units.related(column.unit) if unit]
            unit = f"is in {printable(column.unit)!r}" if column.unit else "has no unit"
            message = f"column {_shown(column)} {unit}, which {printable(number.unit)!r} does not convert to"
            raise wrong(self.text, number.at, message, hint=f"known here: {', '.join(map(printable, related))}")
        return number.value * factor


def _narrow(column: Column, exact: Fraction) -> int | float | Fraction:
    if column.dtype == "f64":
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf
    return exact.numerator if exact.denominator == 1 else exact


def _whole(sign: Sign, bound: Fraction) -> tuple[Sign, int | float]:
    """The same comparison of integers with a whole bound: `< 2.5` is `< 3`. None equals a NaN."""
    if sign in ("=", "!="):
        return sign, math.nan
    return ("<", math.ceil(bound)) if sign in ("<", "<=") else (">", math.floor(bound))


def _per_value(column: Column, predicate: Callable[[Iterable[Any]], list[bool]]) -> Iterable[int]:
    """What the predicate says of each row; asked once for each distinct text."""
    if column.dtype != "str":
        return predicate(column.data)
    # The codes of missing texts are 0, also where the dictionary is empty.
    answers = predicate(column.dictionary) or [False]
    return map(answers.__getitem__, column.data)


def _split(column: Column, flags: Iterable[int]) -> _Truth:
    present = _there(column)
    true = _integer(flags) & present
    return _Truth(true, true ^ present)


def _integer(flags: Iterable[int]) -> int:
    return int.from_bytes(bytes(flags), "little")


def _ones(rows: int) -> int:
    return int.from_bytes(b"\x01" * rows, "little")


def _there(column: Column) -> int:
    if column.valid is None:
        return _ones(len(column))
    return int.from_bytes(bitmap.flags(column.valid, len(column)), "little")


def _scaled(column: Column, factor: int) -> Iterable[Any]:
    if column.dtype == "str":
        return map((column.dictionary or ("",)).__getitem__, column.data)
    return column.data if factor == 1 else [value * factor for value in column.data]


def _shown(named: Column | Table) -> str:
    return repr(printable(named.name))
