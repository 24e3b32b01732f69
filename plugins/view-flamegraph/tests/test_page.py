"""The file of the page, without a browser."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from perfcore_testing import hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_testing.pages import assert_self_contained
from perfcore_view_flamegraph import FlamegraphSettings, FlamegraphView

from perfcore.errors import NotFoundError
from perfcore.model import Profile
from perfcore.model.record import replace
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
    data = base64.b85decode(found[1].encode().translate(bytes.maketrans(b".,/", b"&<>")))
    (length,) = struct.unpack_from("<I", data)
    head, data = json.loads(zlib.decompress(data[4 : 4 + length])), data[4 + length :]
    columns: list[list[float]] = []
    for spec in head["columns"]:
        parts = []
        for size in spec["parts"]:
            parts.append(zlib.decompress(data[:size]))
            data = data[size:]
        if spec.get("float"):
            columns.append(list(struct.unpack(f"<{spec['rows']}d", parts[0])))
        elif "short" in spec:
            columns.append(list(short(spec["short"], *parts)))
        else:
            rows = zip(*parts, strict=True) if parts else [()] * spec["rows"]
            columns.append([int.from_bytes(bytes(row), "little") for row in rows])
        assert len(columns[-1]) == spec["rows"]
    assert data == b""
    files = columns.pop()
    assert len(files) == len(head["names"])
    return head | {"file": files}, columns


def short(limit: int, first: bytes, *planes: bytes) -> Iterator[int]:
    rest = zip(*planes, strict=True)
    for byte in first:
        if byte < limit:
            yield byte
        else:
            low = bytes(next(rest)) if planes else b""
            yield limit + int.from_bytes(low + bytes([byte - limit]), "little")
    assert next(rest, None) is None


def of(*amounts: Any, **more: list[Any]) -> Profile:
    builder = StackBuilder()
    main = Frame("main", "a.py", 1, 1)
    rows = [builder.add([main, *[Frame(f"f{number}", "b.py")] * number]) for number in range(len(amounts))]
    values = [column(name, list(found), role="value") for name, found in {"samples": amounts, **more}.items()]
    resources = table("resources", [column("stack", rows), *values])
    return profiles.sampled().replace_tables(resources=resources, **builder.tables())


def test_the_data_are_the_tree() -> None:
    head, (lengths, ups, frame, ends, gaps, others) = unpacked(written(of(3, 70_000, 5)))
    assert [head["names"][at] for at in frame] == ["all", "main", "f1", "f2", "f2"]
    assert (lengths, ups) == ([3, 2], [0, 1])
    assert (ends, gaps, others) == ([70_000, 5], [1], [3])
    assert head["metrics"] == [{"name": "samples", "unit": "", "columns": 1}]


def test_frames_are_numbered_by_how_often_they_occur() -> None:
    head, _ = unpacked(written(of(1, 1, 1, 1, 1)))
    assert head["names"][:2] == ["f4", "f3"]
    assert set(head["names"]) == {"f4", "f3", "f2", "f1", "main", "all"}


@pytest.mark.parametrize("count", [200, 254, 255, 256, 257, 3_000, 66_000])
def test_frames_of_any_number_are_told_apart(count: int) -> None:
    builder = StackBuilder()
    rows = [builder.add([Frame("main"), Frame(f"f{number}", f"{number % 300}.py")]) for number in range(count)]
    columns = [column("stack", rows), column("samples", [1] * count, role="value")]
    profile = profiles.sampled().replace_tables(resources=table("resources", columns), **builder.tables())
    head, (_, _, frame, *_) = unpacked(written(profile))
    assert sorted(head["names"][int(at)] for at in frame[2:]) == sorted(f"f{number}" for number in range(count))
    assert all(
        head["files"][int(file)] == f"{int(name[1:]) % 300}.py"
        for name, file in zip(head["names"], head["file"], strict=True)
        if name[0] == "f"
    )


def test_floats_and_large_numbers_are_kept_as_floats() -> None:
    head, (_, _, _, *own) = unpacked(written(of(0.5, 2.25, large=[2**62, 1])))
    is_float = [spec.get("float", False) for spec in head["columns"]]
    assert is_float == [False, False, False, True, False, True, False, False, True, False]
    assert own == [[2.25], [1], [0.5], [1], [1], [2.0**62]]


@pytest.mark.parametrize("order", [("time", "ns"), ("position", "")])
def test_the_order_of_time_and_threads_make_columns_of_samples(order: tuple[str, str]) -> None:
    name, unit = order
    builder = StackBuilder()
    rows = [builder.add([Frame("main"), Frame(inner)]) for inner in ("a", "b", "a")]
    columns = [
        column("stack", rows),
        column(name, [30, 10, 20], unit=unit, role="order"),
        column("thread", ["x", "y", "x"]),
        column("samples", [1, 2, 3], role="value"),
    ]
    profile = profiles.sampled().replace_tables(resources=table("resources", columns), **builder.tables())
    head, (_, _, frame, node, thread, samples) = unpacked(written(profile))
    assert (head["samples"], head["tracks"]) == (2, ["x", "y"])
    assert [head["names"][int(frame[int(at)])] for at in node] == ["a", "a", "b"]
    assert (thread, samples) == ([0, 0, 1], [3, 1, 2])


def test_several_profiles_are_versions_of_one_tree() -> None:
    output = FakeOutput()
    subject = profiles.subject(of(3, 70_000, 5), of(4, 1), names=("1@p", "2@p"))
    FlamegraphView().render(subject, output)
    head, (_, _, frame, *versions) = unpacked(output.text)
    assert (head["kind"], [version["name"] for version in head["versions"]]) == ("history", ["1@p", "2@p"])
    assert versions == [[70_000, 5], [1], [3], [1, 0], [1], [4]]
    assert [head["names"][int(at)] for at in frame] == ["all", "main", "f1", "f2", "f2"]


def test_a_version_without_samples_is_no_reason_to_show_none() -> None:
    output = FakeOutput()
    FlamegraphView().render(profiles.subject(of(0, 0), of(4, 1)), output)
    head, _ = unpacked(output.text)
    assert (head["kind"], len(head["versions"])) == ("history", 2)
    with pytest.raises(NotFoundError, match="no metric that all of them have"):
        FlamegraphView().render(profiles.subject(of(0, 0), of(0, 0)), FakeOutput())


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
    texts = [*head["names"], *head["files"], *(metric["name"] + metric["unit"] for metric in head["metrics"])]
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
    from_ids = unpacked(written(replace(profile, sources=("a" * 40, "b" * 40)), name="saved.perf"))[0]
    assert from_ids["sides"] == ["aaaaaaaaaa", "bbbbbbbbbb"]
    assert unpacked(written(profile, name="saved.perf"))[0]["sides"] == ["baseline", "target"]
    assert "baseline 1@p, target 2@p; samples: 3 → 3, ±0" in written(profile, name="1@p -> 2@p")
