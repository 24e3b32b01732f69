"""The contract of notifiers. Inherit from it in your tests:

class TestMail(NotifierContract):
    @pytest.fixture
    def driver(self, server):
        return Mail(Mail.Settings(server=server.address))

    @pytest.fixture
    def delivered(self, server):
        return lambda: server.messages
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from perfcore.analysis.check_result import CheckResult
from perfcore.errors import PerfError
from perfcore.model import Change
from perfcore_testing import hostile
from perfcore_testing.kinds import misfits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perfcore.hookspecs import Notifier


def slower(label: str = "./gzip -9 file", **changes: Any) -> Change:
    """A degradation of CPU time by 8 %."""
    facts: dict[str, Any] = {
        "id": "d1" * 20,
        "kind": "degradation",
        "metric": "cpu",
        "unit": "ns",
        "label": label,
        "baseline": "a" * 40,
        "target": "b" * 40,
        "baseline_value": 1e7,
        "target_value": 1.08e7,
        "ratio": 1.08,
        "low": 1.05,
        "high": 1.11,
        "confidence": 0.99,
        "p_value": 0.0001,
        "evidence": "10 pairs of interleaved runs",
    }
    return Change(**{**facts, **changes})


def report(*changes: Change) -> Mapping[str, Any]:
    """What `perf check --json` prints for these changes."""
    read: Mapping[str, Any] = json.loads(json.dumps(CheckResult(changes=changes).as_json()))
    return read


class NotifierContract:
    """What every notifier keeps. Override `driver` and `delivered`."""

    exact = False
    """What is delivered is data for programs and holds names as they are."""

    @pytest.fixture
    def driver(self) -> Notifier:
        raise NotImplementedError("override the fixture `driver` and return a notifier")

    @pytest.fixture
    def delivered(self) -> Callable[[], Sequence[str]]:
        """Gives the messages that arrived so far, each as text with its subject and headers."""
        raise NotImplementedError("override the fixture `delivered`")

    @pytest.fixture
    def unreachable(self) -> Notifier | None:
        """A driver whose messages cannot arrive; None where there is no such thing."""
        return None

    def test_it_fits_the_kind(self, driver: Notifier) -> None:
        """Its method has the specification's arguments, its options say what they are for."""
        assert misfits("notifier", driver) == []

    def test_a_degradation_arrives(self, driver: Notifier, delivered: Callable[[], Sequence[str]]) -> None:
        """Once, and it says what became slower."""
        driver.notify(report(slower("./gzip -9 notes")))
        (message,) = delivered()
        assert "cpu" in message
        assert "gzip" in message

    def test_a_report_without_changes_is_no_failure(self, driver: Notifier) -> None:
        """Whether good news are told is the driver's choice."""
        driver.notify(report())
        driver.notify(report(slower(kind="same", ratio=1.0), slower(kind="cannot tell", ratio=None, low=None)))

    def test_the_report_stays_as_it_was(self, driver: Notifier) -> None:
        """Other notifiers get the same one."""
        original = report(slower(), slower(kind="optimization", ratio=0.5))
        before = copy.deepcopy(original)
        driver.notify(original)
        assert original == before

    def test_hostile_names_stay_text(self, driver: Notifier, delivered: Callable[[], Sequence[str]]) -> None:
        """A name begins no line, so that it forges no header, and carries no escape sequence."""
        names = (*hostile.NAMES, "x\nBcc: everybody@example.com")
        for name in names:
            driver.notify(report(slower(name, resource=name, metric=name or "m", evidence=name, unit=name)))
        messages = delivered()
        assert len(messages) == len(names)
        if not self.exact:
            assert set().union(*map(hostile.unsafe, messages)) == set()
            assert "\nBcc:" not in "".join(messages)

    def test_what_cannot_be_delivered_is_an_error(self, unreachable: Notifier | None) -> None:
        """A PerfError that says so: a warning that got lost is worse than none."""
        if unreachable is None:
            pytest.skip("its messages always arrive")
        with pytest.raises(PerfError):
            unreachable.notify(report(slower()))
