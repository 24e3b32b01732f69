"""The commits that a change may have come with are taken from the branch where it has all of them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from perfcore_site_kit import data
from perfcore_site_kit.branch import NOTHING, Branch

from perfcore.model import Change, MinorVersion

IDS = [f"{number}" * 40 for number in range(6)]
VERSIONS = tuple(
    MinorVersion(id=id, parents=(parent,) if parent else (), subject=id[:1])
    for id, parent in zip(IDS, ["", *IDS], strict=False)
)


def _branch(*versions: MinorVersion) -> Branch:
    return replace(NOTHING, versions=versions)


def _change(target: str, earliest: str = "", latest: str = "") -> Change:
    return Change(id="1", kind="degradation", metric="cpu", target=target[:10], earliest=earliest, latest=latest)


def _chain(branch: Branch, change: Change) -> list[MinorVersion]:
    return data.chain(branch, change, *data.extent(branch, change))


def test_versions_in_a_row_are_all_of_them_newest_first() -> None:
    branch = _branch(*VERSIONS)
    assert _chain(branch, _change(IDS[3])) == [VERSIONS[3]]
    assert _chain(branch, _change(IDS[3], IDS[2], IDS[4])) == [VERSIONS[4], VERSIONS[3], VERSIONS[2]]


@pytest.mark.parametrize(
    ("branch", "change"),
    [
        (_branch(*VERSIONS[:2], *VERSIONS[3:]), _change(IDS[3])),
        (_branch(*VERSIONS[:2], *VERSIONS[3:]), _change(IDS[4], IDS[3], IDS[5])),
        (_branch(*VERSIONS[:3], VERSIONS[3]._replace(parents=(IDS[2], "9" * 40))), _change(IDS[3])),
        (_branch(*VERSIONS), _change(IDS[0])),
        (_branch(*VERSIONS), _change("9" * 40)),
        (_branch(*VERSIONS), _change(IDS[3], IDS[3], "9" * 40)),
    ],
    ids=["one not measured", "one before not measured", "a merge", "the first", "not on the branch", "ends elsewhere"],
)
def test_others_are_asked_of_the_vcs(branch: Branch, change: Change) -> None:
    assert _chain(branch, change) == []
