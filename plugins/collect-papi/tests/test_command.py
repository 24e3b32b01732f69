"""`perf papi`: what can be counted, and why the rest cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from perfcore_collect_papi import diagnosis
from perfcore_collect_papi.command import PapiCommand
from perfcore_collect_papi.contract import PapiCommandContract
from perfcore_testing.output import FakeOutput
from typer.testing import CliRunner


class TestContract(PapiCommandContract):
    """Every law of the kind command."""


def said(*words: str) -> str:
    output = FakeOutput()
    result = CliRunner().invoke(PapiCommand().app(), list(words), obj=output)
    assert result.exit_code == 0, result.exception
    return output.text


def parsed(*words: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(said(*words, "--json"))
    assert value["schema"] == 1
    return value


def test_events_tell_presets_with_descriptions_and_those_of_the_kernel() -> None:
    events = {event["name"]: event for event in parsed("events")["events"]}
    assert events["PAPI_TOT_INS"]["description"] == "Instructions completed"
    assert events["PAPI_TOT_INS"]["preset"] is True
    assert events["task-clock"] == {
        "name": "task-clock",
        "description": "Time on a CPU",
        "unit": "ns",
        "component": "kernel",
        "preset": False,
        "available": True,
    }
    assert sum(event["preset"] for event in events.values()) == 108


def test_a_pattern_is_part_of_a_name_or_description() -> None:
    lines = said("events", "MISPREDICTED").splitlines()
    assert any("PAPI_BR_MSP" in line for line in lines)
    assert len(lines) < 5
    assert said("events", "no such thing") == ""


def test_a_pattern_that_nothing_has_is_told() -> None:
    output = FakeOutput()
    CliRunner().invoke(PapiCommand().app(), ["events", "no\x1b thing"], obj=output)
    assert output.said == ["no event has 'no\\x1b thing' in its name or description"]


def test_available_are_those_that_can_be_counted_here() -> None:
    names = {event["name"] for event in parsed("events", "--available")["events"]}
    assert "task-clock" in names
    assert ("PAPI_TOT_INS" in names) == bool(diagnosis.machine().units)


@pytest.mark.usefixtures("processor")
def test_with_a_processor_its_events_are_listed() -> None:
    events = {event["name"]: event["available"] for event in parsed("events")["events"]}
    assert events["PAPI_TOT_INS"] is True
    assert any(name.startswith("skl::") and there for name, there in events.items()) or "UOPS_ISSUED" in events
    assert parsed("doctor")["cause"] is None
    assert said("doctor").startswith("verdict: hardware events can be counted\n")


@pytest.mark.skipif(bool(diagnosis.machine().units), reason="this machine has a processor that counts")
def test_doctor_tells_the_cause_and_its_facts() -> None:
    facts = parsed("doctor")
    assert facts["cause"]["id"] == "no-pmu"
    assert facts["machine"]["units"] == []
    assert facts["papi"]["components"][0]["name"] == "perf_event"
    assert facts["kernel_counters"]["task-clock"] is True
    text = said("doctor")
    assert facts["cause"]["text"] in text
    assert "perf_event_paranoid" in text
