"""The syntax of expressions over tables: text in, a tree out. What the tree means is in `expression`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NoReturn, TypeAlias

import attrs

from perfcore.errors import UsageError
from perfcore.text import printable, width

Sign = Literal["=", "!=", "<", "<=", ">", ">="]

# Levels: three calls each, far below Python's recursion limit of 1,000.
DEEPEST = 64
# Characters and powers of ten: more than floats have (17 digits that count, up to 1e308), and an exact fraction of
# them stays small.
_LONGEST_NUMBER = 100
_LARGEST_EXPONENT = 400
_KEYWORDS = frozenset({"and", "or", "not", "like", "ilike", "in", "is", "true", "false"})
_SIGNS: dict[str, Sign] = {"=": "=", "==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MIRRORED: dict[Sign, Sign] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Possessive `++` and `*+`: a quote that is never closed would otherwise be tried from each of its characters.
_TOKEN = re.compile(
    r"""(?P<number> [+-]? (?: [0-9]+ (?:_[0-9]+)* (?:\.[0-9]*)? | \.[0-9]+ ) (?:[eE][+-]?[0-9]+)? )
      | (?P<word> [^\W\d] \w* (?: [.:-]\w+ )* )
      | (?P<text> '(?:[^']++|'')*+' | "(?:[^"]++|"")*+" )
      | (?P<name> `(?:[^`]++|``)*+` )
      | (?P<sign> <=|>=|==|!=|[=<>(),%] )""",
    re.VERBOSE,
)
_BLANK = re.compile(r"\s*")


@attrs.frozen
class Name:
    """A column."""

    name: str
    at: int


@attrs.frozen
class Number:
    """An exact number, perhaps with a unit."""

    value: Fraction
    unit: str
    at: int


@attrs.frozen
class Text:
    """A string without its quotes."""

    value: str
    at: int


@attrs.frozen
class Truth:
    """`true` or `false`."""

    value: bool
    at: int


Constant: TypeAlias = Number | Text | Truth


@attrs.frozen
class Compare:
    """`left` is None for the short form, which is about the table's main value."""

    sign: Sign
    left: Name | None
    right: Name | Constant
    at: int


@attrs.frozen
class Like:
    """`folded` compares without regard to case."""

    column: Name
    pattern: str
    folded: bool


@attrs.frozen
class Among:
    """`in (...)`."""

    column: Name
    items: tuple[Constant, ...]


@attrs.frozen
class Missing:
    """`is missing`."""

    column: Name


@attrs.frozen
class Flag:
    """A column of booleans standing alone."""

    column: Name


@attrs.frozen
class Not:
    """Turns true and false around; unknown stays."""

    child: Node


@attrs.frozen
class And:
    """At least two children."""

    children: tuple[Node, ...]


@attrs.frozen
class Or:
    """At least two children."""

    children: tuple[Node, ...]


Node: TypeAlias = Compare | Like | Among | Missing | Flag | Not | And | Or


@attrs.frozen
class Expression:
    """A parsed expression; `parse(expression.text)` gives an equal one."""

    text: str
    root: Node

    def __str__(self) -> str:
        return self.text


def parse(text: str) -> Expression:
    """The tree of an expression. UsageError points at what is wrong."""
    return Expression(text, _Parser(text).whole())


def wrong(text: str, at: int, what: str, *, hint: str | None = None) -> UsageError:
    """The error for something at an offset of an expression, with a caret below it."""
    before = "…" * (at > 40) + printable(text[max(0, at - 40) : at])
    after = printable(text[at : at + 30]) + "…" * (at + 30 < len(text))
    return UsageError(f"in the expression: {what}\n  {before}{after}\n  {' ' * width(before)}^", hint=hint)


@attrs.frozen
class _Token:
    kind: Literal["number", "word", "text", "name", "sign", "end"]
    value: str
    at: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else repr(printable(self.value))

    @property
    def word(self) -> str:
        """The keyword in lower case; empty for anything else."""
        lower = self.value.lower() if self.kind == "word" else ""
        return lower if lower in _KEYWORDS else ""


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], _blank(text, 0)
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _no_token(text, at)
        tokens.append(_Token(match.lastgroup, match[0], at))  # type: ignore[arg-type]
        at = _blank(text, match.end())
    return [*tokens, _Token("end", "", len(text))]


def _blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _no_token(text: str, at: int) -> UsageError:
    if text[at] in "'\"`":
        hint = "a quote within quotes is doubled"
        return wrong(text, at, f"the quote {text[at]} is never closed", hint=hint)
    hint = "and, or, not are words; names with other characters stand in `backquotes`"
    return wrong(text, at, f"{printable(text[at])!r} means nothing here", hint=hint)


def _unquoted(quoted: str) -> str:
    return quoted[1:-1].replace(quoted[0] * 2, quoted[0])


