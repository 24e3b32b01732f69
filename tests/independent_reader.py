"""Reads a `.perf` folder. Written from docs/formats.md alone: the standard library, and nothing of perfcore.

    for version, entry in entries(Path(".perf")):
        profile = read_profile(Path(".perf"), entry["profile"])
        print(version, entry["name"], profile["tables"]["resources"]["wall"])

A table is a dict of lists; None is a missing value.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

Table = dict[str, list[Any]]
Record = dict[str, Any]
Take = Callable[[int | None], bytes]

WORDS = ("type", "cmd", "args", "workload", "collector")
ITEMS = {"i64": "q", "u64": "Q", "f64": "d", "bool": "?", "str": "I"}


def check(right: object, what: str) -> None:
    if not right:
        raise ValueError(f"damaged: {what}")


def stored_keys(perf: Path) -> dict[str, Callable[[], bytes]]:
    """For each key below `objects/`, without slashes, what reads its bytes."""
    keys: dict[str, Callable[[], bytes]] = {}
    for path in (perf / "packs" / "objects").glob("*.pack"):
        keys.update(packed_keys(path))
    return {**keys, **{path.parent.name + path.name: path.read_bytes for path in (perf / "objects").glob("??/*")}}


def packed_keys(path: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    data = path.read_bytes()
    magic, version = struct.unpack_from("<4sI", data)
    rows, blocks, digest = struct.unpack("<II20s", data[-28:])
    check(magic == b"ppck" and hashlib.sha1(data[:-20]).hexdigest() == digest.hex() == path.stem, "pack")
    check(version in (1, 2, 3), "made by a newer perfcore")
    table = [struct.unpack_from("<QQ", data, len(data) - 28 - 16 * (blocks + 1 - n)) for n in range(blocks + 1)]
    size = 41 if version < 3 else 20
    first_row = len(data) - 28 - 16 * (blocks + 1) - size * rows
    whole = [data[first_row + size * number :][:size] for number in range(rows)]
    end = first_row - (2056 if version > 2 else 0)
    checks = struct.unpack_from("<256I", data, end - 1024) if version > 1 else (None,) * 256
    fan_out = struct.unpack_from("<256I", data, end - (2048 if version > 1 else 1024))
    streams = struct.unpack_from("<257Q", data, end) if version > 2 else (0,) * 257
    fields = [row[20:] for row in whole] if version < 3 else []
    check(fan_out[-1] == rows and whole == sorted(whole), "rows of a pack")
    for first, crc in enumerate(checks):
        of_first = whole[fan_out[first - 1] if first else 0 : fan_out[first]]
        stream = data[streams[first] : streams[first + 1]]
        check({row[0] for row in of_first} <= {first}, "rows of a pack")
        check(crc in (None, zlib.crc32(b"".join(of_first) + stream)), "rows of a pack")
        if version > 2:
            joined = zlib.decompress(stream) if stream else b""
            fields += [joined[number :: len(of_first)] for number in range(len(of_first))]
    gone = path.with_suffix(".gone").read_bytes() if path.with_suffix(".gone").exists() else bytes(rows)

    def read(position: int, length: int, level: int) -> bytes:
        block = max(n for n in range(blocks) if table[n][0] <= position)
        content = zlib.decompress(data[table[block][1] : table[block + 1][1]])[position - table[block][0] :][:length]
        return zlib.compress(content, level) if 0 < level < 10 else content + hashlib.sha1(content).digest()[:level]

    for number, row in enumerate(whole):
        if gone[number] != 255:
            position, length, _, _, level = struct.unpack("<QIIIB", fields[number])
            yield row[:20].hex(), partial(read, position, length, level)


def read_object(perf: Path, id: str) -> tuple[str, str, bytes]:
    stored = stored_keys(perf)[id]()
    inflater = zlib.decompressobj()
    start = inflater.decompress(stored, 300)
    kind, type, length = start.partition(b"\0")[0].decode().split(" ")
    size = len(f"{kind} {type} {length}\0") + int(length)
    whole = start + (
        inflater.decompress(inflater.unconsumed_tail, size - len(start) + 1) if size >= len(start) else b""
    )
    check(int(length) <= 268_435_456 and len(whole) == size, id)
    check(inflater.eof and not inflater.unused_data and hashlib.sha1(whole).hexdigest() == id, id)
    return kind, type, whole[-int(length) or len(whole) :]


def read_profile(perf: Path, id: str) -> Any:
    kind, type, content = read_object(perf, id)
    profile = parse_profile(perf, content)
    check((kind, type) == ("profile", profile["header"]["type"]) and "origin" not in profile, id)
    return profile


def parse_profile(perf: Path, content: bytes) -> Any:
    profile = json.loads(content)
    check(profile["format"] == 1, "made by a newer perfcore")
    if "seal" in profile or "sha1" in profile:
        body, comma, _ = content.rpartition(b',"sha1":')
        check(comma and profile["seal"] == "sha1" and hashlib.sha1(body).hexdigest() == profile["sha1"], "seal")
    profile["tables"] = {name: read_table(perf, table) for name, table in profile.get("tables", {}).items()}
    return profile


def read_table(perf: Path, table: Any) -> Table:
    columns = {column["name"]: inline_values(column) for column in table.get("columns", ())}
    for ids in (table.get("pieces", ()), table.get("beside", ())):
        before: list[tuple[str, int]] = []
        for id in ids:
            kind, _, content = read_object(perf, id)
            rows, base, piece = read_piece(content)
            expected = {"id": before[-1][0] if before else "", "rows": sum(rows for _, rows in before)}
            check(kind == "table" and base in (None, expected), id)
            before.append((id, rows))
            for name, values in piece.items():
                columns.setdefault(name, []).extend(values)
    check(all(len(values) == table["rows"] for values in columns.values()), "rows")
    return columns


def read_stack(tables: dict[str, Any], stack: int | None) -> list[tuple[str, str, int | None]]:
    """The frames of a stack, outermost first: (name, file, line)."""
    frames = []
    while stack is not None:
        frame = tables["stacks"]["frame"][stack]
        function, offset = (tables["frames"][name][frame] for name in ("function", "offset"))
        name, file, first = (tables["functions"][name][function] for name in ("name", "file", "line"))
        frames.append((name, file, None if offset is None else (first or 0) + offset))
        stack = tables["stacks"]["parent"][stack]
    return frames[::-1]


def inline_values(column: Any) -> list[Any]:
    return [number(v) if column["dtype"] == "f64" and v is not None else v for v in column["values"]]


def number(value: Any) -> float:
    if isinstance(value, str) and value.startswith("nan:"):
        (unusual,) = struct.unpack(">d", bytes.fromhex(value[4:]))
        return float(unusual)
    return float(value)


def read_piece(content: bytes) -> tuple[int, Any, Table]:
    (length,) = struct.unpack_from("<I", content)
    head, place = json.loads(content[4 : 4 + length]), 4 + length
    check(head["format"] in (1, 2, 3), "made by a newer perfcore")
    rows: int = head["rows"]
    columns: Table = {}
    for column in head["columns"]:
        relative, width, count = column.get("relative"), len(column["planes"]), rows
        unusual = [True] * rows
        if relative and relative.get("usual") is not None:
            unusual = [bool(content[place + i // 8] >> i % 8 & 1) for i in range(rows)]
            place, count = place + (rows + 7) // 8, sum(unusual)
        items = bytearray(count * width)
        for k, constant in enumerate(column["planes"]):
            if constant is None:
                items[k::width] = content[place : place + count]
                place += count
            else:
                items[k::width] = bytes([constant]) * count
        places = column.get("decimals")
        kind = ITEMS[column["dtype"]] if places is None else "q"
        values: list[Any] = list(struct.unpack(f"<{count}{kind}", items))
        if relative:
            stored = iter(values)
            values = absolute(relative, [next(stored) if here else relative["usual"] for here in unusual])
        if places is not None:
            values = [value / 10**places for value in values]
        there = [True] * rows
        if column.get("valid"):
            there = [bool(content[place + i // 8] >> i % 8 & 1) for i in range(rows)]
            place += (rows + 7) // 8
        if column["dtype"] == "str":
            values = [column["dictionary"][code] if here else None for code, here in zip(values, there, strict=True)]
        columns[column["name"]] = [value if here else None for value, here in zip(values, there, strict=True)]
    check(place == len(content), "the piece holds more or less than it says")
    return rows, head.get("base"), columns


def absolute(relative: Any, items: list[int]) -> list[int]:
    """The values of a column whose items are relative to their row, or to the value before."""
    values: list[int] = []
    for row, item in enumerate(items):
        before = values[-1] if values else relative.get("start", 0)
        values.append(item + relative.get("least", 0) + (row if relative["to"] == "row" else before))
    return values


def key_of(vcs: str, version: str) -> str:
    if len(version) == 40 and set(version) <= set("0123456789abcdef"):
        return version
    return hashlib.sha1(f"{vcs}\0{version}".encode()).hexdigest()


def entries(perf: Path) -> Iterator[tuple[str, Record]]:
    """(version, entry) of everything registered and not taken off."""
    for id, read in sorted(stored_keys(perf).items()):
        data = read()
        if data[:4] == b"pidx":
            version, found = read_index(data)
            yield from ((version or id, entry) for entry in found if not entry["tombstone"])


def read_index(data: bytes) -> tuple[str | None, list[Record]]:
    payload = data[:-20]
    check(hashlib.sha1(payload).digest() == data[-20:], "index")
    _, format, count = struct.unpack_from("<4sII", payload)
    take = taker(payload, 12)
    if format == 1:
        return None, [old_entry(take) for _ in range(count)]
    check(format in (3, 4), "made by a newer perfcore")
    _, version = text(take), text(take)
    descriptions: list[Record] = []
    found = [new_entry(take, descriptions if format > 3 else None) for _ in range(count)]
    check(take(None) == b"", "index")
    check(found == sorted(found, key=lambda e: (e["created"], e["profile"])), "index")
    return version, found


def taker(data: bytes, place: int) -> Take:
    def take(size: int | None) -> bytes:
        nonlocal place
        place, start = (len(data) if size is None else place + size), place
        check(place <= len(data), "cut short")
        return data[start:place]

    return take


def u32(take: Take) -> int:
    (value,) = struct.unpack("<I", take(4))
    return int(value)


def text(take: Take) -> str:
    return take(u32(take)).decode()


def old_entry(take: Take) -> Record:
    seconds, profile, name = u32(take), take(20).hex(), b""
    while not name.endswith(b"\0"):
        name += take(1)
    return {"created": seconds * 10**9, "profile": profile, "name": name[:-1].decode(), "tombstone": False}


def new_entry(take: Take, descriptions: list[Record] | None) -> Record:
    flags, created, profile, tables = struct.unpack("<Bq20sI", take(33))
    check(flags in (0, 1), "made by a newer perfcore")
    entry: Record = {"tombstone": bool(flags), "created": created, "profile": profile.hex()}
    entry["tables"] = [take(20).hex() for _ in range(tables)]
    entry["name"] = text(take)
    if descriptions is None:
        return entry | description(take)
    number = u32(take)
    if number == len(descriptions):
        descriptions.append(description(take))
    check(number < len(descriptions), "description")
    return entry | descriptions[number]


def description(take: Take) -> Record:
    fields: Record = {word: text(take) for word in WORDS}
    fields |= {many: [text(take) for _ in range(u32(take))] for many in ("postprocessors", "tags")}
    return fields | {"config_id": text(take), "environment_id": text(take)}


def notes(perf: Path, subject: str) -> list[tuple[str, bytes]]:
    id = hashlib.sha1(f"note\0{subject}".encode()).hexdigest()
    data = stored_keys(perf)[id]()
    check(data[:8] == b"nidx\1\0\0\0" and hashlib.sha1(data[:-20]).digest() == data[-20:], "notes")
    ids = [data[12 + 20 * i : 32 + 20 * i].hex() for i in range(struct.unpack_from("<I", data, 8)[0])]
    return [read_object(perf, id)[1:] for id in ids]
