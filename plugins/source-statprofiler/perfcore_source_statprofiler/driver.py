"""The source `statprofiler`: traces of Perl programs as Devel::StatProfiler writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

from perfcore.errors import FormatError
from perfcore.hookspecs import Segment
from perfcore.settings import option
from perfcore_source_statprofiler.packets import MAGIC
from perfcore_source_statprofiler.segments import Batch
from perfcore_source_statprofiler.slow_ops import SLOW_OPS


@attrs.frozen(kw_only=True)
class StatprofilerSettings:
    slow_ops: tuple[str, ...] = option(
        tuple(sorted(SLOW_OPS)), help="Operations that get a frame of their own, CORE::OP.", identity=True
    )


class StatprofilerSource:
    """Traces of Devel::StatProfiler, a sampling profiler of Perl.

    A trace that ends early, or is damaged further behind, gives its samples up to there and is not whole.
    """

    Settings = StatprofilerSettings
    contract = "perfcore_source_statprofiler.contract:StatprofilerContract"

    def __init__(self, settings: StatprofilerSettings | None = None) -> None:
        self._slow_ops = frozenset((settings or StatprofilerSettings()).slow_ops)

    def sniff(self, head: bytes, name: str) -> bool:
        return head.startswith(MAGIC)

    def read(self, paths: Iterable[Path], position: str) -> Iterator[Segment | tuple[Path, FormatError]]:
        """The segment of each trace. A trace is read as a whole each time: there is no position."""
        batch = Batch(self._slow_ops)
        for path in paths:
            try:
                batch.add(path)
            except FormatError as error:
                yield path, error
            except OSError as error:
                yield path, FormatError(f"cannot be read: {error.strerror}")
            if batch.is_full:
                yield from batch.segments()
                batch = Batch(self._slow_ops)
        yield from batch.segments()
