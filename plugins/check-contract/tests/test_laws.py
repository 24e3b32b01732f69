from __future__ import annotations

import pytest
from perfcore_check_contract import ContractCheck
from perfcore_testing.judge import JudgeContract

from perfcore.model import Judgement


class TestContract(JudgeContract):
    @pytest.fixture
    def driver(self) -> ContractCheck:
        return ContractCheck()

    @pytest.fixture
    def agreement(self) -> dict[str, str]:
        sentences = ("wall <= 1 s at p95", "wall <= 1 ns", "wall may grow 5 %", "wall may drift 3 % since HEAD~1")
        return {".perfcontract.yml": "'*':\n" + "".join(f"  - {sentence}\n" for sentence in sentences)}

    def test_each_sentence_has_a_verdict(self, judge: Judgement) -> None:
        assert [verdict.kind for verdict in judge.verdicts][:2] == ["same", "degradation"]
        assert len(judge.verdicts) == 4
