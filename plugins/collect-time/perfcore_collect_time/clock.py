"""The clock rate of the CPUs in each run: the table `clock` of a profile, which other collectors write too.

A run counts cycles or takes time at the rate that governor, turbo and temperature allowed, and two sessions may differ
in nothing else. What a machine does not tell is missing; most virtual machines tell nothing, and have no table.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perfcore.named_tuple import NamedTuple
from perfcore.profile.table import ColumnSpec
from perfcore_collect_time.machine import frequency

if TYPE_CHECKING:
    from perfcore.profile.recording import Run, Session

TABLE = "clock"
COLUMNS = (
    ColumnSpec("run", "i64", role="order"),
    ColumnSpec("frequency", "i64", "Hz"),
    ColumnSpec("governor", "str"),
    ColumnSpec("turbo", "bool"),
)


class Clock(NamedTuple):
    """At one moment: the rate of the fastest CPU in Hz, the governors in use, and whether turbo is allowed."""

    frequency: int | None = None
    governor: str | None = None
    turbo: bool | None = None


class ClockReader:
    """Reads the clock of this machine. `root` is where `sys` is."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        folder = root / "sys/devices/system/cpu"
        self._rates = sorted(folder.glob("cpufreq/policy*/scaling_cur_freq"))
        self.known = self.read() != Clock()

    def read(self) -> Clock:
        """Right after a run the fastest CPU is the one that it ran on: idle ones are slower."""
        state = frequency(self._root)
        return Clock(
            frequency=max(filter(None, map(_rate, self._rates)), default=None),
            governor="/".join(state.governors) or None,
            turbo=state.boost,
        )

    def record(self, session: Session, run: Run) -> None:
        """A row for a run that has just ended, where there is anything to tell."""
        if self.known and not run.warmup:
            session.table(TABLE, COLUMNS).add(run=run.index, **self.read()._asdict())


def _rate(path: Path) -> int | None:
    """The kernel tells kHz. A CPU may go offline."""
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) * 1000 if text.isdecimal() else None
