"""The generator `lines`: text files of growing size, the same for the same spec on every machine."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from perfcore.errors import UsageError, nearest
from perfcore.settings import option
from perfcore.text import brief, quantity

KEYS = ("lines", "sizes", "seed", "width")
_UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_SIZE = re.compile(r"([0-9]{1,15}) ?([A-Za-z]{0,3})", re.ASCII)
# Letters about as frequent as in text of many words, so that compressors and sorts find neither noise nor repetition: a
# blank for one byte in six, for words of five letters.
_BYTES = bytes(b"      etaoinshrdlcumwfgypbvkjxqzetaoin"[code % 38] for code in range(256))
_BLOCK = 1 << 20  # bytes that are made at a time: few calls, and little memory for the largest file
_MARGIN = 64 << 20  # bytes of the disk that stay free, for the profiles of the measurement


@attrs.frozen
class LinesSettings:
    max_size: int = option(
        1 << 30, unit="B", minimum=1, help="Refuse to make files that are larger than this together."
    )


class Lines:
    """Text files of given numbers of lines or bytes."""

    Settings = LinesSettings
    contract = "perfcore_workload_lines.contract:LinesContract"

    def __init__(self, settings: LinesSettings) -> None:
        self.settings = settings

    def generate(self, spec: Mapping[str, Any], directory: Path) -> Iterator[Path]:
        """A file for each of `lines` (numbers of lines) or `sizes` (bytes, or text such as `10 MiB`)."""
        files = _files(spec)
        seed, width = _number(spec, "seed", 0, 0), _number(spec, "width", 80, 2)
        total = sum(bytes_of(count, unit, width) for count, unit in files)
        self._check(total, directory)
        for count, unit in files:
            yield _write(directory / f"{count}-{unit}.txt", bytes_of(count, unit, width), seed, width)

    def _check(self, total: int, directory: Path) -> None:
        limit, free = self.settings.max_size, shutil.disk_usage(directory).free
        text = f"workload lines: the files have {quantity(total, 'B')}"
        if total > limit:
            raise UsageError(
                f"{text}, more than {quantity(limit, 'B')}",
                hint="the option max_size, such as workload.lines.max_size of the configuration, allows more",
            )
        if total > free - _MARGIN:
            raise UsageError(f"{text}, and the disk has {quantity(free, 'B')} left")


def bytes_of(count: int, unit: str, width: int) -> int:
    """The size of a file; every line has `width` bytes with its end."""
    return count * width if unit == "lines" else count


def _files(spec: Mapping[str, Any]) -> list[tuple[int, str]]:
    """(number, unit) of each file, the smallest first."""
    for key in spec:
        if key not in KEYS:
            raise UsageError(
                f"workload lines: unknown key {brief(key)}", hint=nearest(str(key), KEYS) or f"keys: {', '.join(KEYS)}"
            )
    unit, others = ("sizes", "lines") if "sizes" in spec else ("lines", "sizes")
    if unit not in spec or others in spec:
        raise UsageError("workload lines: give either `lines` or `sizes`, a list", hint="lines: [1000, 10000]")
    values = spec[unit]
    if not isinstance(values, list | tuple) or not values:
        raise UsageError(f"workload lines: {unit} is a list, such as [1000, 10000], got {brief(values)}")
    counts = sorted({_size(value) if unit == "sizes" else _count(value) for value in values})
    return [(count, "bytes" if unit == "sizes" else "lines") for count in counts]


def _count(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise UsageError(f"workload lines: a number of lines is a whole number above 0, got {brief(value)}")
    return value


def _size(value: Any) -> int:
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    size = int(match[1]) * _UNITS.get(match[2], 0) if match else value
    if type(size) is not int or size < 1:
        raise UsageError(
            f"workload lines: a size is a number of bytes above 0, or text such as 10 MiB, got {brief(value)}",
            hint=f"units: {', '.join(unit for unit in _UNITS if unit)}",
        )
    return size


def _number(spec: Mapping[str, Any], key: str, default: int, minimum: int) -> int:
    value = spec.get(key, default)
    if type(value) is not int or not minimum <= value <= 1 << 20:
        raise UsageError(f"workload lines: {key} is a whole number from {minimum} to {1 << 20:,}, got {brief(value)}")
    return value


def _write(path: Path, size: int, seed: int, width: int) -> Path:
    """A larger file of the same seed and width begins with the smaller one, so that only the size differs."""
    numbers = random.Random(seed)  # its bytes are the same in every version of Python
    block = width * max(1, _BLOCK // width)
    with path.open("wb") as file:
        for start in range(0, size, block):
            content = bytearray(numbers.randbytes(block).translate(_BYTES))
            # A block is a whole number of lines, so that lines end in the same columns of each.
            content[width - 1 :: width] = b"\n" * (block // width)
            del content[size - start :]
            if start + block >= size:
                content[-1:] = b"\n"
            file.write(content)
    return path
