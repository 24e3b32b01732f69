"""Sentences of contracts."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_check_contract import contract
from perfcore_check_contract.contract import Budget, Contract, Drift, Growth

from perfcore.errors import UsageError


def _one(sentence: str) -> Any:
    (found,) = contract.parse(f"parse *: ['{sentence}']".encode(), "contract")
    return found.promise


@pytest.mark.parametrize(
    ("sentence", "promise"),
    [
        ("cpu <= 2 ms at p95", Budget(metric="cpu", amount=2, unit="ms", quantile=0.95)),
        ("cpu<=2ms", Budget(metric="cpu", amount=2, unit="ms")),
        ("wall <= 1.5 s at median", Budget(metric="wall", amount=1.5, unit="s")),
        ("instructions <= 1e9", Budget(metric="instructions", amount=1e9, unit="")),
        ("rate >= 20 MB at p5", Budget(metric="rate", amount=20, unit="MB", quantile=0.05, least=True)),
        ("memory may grow 5 %", Growth(metric="memory", ratio=1.05)),
        ("memory may grow 5% if time falls 10%", Growth(metric="memory", ratio=1.05, condition=("time", 0.9))),
        ("rate may fall 2 % if memory falls 20 %", Growth(metric="rate", ratio=0.98, condition=("memory", 0.8))),
        ("time may drift 3 % since v1.2", Drift(metric="time", share=0.03, since="v1.2")),
        ("time may drift 0.5 % since the last release", Drift(metric="time", share=0.005, since="the last release")),
    ],
)
def test_sentences_are_understood(sentence: str, promise: object) -> None:
    found = _one(sentence)
    assert found == promise


@pytest.mark.parametrize(
    "text",
    [
        "parse: [cpu may grow 1e999 %]",
        "parse: [cpu may drift 1e999 % since v1]",
        "parse: [cpu is small]",
        "parse: [cpu <= fast]",
        "parse: [cpu <= 2 ms at noon]",
        "parse: [cpu may grow]",
        "parse: {cpu: 2}",
        "parse: [1]",
        "[a, b]",
        "parse: 5",
        "\0",
    ],
)
def test_what_is_no_contract_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(UsageError, match=r"the file"):
        contract.parse(text.encode(), "the file")


@pytest.mark.parametrize(
    "wrong", ["nonsense", "cpu <= 2 ms at p0", "time may fall 100 %", "time may grow 1 % if cpu falls 0 %"]
)
def test_a_wrong_sentence_is_named_with_its_line(wrong: str) -> None:
    with pytest.raises(UsageError, match=f"the file, line 5: '{wrong}'"):
        contract.parse(f"a:\n  - cpu <= 2 ms\nb:\n  - cpu <= 3 ms\n  - {wrong}\n".encode(), "the file")


@pytest.mark.parametrize("text", ["", "  \n", "# nothing yet\n"])
def test_an_empty_file_holds_no_contract(text: str) -> None:
    assert contract.parse(text.encode(), "the file") == []


@pytest.mark.parametrize(
    ("pattern", "fits"), [("parse *", True), ("parse", True), ("*", True), ("./parse *", False), ("sort", False)]
)
def test_a_command_is_meant_by_its_words_or_its_program(pattern: str, fits: bool) -> None:
    agreed = Contract(command=pattern, sentence="", promise=Budget(metric="cpu", amount=1, unit=""))
    assert agreed.fits("parse big.txt") is fits
    assert agreed.fits("/usr/bin/parse") is (pattern in ("parse", "*"))
    assert agreed.fits("./parse big.txt") is (pattern != "sort"), "the folder of a program may be left out"
    assert agreed.fits("svc/one: parse big.txt") is fits, "in whichever folder it runs"


def test_a_command_is_meant_in_the_folder_that_the_contract_names() -> None:
    agreed = Contract(command="svc/one: parse *", sentence="", promise=Budget(metric="cpu", amount=1, unit=""))
    assert agreed.fits("svc/one: parse big.txt")
    assert not agreed.fits("svc/two: parse big.txt")
    assert not agreed.fits("parse big.txt")


def test_a_limit_is_in_the_unit_of_the_metric() -> None:
    assert _one("cpu <= 2 ms").limit("ns") == 2e6
    assert _one("cpu <= 5 ns").limit("ns") == 5
    with pytest.raises(UsageError, match="'MB' is no unit of 'cpu', which is in 'ns'"):
        _one("cpu <= 2 MB").limit("ns")
    with pytest.raises(UsageError, match="which has none"):
        _one("faults <= 2 MB").limit("")


def test_only_counts_need_no_unit() -> None:
    assert _one("faults <= 5").limit("") == 5
    assert _one("instructions <= 5").limit("instructions") == 5
    assert _one("faults <= 5 k").limit("") == 5000
    for unit in ("ns", "B", "Hz"):
        with pytest.raises(UsageError, match="has none") as caught:
            _one("cpu <= 5").limit(unit)
        assert str(caught.value.hint).startswith("such as `cpu <= 5 ")


@pytest.mark.parametrize(
    ("name", "metrics", "called"),
    [
        ("time", ["wall", "cpu"], "cpu"),
        ("time", ["time"], "time"),
        ("memory", ["max_rss"], "max_rss"),
        ("memory", ["memory"], "memory"),
        ("other", ["cpu"], "other"),
    ],
)
def test_common_words_name_what_profiles_have(name: str, metrics: list[str], called: str) -> None:
    assert contract.metric_of(name, metrics) == called


@given(st.text(max_size=60))
def test_any_text_is_a_contract_or_refused(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    with contextlib.suppress(UsageError):
        contract.parse(b"a:\n  - " + data, "the file")
