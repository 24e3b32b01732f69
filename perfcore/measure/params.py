"""Parameters of commands, `N=1..10` or `N=1,10,100`, whose values take the place of `{N}`."""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Mapping, Sequence

from perfcore.errors import UsageError
from perfcore.text import brief

_PARAMETER = re.compile(r"(?!workload=)([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)  # {workload} has a meaning
_RANGE = re.compile(r"(-?[0-9]{1,15})\.\.(-?[0-9]{1,15})(?:\.\.([1-9][0-9]{0,14}))?")
_MANY = 10_000  # jobs of one command: more is a slip of a finger


def combinations(texts: Sequence[str]) -> list[Mapping[str, str]]:
    """Every combination of the values, the last parameter changing fastest; one without any for no parameters."""
    params: dict[str, Sequence[object]] = {}
    for text in texts:
        if not (match := _PARAMETER.fullmatch(text)) or match[1] in params:
            raise UsageError(f"--param {brief(text)}: expected a new NAME=1..10, NAME=1..100..10 or NAME=a,b,c")
        params[match[1]] = match[2].split(",")
        if bounds := _RANGE.fullmatch(match[2]):
            params[match[1]] = range(int(bounds[1]), int(bounds[2]) + 1, int(bounds[3] or 1))
    if not 0 < math.prod(map(len, params.values())) <= _MANY:
        raise UsageError(f"the parameters have no combination, or more than {_MANY:,}")
    return [dict(zip(params, map(str, chosen), strict=True)) for chosen in itertools.product(*params.values())]


def filled(
    commands: Sequence[Sequence[str]], texts: Sequence[str], *, shell: bool
) -> list[tuple[list[str], Mapping[str, str]]]:
    """Every command with every combination, and the values. UsageError for a parameter that a command lacks."""
    params, quote = combinations(texts), shlex.quote if shell else str
    for name in params[0]:
        if not all(any(f"{{{name}}}" in word for word in words) for words in commands):
            raise UsageError(f"--param {name}: there is no {{{name}}} in the command")

    def fill(word: str, values: Mapping[str, str]) -> str:
        return re.sub(r"\{(\w+)\}", lambda m: quote(values[m[1]]) if m[1] in values else m[0], word)

    return [([fill(word, values) for word in words], values) for words in commands for values in params]
