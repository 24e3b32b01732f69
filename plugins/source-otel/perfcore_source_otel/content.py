"""The digest of what a profile says, which does not depend on the tables that it shares with others in a message."""

from __future__ import annotations

import hashlib

from perfcore_fleet_kit.stack_tree import ROOT
from perfcore_fleet_kit.union import TreeColumns

from perfcore.hookspecs import Segment


def digest(segment: Segment) -> str:
    """SHA-1 of the time and the labels of a segment, and of its samples with their labels and frames."""
    tables = segment.profile.tables
    tree = TreeColumns.of(tables)
    frames = [
        repr((*tree.functions[function], offset)).encode("utf-8", "surrogatepass") for function, offset in tree.frames
    ]
    stacks: list[bytes] = []
    for parent, frame in zip(tree.parents, tree.node_frames, strict=True):
        above = b"" if parent == ROOT else stacks[parent]
        stacks.append(hashlib.sha1(above + frames[frame], usedforsecurity=False).digest())
    rows = tables["resources"]
    samples = sorted(
        (segment.parts[part_number].labels, b"" if stack is None else stacks[int(stack)], amount)
        for stack, amount, part_number in zip(rows["stack"], rows["samples"].data, rows["part"].data, strict=True)
    )
    labels, sampling = sorted(segment.labels.items()), segment.profile.collector.sampling
    times = (segment.begin, segment.end) if segment.clock == "samples" else ()  # else it is that of a copy
    text = repr((times, labels, sampling, samples))
    return hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
