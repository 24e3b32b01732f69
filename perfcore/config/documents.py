"""YAML that people write: plain, of bounded size, with errors that say where it is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from perfcore.errors import UsageError
from perfcore.named_tuple import NamedTuple

MAX_VALUES = 100_000  # aliases of YAML can name as many in a file of a hundred lines
# 18 digits fit 64 bits; digits after a leading 0 are octal in YAML 1.1, and left to the parser.
_LINE = re.compile(r"( {2})?([a-z_]+):(?: (?:(0|[1-9][0-9]{0,17})|([A-Za-z][A-Za-z0-9_-]*)))?")
_SPECIAL = {"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"}  # not text to every parser


class Source(NamedTuple):
    """What is read, as errors call it: a name, and the text in which lines are counted."""

    name: str
    data: bytes = b""

    def __str__(self) -> str:
        return self.name

    def at(self, key: object) -> str:
        """The place of a key that nobody knows: `matrix.yml, line 3`."""
        line = _line_of(self.data, str(key)) if self.data else None
        return f"{self.name}, line {line}" if line else self.name


def parse(data: bytes, where: str) -> Any:
    """Plain YAML: no tags, no aliases that grow. UsageError says where it is wrong."""
    try:
        text = data.decode("utf-8-sig")  # editors on Windows begin with a byte order mark
    except UnicodeDecodeError as error:
        raise UsageError(f"{where} is not UTF-8") from error
    simple = _simple(text)
    return _parsed(text, where) if simple is None else simple


def _parsed(text: str, where: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    try:
        value = YAML(typ="safe", pure=True).load(text)  # safe: no tag becomes an object
    except MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}," if error.problem_mark else ""
        problem = (error.problem or "it cannot be read").strip().split("\n")[0]
        raise UsageError(f"{where}{line} is not YAML: {problem}") from error
    except RecursionError as error:
        raise UsageError(f"{where} is nested too deeply") from error
    except Exception as error:  # the parser lets out whatever it runs into, such as a TypeError for a key of keys
        raise UsageError(f"{where} is not YAML: {' '.join(str(error).split())[:300]}") from error
    _refuse_growth(value, where)
    return value


def lines(data: bytes) -> dict[tuple[str | int, ...], int]:
    """The line in which each value of a document begins that `parse` could read, by the keys and numbers that lead to
    it: `("sort", 0)` is the first value of the list at `sort`."""
    from ruamel.yaml import YAML

    root = YAML(typ="safe", pure=True).compose(data.decode("utf-8-sig"))
    return dict(_starts(root, ()))


def _simple(text: str) -> dict[str, Any] | None:
    """Words and whole numbers by key, in sections at most: what most files hold. None where there is anything else."""
    # So hardly any command waits for the import of a parser of all of YAML.
    values: dict[str, Any] = {}
    section = None
    for line in text.removesuffix("\n").split("\n"):
        match = _LINE.fullmatch(line)
        if match is None or {match[2], (match[4] or "").lower()} & _SPECIAL:
            return None
        value = int(match[3]) if match[3] else match[4]
        target = values
        if match[1]:
            if section is None or value is None:
                return None
            target = values[section] = values[section] or {}
        else:
            section = match[2] if value is None else None
        if match[2] in target:
            return None
        target[match[2]] = value
    return values


def _refuse_growth(value: Any, where: str) -> None:
    """UsageError where aliases make more of a short text than anybody can mean, or something without an end."""
    try:
        if _count(value, {}) <= MAX_VALUES:
            return
    except RecursionError:
        pass
    raise UsageError(f"{where}: its aliases make more than {MAX_VALUES:,} values of it")


def _count(value: Any, known: dict[int, int]) -> int:
    """How many values there are, those that several aliases share counted every time."""
    below = [*value, *value.values()] if isinstance(value, dict) else value
    if not isinstance(below, list | tuple | set):
        return 1
    if id(value) not in known:
        known[id(value)] = MAX_VALUES  # until it is known: one that holds itself has no end
        known[id(value)] = 1 + sum(_count(item, known) for item in below)
    return known[id(value)]


def _starts(node: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], int]]:
    if node is None:  # an empty document
        return
    yield path, node.start_mark.line + 1
    below = node.value if isinstance(node.value, list) else ()
    for position, item in enumerate(below):
        key, value = (str(item[0].value), item[1]) if isinstance(item, tuple) else (position, item)
        yield from _starts(value, (*path, key))


def _line_of(data: bytes, key: str) -> int | None:
    from ruamel.yaml import YAML

    root = YAML(typ="safe", pure=True).compose(data.decode("utf-8-sig"))
    return min((node.start_mark.line + 1 for node in _keys(root) if node.value == key), default=None)


def _keys(root: Any) -> Iterator[Any]:
    """The nodes of all keys, each once."""
    visited: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in visited or not isinstance(getattr(node, "value", None), list):
            continue
        visited.add(id(node))
        for item in node.value:
            if isinstance(item, tuple):
                yield item[0]
                waiting.append(item[1])
            else:
                waiting.append(item)
