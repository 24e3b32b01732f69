"""Versions by the beginnings of their ids, by which changes name them."""

from __future__ import annotations

from collections.abc import Iterable

SHORT = 10
"""Digits of a version's id in a `Change`."""


def positions(ids: Iterable[str]) -> dict[str, int]:
    """The first position of each version of a list, by the beginning of its id."""
    return {id[:SHORT]: at for at, id in reversed(list(enumerate(ids)))}
