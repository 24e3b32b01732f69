"""What holds for a driver of any kind: it fits the specification, and its options survive being stored."""

from __future__ import annotations

import json
from typing import Any

from perfcore.config.settings import options_of, structure, to_params
from perfcore.hookspecs import KINDS
from perfcore.plugins import drivers
from perfcore.plugins.drivers import settings_of


def misfits(kind: str, driver: Any) -> list[str]:
    """Why a driver would be refused as one of this kind, or be of little use: empty where it fits.

    Its methods have the specification's arguments, each option says what it is for, and the options of a profile
    (JSON) make the same settings again.
    """
    missing = [m for m in KINDS[kind].required if not callable(getattr(driver, m, None))]
    settings = settings_of(type(driver))
    return [
        *(f"there is no {method}" for method in missing),
        *drivers.misfits(KINDS[kind], driver),
        *(_settings(settings) if settings else ()),
    ]


def _settings(settings: type[Any]) -> list[str]:
    options = options_of(settings)
    problems = [f"option {option.name} does not say what it is for" for option in options if not option.info.help]
    if not any(option.required for option in options):
        stored = json.loads(json.dumps(to_params(settings())))
        if structure(settings, stored, where="stored options") != settings():
            problems.append("the options of a profile do not make the same settings again")
    return problems
