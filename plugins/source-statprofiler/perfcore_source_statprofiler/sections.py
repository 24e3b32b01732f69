"""Counts of samples by the labels of the sections that they are in."""

from __future__ import annotations

from collections import defaultdict

import attrs
from perfcore_fleet_kit.glue import Labels, combined

from perfcore.hookspecs import Section

Counts = defaultdict[int, int]
MAX_PARTS = 4_096  # sets of labels of one segment; a label with a new value in each request would make as many profiles
MAX_NESTING = 64
MAX_LABELS = 32  # of one section
_MAX_VALUE = 200  # characters
_Key = tuple[int, Labels]


def _counts() -> Counts:
    return defaultdict(int)


@attrs.define
class _Open:
    name: str
    labels: dict[str, str] = attrs.field(factory=dict)
    parts: dict[_Key, Counts] = attrs.field(factory=dict)

    def all_labels(self) -> Labels:
        return (("section", self.name), *sorted(self.labels.items()))


@attrs.define
class Sections:
    """The sections of one segment. `ended` are those of earlier segments that end here, and `base` counts what is in
    no section of this segment, by how many of these had ended before and by labels. `loose` are labels written outside
    of this segment's sections, since the last of `ended`."""

    open: list[_Open] = attrs.field(factory=list)
    ended: list[Section] = attrs.field(factory=list)
    base: dict[_Key, Counts] = attrs.field(factory=dict)
    loose: dict[str, str] = attrs.field(factory=dict)
    dropped: bool = False

    def counts(self) -> Counts:
        """Where samples count from now on, until the next event."""
        parts = self.open[-1].parts if self.open else self.base
        key = (len(self.ended), ())
        counts = parts.get(key)
        if counts is None:
            counts = parts[key] = _counts()
        return counts

    def begin(self, name: str) -> None:
        if len(self.open) < MAX_NESTING:
            self.open.append(_Open(name))
        else:
            self.dropped = True

    def label(self, key: str, value: str) -> None:
        """A label of the innermost section."""
        labels = self.open[-1].labels if self.open else self.loose
        if key in labels or len(labels) < MAX_LABELS:
            labels[key] = value[:_MAX_VALUE]
        else:
            self.dropped = True

    def end(self, name: str) -> None:
        """The end of the innermost section of this name: of this segment, or else of an earlier one."""
        for at in range(len(self.open) - 1, -1, -1):
            if self.open[at].name == name:
                self._close(at)
                return
        if len(self.ended) < MAX_PARTS:
            self.ended.append(Section(name, tuple(sorted(self.loose.items()))))
            self.loose = {}

    def _close(self, at: int) -> None:
        section = self.open.pop(at)
        labels = section.all_labels()
        # Sections that began later and go on were inside of it up to here.
        for inner in self.open[at:]:
            inner.parts = self._labelled(inner.parts, labels, {})
        self._labelled(section.parts, labels, self.open[at - 1].parts if at else self.base)

    def _labelled(self, parts: dict[_Key, Counts], labels: Labels, target: dict[_Key, Counts]) -> dict[_Key, Counts]:
        for (ended, own), counts in parts.items():
            key = (ended, combined(own, labels) if own else labels)
            existing = target.get(key)
            if existing is None and len(target) >= MAX_PARTS:
                self.dropped = True
                key = (ended, labels[:1])
                existing = target.get(key)
            if existing is None:
                target[key] = counts
            else:
                for stack, weight in counts.items():
                    existing[stack] += weight
        return target
