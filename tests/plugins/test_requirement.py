"""A requirement on the core is compared with its version as PEP 440 says."""

from __future__ import annotations

import pytest

from perfcore.plugins.requirement import misfit

MET = (
    "perfcore-core",
    "perfcore-core>=0.1,<0.2",
    "perfcore_core (>=0.1)",
    "Perfcore.Core ~= 0.1.0",
    "perfcore-core==0.1",
    "perfcore-core==0.1.*",
    "perfcore-core[x]!=0.2",
    "perfcore-core>=9; extra == 'test'",
    "perfcore-core>=9rc1",
    "another>=9",
    "",
)
UNMET = (
    "perfcore-core>=0.2",
    "perfcore-core<0.1",
    "perfcore_core ==0.2.*",
    "perfcore-core~=0.2.0",
    "perfcore-core!=0.1.0",
    "perfcore-core>0.1",
    "perfcore-core>=0.1,<0.1",
)


@pytest.mark.parametrize("requirement", MET)
def test_a_requirement_that_is_met_or_left_to_pip(requirement: str) -> None:
    assert misfit([requirement], "0.1.0") == ""


@pytest.mark.parametrize("requirement", UNMET)
def test_a_requirement_that_is_not_met(requirement: str) -> None:
    assert misfit(["attrs>=1", requirement], "0.1.0").startswith("perfcore-core ")


def test_versions_are_numbers_not_text() -> None:
    assert misfit(["perfcore-core>=0.9,<0.11"], "0.10.2") == ""
    assert misfit(["perfcore-core~=1.4.2"], "1.4.10") == ""
    assert misfit(["perfcore-core~=1.4.2"], "1.5") != ""
