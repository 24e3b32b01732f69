"""The file of the page, without a browser."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from typing import Any

import attrs
import pytest
from perfcore_testing import hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_testing.pages import assert_self_contained
from perfcore_view_flamegraph import FlamegraphSettings, FlamegraphView

from perfcore.model import Profile
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table


def written(profile: Profile, name: str = "0@p", **settings: Any) -> str:
    output = FakeOutput()
    FlamegraphView(FlamegraphSettings(**settings)).render(profiles.subject(profile, names=(name,)), output)
    return output.text


def unpacked(page: str) -> tuple[dict[str, Any], list[list[float]]]:
    """The head and the columns, as the page's script reads them."""
    found = re.search(r'id="data">([^<]*)<', page)
    assert found is not None
    data = zlib.decompress(base64.b64decode(found[1]))
    (length,) = struct.unpack_from("<I", data)
    head, data = json.loads(data[4 : 4 + length]), data[4 + length :]
    columns: list[list[float]] = []
    for planes in head["columns"]:
        size = head["nodes"] * (8 if planes is None else planes)
        mine, data = data[:size], data[size:]
        if planes is None:
            columns.append(list(struct.unpack(f"<{head['nodes']}d", mine)))
        else:
            rows = zip(*(mine[k * head["nodes"] : (k + 1) * head["nodes"]] for k in range(planes)), strict=True)
            columns.append([int.from_bytes(bytes(row), "little") for row in rows] if planes else [0] * head["nodes"])
    assert data == b""
    return head, columns


def of(*amounts: Any, **more: list[Any]) -> Profile:
    builder = StackBuilder()
    main = Frame("main", "a.py", 1, 1)
    rows = [builder.add([main, *[Frame(f"f{number}", "b.py")] * number]) for number in range(len(amounts))]
    values = [column(name, list(found), role="value") for name, found in {"samples": amounts, **more}.items()]
    resources = table("resources", [column("stack", rows), *values])
    return profiles.sampled().replace_tables(resources=resources, **builder.tables())


def test_the_data_are_the_tree() -> None:
    head, (ups, frame, own) = unpacked(written(of(3, 70_000, 5)))
    assert [head["names"][at] for at in frame] == ["all", "main", "f1", "f2", "f2"]
    assert ups == [0, 0, 0, 1, 0]
    assert own == [0, 3, 70_000, 0, 5]
    assert head["metrics"] == [{"name": "samples", "unit": "", "difference": False}]


def test_floats_and_large_numbers_are_kept_as_floats() -> None:
    head, (_, _, own, large) = unpacked(written(of(0.5, 2.25, large=[2**62, 1])))
    assert head["columns"][2:] == [None, None]
    assert own == [0, 0.5, 2.25]
    assert large == [0, 2.0**62, 1]


def test_only_what_the_page_brings_may_run() -> None:
    assert_self_contained(written(profiles.sampled()))


@pytest.mark.parametrize("name", hostile.NAMES)
def test_names_are_never_markup(name: str) -> None:
    builder = StackBuilder()
    row = builder.add([Frame(name, name, 1, 1)])
    resources = table("resources", [column("stack", [row]), column(name or "-", [1], unit=name, role="value")])
    profile = profiles.sampled().replace_tables(resources=resources, **builder.tables())
    page = written(profile, name=name, title=name)
    assert hostile.unsafe(page) == set()
    begin, _, rest = page.partition("<body>")
    plain = written(of(1)).partition("<body>")
    assert [len(re.findall(r"<\w", part)) for part in (begin, rest)] == [
        len(re.findall(r"<\w", part)) for part in (plain[0], plain[2])
    ]
    head, _ = unpacked(page)
    texts = [*head["names"], *head["places"], *(metric["name"] + metric["unit"] for metric in head["metrics"])]
    assert hostile.unsafe("".join(texts)) == set()


def test_a_metric_is_found_by_its_name_whatever_that_is() -> None:
    name = "tab\tbell\x07"
    head, _ = unpacked(written(of(1, 2, **{name: [3, 4]}), metric=name))
    assert head["start"]["metric"] == head["metrics"][1]["name"] == "tab\\tbell\\x07"


def test_a_saved_difference_names_its_sources() -> None:
    sides = {"baseline samples": [1, 2], "target samples": [2, 1]}
    builder = StackBuilder()
    rows = [builder.add([Frame(name)]) for name in "ab"]
    values = [column("samples", [1, -1], role="value"), *(column(key, found) for key, found in sides.items())]
    resources = table("resources", [column("stack", rows), *values])
    profile = profiles.sampled().replace_tables(resources=resources, **builder.tables())
    from_ids = unpacked(written(attrs.evolve(profile, sources=("a" * 40, "b" * 40)), name="saved.perf"))[0]
    assert from_ids["sides"] == ["aaaaaaaaaa", "bbbbbbbbbb"]
    assert unpacked(written(profile, name="saved.perf"))[0]["sides"] == ["baseline", "target"]
    assert "baseline 1@p, target 2@p; samples: 3 → 3, ±0" in written(profile, name="1@p -> 2@p")
