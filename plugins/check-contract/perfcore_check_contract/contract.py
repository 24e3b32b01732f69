"""The promises of a project about its speed: sentences in a versioned file, `.perfcontract.yml`.

    parse *:
      - cpu <= 2 ms at p95
      - memory may grow 5 % if time falls 10 %
      - time may drift 3 % since v1.2
    '*':
      - memory <= 64 MiB

A key is a pattern of commands: of one as it was written, of one without the folder of its program, or of the program's
name alone. `time` is the metric that decides (CPU time where there is one), `memory` is `max_rss`; any other metric
stands by its name. The file is data: nothing in it is ever run.
"""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal

import attrs
from perfcore_check_kit.labels import in_folder
from perfcore_check_kit.run_values import primary
from perfcore_table_kit import units

from perfcore.config import documents
from perfcore.config.documents import Source
from perfcore.config.layers import read_bytes
from perfcore.errors import UsageError
from perfcore.model.changes import RELATIVE
from perfcore.text import brief

FILE = ".perfcontract.yml"
EXAMPLES = "such as `cpu <= 2 ms at p95`, `memory may grow 5 % if time falls 10 %`, `time may drift 3 % since v1.2`"
RELEASE = "the last release"
# No sign: an amount below zero is no promise, and a minus in front of a percentage would reverse the sentence.
_NUMBER = r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
_BUDGET = re.compile(rf"(\S+)\s*(<=|>=)\s*{_NUMBER}\s*(\S*?)(?:\s+at\s+(\S+))?")
_GROWTH = re.compile(rf"(\S+) may (grow|fall) {_NUMBER} ?%(?: if (\S+) (falls|grows) {_NUMBER} ?%)?")
_DRIFT = re.compile(rf"(\S+) may drift {_NUMBER} ?% since (\S.*)")
# Two digits at most: p100 would be the slowest run, which more runs can only make slower.
_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")
_COMMON = {"ns": "ms", "B": "MiB"}  # the usual unit in a sentence, by that of the profiles
_ALIASES = {"memory": "max_rss"}


@attrs.frozen(kw_only=True)
class Budget:
    """The amount at a quantile of the runs (0.5 is the median, and 0.05 what 5 % of them are below) must be at most, or
    with `least` at least, `amount` `unit`."""

    metric: str
    amount: float
    unit: str
    quantile: float = 0.5
    least: bool = False

    def limit(self, unit: str) -> float:
        """The amount in another unit. UsageError where the two do not convert, or it has none and needs one."""
        if self.unit == unit or (not self.unit and units.is_count(unit)):
            return self.amount
        factor = units.ratio(self.unit, unit) if self.unit else None
        if factor is not None:
            return self.amount * float(factor)
        amount = f"{self.amount:g} {_COMMON.get(unit, unit)}".rstrip()
        hint = f"such as `{self.metric} {'>=' if self.least else '<='} {amount}`"
        if not self.unit:
            raise UsageError(f"{brief(self.metric)} is an amount with a unit, and the sentence has none", hint=hint)
        has = f"is in {brief(unit)}" if unit else "has none"
        raise UsageError(f"{brief(self.unit)} is no unit of {brief(self.metric)}, which {has}", hint=hint)


@attrs.frozen(kw_only=True)
class Growth:
    """Against the version before, a metric may get worse by this ratio: always, or only under the `condition` that
    another one changed by at least its ratio (0.9: fell by 10 %)."""

    metric: str
    ratio: float
    condition: tuple[str, float] | None = None

    def check_direction(self, better: str) -> None:
        """UsageError where the promised direction is an improvement."""
        if (self.ratio > 1 and better == "higher") or (self.ratio < 1 and better == "lower"):
            worse = "fall" if better == "higher" else "grow"
            raise UsageError(
                f"{brief(self.metric)} is better where it is {better}", hint=f"say by how much it may {worse}"
            )


@attrs.frozen(kw_only=True)
class Drift:
    """Against the version `since`, a metric may get worse by this share."""

    metric: str
    share: float
    since: str