class _Parser:
    """Recursive descent, one method a rule; `_depth` counts what nests, so that the stack stays small."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._next = 0
        self._depth = 0

    def whole(self) -> Node:
        if self._at_end():
            self._fail("nothing is there", hint="for example: wall > 10ms and uid like 'parse%'")
        node = self._or()
        if not self._at_end():
            self._fail(f"expected 'and' or 'or' before {self._peek}")
        return node

    def _or(self) -> Node:
        children = [self._and()]
        while self._skip("or"):
            children.append(self._and())
        return children[0] if len(children) == 1 else Or(tuple(children))

    def _and(self) -> Node:
        children = [self._term()]
        while self._skip("and"):
            children.append(self._term())
        return children[0] if len(children) == 1 else And(tuple(children))

    def _term(self) -> Node:
        if self._peek.word != "not" and self._peek.value != "(":
            return self._predicate()
        if self._depth == DEEPEST:
            self._fail(f"nested deeper than {DEEPEST} levels")
        self._depth += 1
        if self._skip("not"):
            node: Node = Not(self._term())
        else:
            self._expect("(")
            node = self._or()
            self._expect(")")
        self._depth -= 1
        return node

    def _predicate(self) -> Node:
        start = self._peek.at
        if self._peek.value in _SIGNS:
            return Compare(self._sign(), None, self._operand(), start)
        operand = self._operand()
        if isinstance(operand, Name):
            return self._about(operand)
        sign, right = self._sign(), self._operand()
        if not isinstance(right, Name):
            self._fail("a comparison needs a column", at=start, hint="names stand bare or in `backquotes`")
        return Compare(_MIRRORED[sign], right, operand, start)

    def _about(self, column: Name) -> Node:
        at = self._peek.at
        if self._peek.value in _SIGNS:
            return Compare(self._sign(), column, self._operand(), at)
        if self._skip("is"):
            negated = self._skip("not")
            self._expect("missing")
            return Not(Missing(column)) if negated else Missing(column)
        if self._skip("not"):
            return Not(self._like_or_in(column))
        if self._peek.word in ("like", "ilike", "in"):
            return self._like_or_in(column)
        return Flag(column)

    def _like_or_in(self, column: Name) -> Node:
        word = self._take().word
        if word in ("like", "ilike"):
            if self._peek.kind != "text":
                self._fail(f"expected a quoted pattern instead of {self._peek}", hint="for example 'parse%'")
            return Like(column, _unquoted(self._take().value), word == "ilike")
        if word != "in":
            self._next -= 1
            self._fail(f"expected 'like', 'ilike' or 'in' instead of {self._peek}")
        self._expect("(")
        items = [self._constant()]
        while self._skip(","):
            items.append(self._constant())
        self._expect(")")
        return Among(column, tuple(items))

    def _sign(self) -> Sign:
        if self._peek.value not in _SIGNS:
            self._fail(f"expected a comparison instead of {self._peek}", hint=f"one of {' '.join(_SIGNS)}")
        return _SIGNS[self._take().value]

    def _operand(self) -> Name | Constant:
        token = self._peek
        if token.kind == "name":
            return Name(_unquoted(self._take().value), token.at)
        if token.kind == "word" and not token.word:
            return Name(self._take().value, token.at)
        return self._constant()

    def _constant(self) -> Constant:
        token = self._peek
        if token.kind == "text":
            return Text(_unquoted(self._take().value), token.at)
        if token.word in ("true", "false"):
            return Truth(self._take().word == "true", token.at)
        if token.kind == "number":
            value = self._exact(self._take())
            has_unit = self._peek.value == "%" or (self._peek.kind == "word" and not self._peek.word)
            return Number(value, self._take().value if has_unit else "", token.at)
        hint = f"a column of that name is written `{token.value}`" if token.word else None
        raise wrong(self._text, token.at, f"expected a value instead of {token}", hint=hint)

    def _exact(self, number: _Token) -> Fraction:
        """Bounded first: `1e999999999` would be a number of that many digits."""
        exponent = number.value.lower().partition("e")[2]
        if len(number.value) > _LONGEST_NUMBER or (exponent and abs(int(exponent)) > _LARGEST_EXPONENT):
            self._fail("the number is too long or too large", at=number.at)
        return Fraction(number.value)

    @property
    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _at_end(self) -> bool:
        return self._peek.kind == "end"

    def _take(self) -> _Token:
        token = self._peek
        self._next += not self._at_end()
        return token

    def _skip(self, wanted: str) -> bool:
        """Whether the next token is this keyword or sign, which is then passed."""
        matched = wanted in (self._peek.word, self._peek.value)
        self._next += matched
        return matched

    def _expect(self, wanted: str) -> None:
        token = self._peek
        if token.value != wanted and token.value.lower() != wanted:
            self._fail(f"expected {wanted!r} instead of {token}")
        self._next += 1

    def _fail(self, what: str, *, at: int | None = None, hint: str | None = None) -> NoReturn:
        raise wrong(self._text, self._peek.at if at is None else at, what, hint=hint)
