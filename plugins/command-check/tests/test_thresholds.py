"""The words of `--threshold`."""

from __future__ import annotations

import pytest
from perfcore_command_check.thresholds import parse_thresholds

from perfcore.errors import UsageError


def test_thresholds_are_for_all_metrics_or_for_one() -> None:
    assert parse_thresholds(["0.05", "cpu=0.03", "a=b=0.5"]) == {"": 0.05, "cpu": 0.03, "a=b": 0.5}
    assert parse_thresholds([]) == {}


@pytest.mark.parametrize("word", ["-1", "nan", "inf", "much", "=0.1", "cpu=", "cpu=-0.1", ""])
def test_wrong_thresholds_are_errors(word: str) -> None:
    with pytest.raises(UsageError):
        parse_thresholds([word])


def test_a_threshold_given_twice_is_an_error() -> None:
    with pytest.raises(UsageError, match="every metric is given twice"):
        parse_thresholds(["0.1", "0.2"])
    with pytest.raises(UsageError, match="'cpu' is given twice"):
        parse_thresholds(["cpu=0.1", "cpu=0.1"])
