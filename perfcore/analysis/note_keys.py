"""The subjects of the notes of checks, and the file of acceptances. A listing looks for these before it imports the
modules that read them."""

from __future__ import annotations

from collections.abc import Iterable

from perfcore.store import index as indexes
from perfcore.store import notes
from perfcore.store.store import Store

CALIBRATION = "calibration"
ACCEPTED = "accepted changes"
ACCEPTED_FILE = ".perf-accepted.yml"
BUCKETS = tuple(f"{index:02x}" for index in range(256))  # by the first byte of a version's id


def bucket(vcs: str, version: str) -> str:
    """The first two digits of a version's key: versions that share them share a list of results."""
    return indexes.key_name(vcs, version)[:2]


def of_bucket(name: str) -> str:
    """The subject of the results of the versions of a bucket."""
    return f"checks of {name}"


def have_results(store: Store, names: Iterable[str]) -> bool:
    """Whether a check left a result on any version of these buckets."""
    return any(notes.exist(store, of_bucket(name)) for name in names)
