"""Which processor this is, as /proc/cpuinfo says it: names on x86, numbers on ARM."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs

from perfcore.text import printable

# Numbers of MIDR_EL1, from arch/arm64/include/asm/cputype.h of Linux 6.18.
_IMPLEMENTERS = {
    0x41: "ARM",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "APM",
    0x51: "Qualcomm",
    0x53: "Samsung",
    0x61: "Apple",
    0x6D: "Microsoft",
    0xC0: "Ampere",
}
_PARTS = {
    (0x41, 0xD03): "Cortex-A53",
    (0x41, 0xD04): "Cortex-A35",
    (0x41, 0xD05): "Cortex-A55",
    (0x41, 0xD07): "Cortex-A57",
    (0x41, 0xD08): "Cortex-A72",
    (0x41, 0xD09): "Cortex-A73",
    (0x41, 0xD0A): "Cortex-A75",
    (0x41, 0xD0B): "Cortex-A76",
    (0x41, 0xD0C): "Neoverse-N1",
    (0x41, 0xD0D): "Cortex-A77",
    (0x41, 0xD40): "Neoverse-V1",
    (0x41, 0xD41): "Cortex-A78",
    (0x41, 0xD44): "Cortex-X1",
    (0x41, 0xD46): "Cortex-A510",
    (0x41, 0xD47): "Cortex-A710",
    (0x41, 0xD48): "Cortex-X2",
    (0x41, 0xD49): "Neoverse-N2",
    (0x41, 0xD4D): "Cortex-A715",
    (0x41, 0xD4E): "Cortex-X3",
    (0x41, 0xD4F): "Neoverse-V2",
    (0x41, 0xD80): "Cortex-A520",
    (0x41, 0xD81): "Cortex-A720",
    (0x41, 0xD82): "Cortex-X4",
    (0x41, 0xD84): "Neoverse-V3",
    (0x41, 0xD8E): "Neoverse-N3",
    (0x43, 0x0A1): "ThunderX",
    (0x43, 0x0AF): "ThunderX2",
    (0x46, 0x001): "A64FX",
    (0x48, 0xD01): "TSV110",
    (0x50, 0x000): "X-Gene",
    (0xC0, 0xAC3): "Ampere-1",
}


@attrs.frozen(kw_only=True)
class Processor:
    """`family` and `model` are those of x86; None elsewhere."""

    vendor: str = ""
    family: int | None = None
    model: int | None = None
    name: str = ""


def of_file(path: Path) -> Processor:
    """Of the first CPU; on ARM the name has every kind of core there is."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return Processor()
    cpus = [_fields(block) for block in text.split("\n\n") if block.strip()]
    if not cpus:
        return Processor()
    arm = [cpu for cpu in cpus if "CPU implementer" in cpu]
    if arm:
        names = dict.fromkeys(map(_arm, arm))
        return Processor(vendor=_vendor(arm[0]), name=", ".join(names))
    first = cpus[0]
    return Processor(
        vendor=first.get("vendor_id", ""),
        family=_decimal(first.get("cpu family", "")),
        model=_decimal(first.get("model", "")),
        name=first.get("model name", ""),
    )


def _fields(block: str) -> Mapping[str, str]:
    lines = [line.partition(":") for line in block.splitlines()]
    return {key.strip(): printable(value.strip()) for key, _, value in lines}


def _arm(cpu: Mapping[str, str]) -> str:
    part = _hexadecimal(cpu.get("CPU part", ""))
    name = _PARTS.get((_hexadecimal(cpu["CPU implementer"]), part))
    unknown = f"part {part:#x}" if part >= 0 else "without a part"
    return f"{_vendor(cpu)} {name or unknown}"


def _vendor(cpu: Mapping[str, str]) -> str:
    number = _hexadecimal(cpu["CPU implementer"])
    return _IMPLEMENTERS.get(number, f"implementer {number:#x}")


def _decimal(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _hexadecimal(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        return -1
