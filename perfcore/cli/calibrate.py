"""`perf check --calibrate`: what the checks can see here."""

from __future__ import annotations

import time
from collections.abc import Sequence

import attrs

from perfcore.analysis import checks, history
from perfcore.analysis import pairing as pairings
from perfcore.analysis import series as histories
from perfcore.analysis.calibration import replay as calibration
from perfcore.analysis.calibration import sensitivity
from perfcore.analysis.calibration.sensitivity import LABEL, Calibrated, Calibration, of_pairs, per_thousand, sees
from perfcore.analysis.checks import CheckOptions
from perfcore.cli.console import Console
from perfcore.errors import NotFoundError, StorageError
from perfcore.text import align, clip, plural, printable

SCHEMA = 1


def calibrate(console: Console, how: CheckOptions, *, store: bool, as_json: bool) -> None:
    """Try the checks on the history of the branch, print what they see, and keep it for `status`. Where a check that
    compares two versions is tried, that of histories says which of them differ."""
    repository = console.repository
    scan = checks.scanning(repository, how)
    stretches = scan or (checks.scanning(repository, attrs.evolve(how, method=None)) if how.method else None)
    lines = histories.config_histories(repository, repository.version())
    found = history.select_series(repository, [line for line in lines if len(line.versions) > 1])
    if not found:
        raise NotFoundError(
            "no command was measured for two versions: there is nothing to try the checks on",
            hint="perf collect time --all --add -- COMMAND",
        )
    if stretches is not None:
        found = history.scan_series(repository, found, stretches, pairings.thresholds_of(repository))
    results = calibration.calibrate(repository, found, scan, None if scan else how.method, console.progress)
    console.clear_progress()
    if store:
        try:
            made = Calibration(time=time.time_ns(), results=tuple(results), method=how.method or "")
            sensitivity.keep(repository.store, made)
        except StorageError as error:
            console.warn(f"the result is not kept: {error.message}")
    if as_json:
        console.json({"schema": SCHEMA, "calibration": [attrs.asdict(each) for each in results]})
    else:
        _print(console, results, untried="not tried" if scan is None else "too short")
    if stretches is None:
        console.say("note: no check of histories says where it changed, so that real changes count as false alarms")
    elif short := sum(len(one.line.versions) < history.SHORT for one in found if one.primary):
        which = f"the history of {plural(short, 'command')} is too short"
        console.say(f"note: {which} to know where it changed, so that real changes count as false alarms")


def _print(console: Console, results: Sequence[Calibrated], untried: str) -> None:
    rows: list[tuple[str, ...]] = [
        ("command", "metric", "one version sees", "false alarms", "a history sees", "false alarms in 1,000")
    ]
    for each in sorted(results, key=lambda each: not each.primary):
        single, many = each.single, each.history
        rows.append(
            (
                clip(printable(each.label), LABEL),
                printable(each.metric) + ("" if each.primary else " *"),
                sees(single) if single else "",
                of_pairs(single) if single else "too few",
                sees(many) if many else "",
                per_thousand(many) if many else untried,
            )
        )
    for line in align(rows, right=(2, 3, 4, 5)):
        console.line(line)
    if any(not each.primary for each in results):
        console.line()
        console.line("* fails no build unless --fail-on names it")