@attrs.frozen(kw_only=True)
class Contract:
    """A sentence about the commands that a pattern fits, and the line of the file where it stands."""

    command: str
    sentence: str
    promise: Budget | Growth | Drift
    line: int = 1

    @property
    def kind(self) -> Literal["budget", "growth", "drift"]:
        kinds: dict[type, Literal["budget", "growth", "drift"]] = {Budget: "budget", Growth: "growth", Drift: "drift"}
        return kinds[type(self.promise)]

    @property
    def location(self) -> str:
        """Where people find the sentence."""
        return f"{FILE}, line {self.line}"

    def fits(self, label: str) -> bool:
        """Whether a command is meant: with the folder that it runs in or as it was written, without the folder of its
        program, or by its name alone."""
        _, typed = in_folder(label)
        program, space, arguments = typed.partition(" ")
        name = PurePath(program).name
        texts = (label, typed, f"{name}{space}{arguments}", name)
        # `fnmatchcase`: plain `fnmatch` ignores case on some systems, and a contract means the same everywhere.
        return any(fnmatch.fnmatchcase(text, self.command) for text in texts)


def read(root: Path) -> list[Contract]:
    """The contracts of a project, none where it has no file."""
    return parse(read_bytes(root / FILE) or b"", FILE)


def parse(data: bytes, where: str) -> list[Contract]:
    """The contracts in a file. UsageError for an invalid sentence, with its line."""
    values = documents.parse(data, where) if data.strip() else None
    if values is None:
        return []
    if not isinstance(values, Mapping):
        raise UsageError(f"{where} should hold commands, each with a list of sentences", hint=EXAMPLES)
    source, lines = Source(where, data), documents.lines(data)
    contracts = []
    for command, sentences in values.items():
        for index, sentence in enumerate(_sentences(sentences, source.at(command))):
            line = lines.get((str(command), index)) or lines.get((str(command),), 1)
            promise = _promise(sentence, f"{where}, line {line}")
            contracts.append(Contract(command=str(command), sentence=sentence, promise=promise, line=line))
    return contracts


def metric_of(name: str, metrics: Iterable[str]) -> str:
    """The name of a metric of a sentence in profiles with these metrics."""
    ordered = list(metrics)
    if name in ordered:
        return name
    if name == "time":
        return primary(metric for metric in ordered if metric != RELATIVE) or name
    return _ALIASES.get(name, name)


def _sentences(values: Any, where: str) -> Sequence[str]:
    listed = [values] if isinstance(values, str) else values
    if not isinstance(listed, list) or not all(isinstance(sentence, str) for sentence in listed):
        raise UsageError(f"{where}: a command has a list of sentences", hint=EXAMPLES)
    return [" ".join(sentence.split()) for sentence in listed]


def _promise(sentence: str, where: str) -> Budget | Growth | Drift:
    if match := _DRIFT.fullmatch(sentence):
        _ratio(True, match[2], f"{where}: {brief(sentence)}")
        return Drift(metric=match[1], share=float(match[2]) / 100, since=match[3])
    if match := _GROWTH.fullmatch(sentence):
        context = f"{where}: {brief(sentence)}"
        condition = (match[4], _ratio(match[5] == "grows", match[6], context)) if match[4] else None
        if condition is not None and condition[1] == 1:
            raise UsageError(f"{context}: a condition of 0 % says nothing", hint=EXAMPLES)
        return Growth(metric=match[1], ratio=_ratio(match[2] == "grow", match[3], context), condition=condition)
    if match := _BUDGET.fullmatch(sentence):
        return Budget(
            metric=match[1],
            amount=float(match[3]),
            unit=match[4],
            quantile=_quantile(match[5], f"{where}: {brief(sentence)}"),
            least=match[2] == ">=",
        )
    raise UsageError(f"{where}: {brief(sentence)} is not a valid contract sentence", hint=EXAMPLES)


def _ratio(grows: bool, percent: str, said: str) -> float:
    share = float(percent) / 100
    if (share >= 1 and not grows) or share == math.inf:
        raise UsageError(f"{said}: a fall of 100 % or more is impossible", hint=EXAMPLES)
    return 1 + share if grows else 1 - share


def _quantile(text: str | None, where: str) -> float:
    if text in (None, "median"):
        return 0.5
    match = _QUANTILE.fullmatch(text or "")
    if match is None or not float(match[1]):
        raise UsageError(f"{where}: {brief(text)} is not a quantile", hint="such as median, p95 or p99.9")
    return float(match[1]) / 100
