"""Finds the versions in which a performance history changed: its level or its noise, and by how much.

`detect` and `detect_many` need nothing else of perfcore:

    from perfcore_check_changepoint import detect
    for change in detect([5.1, 5.0, 5.2, 5.1, 5.0, 6.1, 6.0, 6.2, 6.1, 6.0]):
        print(change.index, change.before, change.after)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from perfcore.model.record import Record
from perfcore.settings import OptionInfo
from perfcore_check_changepoint.points import ChangePoint, Machine, Suite

if TYPE_CHECKING:
    from collections.abc import MutableMapping, Sequence

    from perfcore.model import Change, Series

__all__ = ["ChangePoint", "ChangepointCheck", "ChangepointSettings", "Machine", "Suite", "detect", "detect_many"]

# Nats that a change has to explain. At 6.5, benchmarks/compare.py has 0.06 false alarms in 1,000 versions and an F1 of
# 0.921 (seeds 101 to 103); at 5.8 these are 0.11 and 0.918, at 5.2 0.29 and 0.908.
PENALTY = 6.5
CONFIDENCE = 0.95  # of the interval of a size, as everywhere in perfcore


def detect(
    values: Sequence[float | Sequence[float]], *, penalty: float = PENALTY, confidence: float = CONFIDENCE
) -> list[ChangePoint]:
    """The change points of a series, oldest first.

    A value is an amount, or the amounts of several runs; what is no finite number is missing. `penalty` is how many
    nats a change has to explain: more of them, fewer false alarms. `confidence` is the level of the intervals.
    """
    from perfcore_check_changepoint import detection

    return detection.detect(values, penalty=penalty, confidence=confidence)


def detect_many(
    values: Sequence[Sequence[float | Sequence[float]]], *, penalty: float = PENALTY, confidence: float = CONFIDENCE
) -> Suite:
    """The change points of series over the same versions, measured on the same machines, without what the machine did:
    `values[i][j]` is series i in version j, NaN or empty where nothing was measured. Changes are fewer, the more
    series there are: each has to be surer."""
    from perfcore_check_changepoint import suite

    return suite.detect_many(values, penalty=penalty, confidence=confidence)


class ChangepointSettings(Record, frozen=True, kw_only=True):
    """The limits above which a change is reported."""

    threshold: Annotated[
        float, OptionInfo("Smallest relative change of the level that is reported (0.005 is 0.5 %).", minimum=0)
    ] = 0.005
    penalty: Annotated[
        float,
        OptionInfo(
            "Evidence a change needs, in nats: one more makes false alarms about three times as rare.", minimum=3
        ),
    ] = PENALTY
    confidence: Annotated[float, OptionInfo("Level of the interval of the ratio.", minimum=0.5, maximum=0.9999)] = (
        CONFIDENCE
    )


class ChangepointCheck:
    """The check `changepoint`: looks at the whole history of a metric, not at two versions."""

    Settings = ChangepointSettings
    contract = "perfcore_check_changepoint.contract:ChangepointContract"

    def __init__(self, settings: ChangepointSettings) -> None:
        self.settings = settings

    def scan(self, series: Series, state: bytes | None) -> tuple[Sequence[Change], bytes]:
        from perfcore_check_changepoint.scanning import scan

        return scan(series, state, self.settings)

    def scan_many(self, series: Sequence[Series], memory: MutableMapping[str, bytes]) -> Sequence[Sequence[Change]]:
        """The changes of series over the same versions, in their order, without changes of the machine that all of them
        share. Those are reported with every series."""
        from perfcore_check_changepoint.scanning import scan_many

        return scan_many(series, self.settings, memory)
