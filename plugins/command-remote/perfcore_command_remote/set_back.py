"""A remote that has less than was pushed to it: it was set back to a copy, or shows a part of what it has."""

from __future__ import annotations

import attrs

from perfcore.errors import FormatError
from perfcore.store import index as indexes
from perfcore.store import notes
from perfcore.text import plural
from perfcore_command_remote.holdings import Holdings, decode_index
from perfcore_command_remote.memory import Memory
from perfcore_command_remote.retention import Cutoff


@attrs.frozen
class Pushed:
    """What the last push left, and what the remote does not keep."""

    memory: Memory
    cutoff: Cutoff

    def lacking(self, remote: Holdings, here: Holdings) -> list[str]:
        """What to say of what the remote had after the last push and has no more. What did not change on either side
        is not looked at."""
        profiles = lists = 0
        for key, (ours, theirs) in self.memory.joined.items():
            if here.tag(key) != ours or (remote.tag(key) or "") == theirs:
                continue
            data = here.store.read_key(key) or b""
            there = remote.store.read_key(key) if key in remote.rows else None
            if all(row.tag != ours for row in here.store.storage.list(key)):  # what was read is newer than the push
                continue
            try:
                if notes.is_list(data):
                    kept = set(notes.decode(there, key)) if there is not None else set()
                    lists += not kept.issuperset(notes.decode(data, key))
                elif indexes.is_index(data):
                    profiles += self._profiles(key, data, there)
            except FormatError:  # which is said of the key itself
                continue
        lost = [plural(profiles, "profile")] if profiles else []
        lost += [f"notes of {plural(lists, 'subject')}"] if lists else []
        verb = "was" if profiles + 2 * lists == 1 else "were"
        hint = "it was set back, or lists too little; perf push mends that"
        return [f"the remote lacks {' and '.join(lost)} that {verb} pushed to it: {hint}"] if lost else []

    def _profiles(self, key: str, data: bytes, there: bytes | None) -> int:
        entries = decode_index(key, there).entries if there is not None else ()
        kept = {entry._replace(tombstone=False) for entry in entries}
        return sum(entry not in kept and not self.cutoff.covers(entry) for entry in decode_index(key, data).live)
