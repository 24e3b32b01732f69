"""The check `contract`: whether a version keeps what `.perfcontract.yml` promises about the project's speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfcore_check_kit.version_history import VersionHistory

    from perfcore.model import Judgement


class ContractCheck:
    """Judges a version by the sentences of `.perfcontract.yml`, such as `cpu <= 2 ms at p95`."""

    def judge(self, history: VersionHistory, version: str) -> Judgement:
        from perfcore_check_contract.contract import read
        from perfcore_check_contract.evaluate import evaluate

        return evaluate(history, version, read(history.repository.root))
