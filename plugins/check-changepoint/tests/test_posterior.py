"""The probabilities of changes are those that all sequences of levels add up to."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from perfcore_check_changepoint import posterior
from perfcore_check_changepoint.posterior import Account, passage, places


def _by_hand(account: Account, hazard: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The probability that a level begins at each point, from every path there is."""
    count, levels = account.stay.shape
    begun, total, still = np.zeros(count), 0.0, 0.0
    for path in itertools.product(range(levels), repeat=count):
        for cuts in itertools.product([False, True], repeat=count - 1):
            if any(path[i] != path[i - 1] and not cuts[i - 1] for i in range(1, count)):
                continue
            likelihood, unchanged = math.exp(-account.first[0, path[0]]) / levels, not any(cuts)
            kept = likelihood
            for i in range(1, count):
                stays = math.exp(-account.stay[i, path[i]])
                likelihood *= (
                    hazard / levels * math.exp(-account.first[i, path[i]]) if cuts[i - 1] else (1 - hazard) * stays
                )
                kept *= stays
            total += likelihood
            still += kept if unchanged else 0.0
            begun[1:] += likelihood * np.array(cuts)
    probabilities: np.ndarray[tuple[int], np.dtype[np.float64]] = begun / (total + still)
    return probabilities


@pytest.mark.parametrize("moving", [False, True])
def test_all_paths_count(moving: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of two points as well as in one block."""
    for block, seed in itertools.product((2, 16), range(3)):
        monkeypatch.setattr(posterior, "_BLOCK", block)
        monkeypatch.setattr(posterior, "_LATER", np.tri(block, k=-1, dtype=bool))
        random = np.random.default_rng(seed)
        account = Account(3 * random.random((5, 3)), 3 * random.random((5, 3)) if moving else None)
        expected = _by_hand(account, math.exp(posterior._PLACE - 4.0))
        assert passage(account, 4.0).probabilities() == pytest.approx(expected)


@pytest.mark.parametrize("penalty", [3.0, 60.0, 5000.0])
def test_no_penalty_leaves_the_range_of_floats(penalty: float) -> None:
    far = np.where(np.arange(100)[:, None] % 7 < [3, 4], 0.0, 30.0)
    assert np.isfinite(passage(Account(far), penalty).probabilities()).all()


@pytest.mark.parametrize(
    ("probabilities", "found"),
    [
        ({5: 0.9}, [5]),
        ({5: 0.2, 6: 0.2, 7: 0.2}, [6]),  # one change, whose place is not certain
        ({5: 0.2, 15: 0.2, 25: 0.2}, []),
        ({5: 0.9, 9: 0.9}, [5, 9]),
        ({5: 0.9, 10: 0.9}, [5, 10]),
        ({0: 1.0}, []),
    ],
)
def test_a_change_is_where_most_of_its_probability_lies_near(probabilities: dict[int, float], found: list[int]) -> None:
    series = np.zeros(30)
    for place, probability in probabilities.items():
        series[place] = probability
    assert places(series) == found
