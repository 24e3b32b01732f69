"""The measurement of a session of pytest: measured, kept as a pending profile, and compared with the baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from perfcore import environment
from perfcore.errors import NotFoundError, PerfError
from perfcore.library import History, open_repository
from perfcore.measure import runner
from perfcore.model import Job, Plan, Profile, Step
from perfcore.model.record import replace
from perfcore.plugins.registry import Plugins
from perfcore_collect_pytest.collector import WHOLE

if TYPE_CHECKING:
    from perfcore.analysis.check_result import CheckResult
    from perfcore.measure.collect_result import SavedProfile

_NO_REPOSITORY = "there is no performance history here, so nothing is kept or compared: perf init makes one"


@attrs.frozen(kw_only=True)
class SessionResult:
    """What was measured: the `profile`, None if nothing was; where it was kept, and the comparison, where there were
    any. `messages` say what did not work."""

    profile: Profile | None = None
    saved: SavedProfile | None = None
    check: CheckResult | None = None
    messages: tuple[str, ...] = ()

    @property
    def has_regressed(self) -> bool:
        """Whether a change fails the build, by the rules of the project (`check.fail_on`)."""
        return self.check is not None and self.check.degraded


def measure(folder: Path, arguments: str, processes: int) -> SessionResult:
    """Measure the tests that pytest collects in this folder for these arguments, which are one text."""
    messages: list[str] = []
    options: dict[str, Any] = {"arguments": arguments, "repeat": processes, "warmup": 0}
    plugins = Plugins(warn=messages.append)
    try:
        history = open_repository(folder, plugins=plugins)
    except NotFoundError:
        return _without_repository(folder, options, plugins, messages)
    except PerfError as error:
        return SessionResult(messages=(str(error),))
    saved: SavedProfile | None = None
    try:
        (saved,) = history.collect("pytest", [WHOLE], cwd=folder, **options)
        check = _compared(history, saved)
    except PerfError as error:
        profile = saved.profile if saved is not None else None
        return SessionResult(profile=profile, saved=saved, messages=(*messages, str(error)))
    return SessionResult(profile=saved.profile, saved=saved, check=check, messages=tuple(messages))


def _compared(history: History, saved: SavedProfile) -> CheckResult:
    """The comparison without benchmarks that only the baseline has: the user may have selected tests."""
    check = history.check(saved.pending)
    unpaired = [missing for missing in check.unpaired if missing.benchmark in ("", *_benchmarks(saved.profile))]
    return replace(check, unpaired=tuple(unpaired))


def _benchmarks(profile: Profile) -> set[object]:
    return set(profile.tables["resources"]["benchmark"])


def _without_repository(folder: Path, options: dict[str, Any], plugins: Plugins, messages: list[str]) -> SessionResult:
    job = Job(argv=(WHOLE,), cmd=WHOLE, cwd=folder, collector=Step(name="pytest", params=options))
    context = runner.Context(plugins=plugins, machine=environment.facts())
    (measured,) = runner.run(Plan(jobs=(job,)), context)
    error = [str(measured.error)] if measured.error is not None else []
    return SessionResult(profile=measured.profile, messages=(*messages, *error, _NO_REPOSITORY))


__all__ = ["SessionResult", "measure"]
