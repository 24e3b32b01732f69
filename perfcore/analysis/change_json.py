"""A change as a document for programs: full ids, kinds without blanks, no number that JSON lacks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import asdict

from perfcore.model import Change


def by_beginning(versions: Iterable[str | None]) -> dict[str, str]:
    """Full ids by the beginning that a change has of them."""
    return {version[:10]: version for version in versions if version}


def kind_word(change: Change) -> str:
    """`cannot-tell`, where the stored kind has a blank."""
    return change.kind.replace(" ", "-")


def full_id(label: str, versions: Mapping[str, str]) -> str:
    """The full id for the baseline or target of a change, which may end in `+dirty`; `pending` stays."""
    beginning, plus, rest = label.partition("+")
    return versions.get(beginning, beginning) + plus + rest


def as_json(change: Change, versions: Mapping[str, str]) -> dict[str, Any]:
    """All fields. JSON has neither NaN nor infinity (RFC 8259, section 6)."""
    values = {
        key: None if isinstance(content, float) and not math.isfinite(content) else content
        for key, content in asdict(change).items()
    }
    ends = {"baseline": full_id(change.baseline, versions), "target": full_id(change.target, versions)}
    return {**values, "kind": kind_word(change), **ends}
