"""`perf collect NAME [OPTION]... [--] COMMAND` with options of the schedule and the collector alone, unparsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfcore.cli import plain_options
from perfcore.cli.console import Console
from perfcore.cli.summary_table import measure
from perfcore.config import settings
from perfcore.config.settings import Option
from perfcore.measure import commands
from perfcore.measure.request import MeasureRequest, configured_build, working_directory
from perfcore.measure.schedule import Schedule, split_options
from perfcore.model import Step
from perfcore.model.record import replace
from perfcore.plugins.drivers import guard, settings_of
from perfcore.plugins.installed import PluginInfo

PARSED = {
    *("-P", "-c", "-e", "-h", "-p", "-v", "-w", "--add", "--all", "--command", "--continue", "--cwd", "--dry-run"),
    *("--env", "--every", "--executor", "--help", "--json", "--last", "--missing", "--no-build", "--param"),
    *("--postprocess", "--rebuild", "--shell", "--since", "--tags", "--until", "--version", "--workload"),
}
"""What collectors have no options of, and what is left to the parser."""


def show(console: Console, collector: str, words: Sequence[str]) -> bool:
    """Measure the command of these words. False, and nothing is done, where the parser has to look at them."""
    options = options_of(*console.plugins.load("collector", collector))
    spellings = "/".join("/".join(option.spellings) for option in options).split("/")
    if len(PARSED.union(spellings)) < len(PARSED) + len(spellings):  # which is an error of the collector
        return False
    plain = {flag: (o.name, str) for o in options if not o.many and o.type is not bool for flag in o.spellings}
    values, argv = plain_options(words, plain) or ({}, [])
    if not argv:
        return False
    repository = console.repository
    schedule, params = split_options({o.name: values[o.name] for o in options if o.name in values})
    directory, step = working_directory(repository), Step(name=collector, params=params)
    job = replace(commands.job(argv), cwd=directory, collector=step)
    request = MeasureRequest(jobs=(job,), schedule=schedule, building=configured_build(repository))
    measure(console, repository, request, as_json=False)
    return True


def options_of(found: PluginInfo, driver: type[Any]) -> list[Option]:
    """Those of the schedule, with the defaults that the collector has for them, and its own."""
    own = settings_of(driver)
    with guard(found, "schedule"):
        defaults = dict(getattr(driver, "schedule", {}))
    schedule = [o._replace(default=defaults.get(o.name, o.default)) for o in settings.options_of(Schedule)]
    return [*schedule, *(settings.options_of(own) if own else ())]
