"""What holds for a driver of any kind: it fits the specification, and its options survive being stored."""

from __future__ import annotations

import inspect
import json
from typing import Any

from perfcore.hookspecs import KINDS
from perfcore.plugins import settings_of
from perfcore.settings import options_of, structure, to_params


def misfits(kind: str, driver: Any) -> list[str]:
    """Why a driver would be refused as one of this kind; empty where it fits.

    A method may leave out arguments at the end of the specification's, and adds none; each option says what it
    is for, and the options of a profile (JSON) make the same settings again.
    """
    found = [problem for method in KINDS[kind].methods for problem in _method(kind, method, driver)]
    settings = settings_of(type(driver))
    return found + (_settings(settings) if settings else [])


def _method(kind: str, method: str, driver: Any) -> list[str]:
    if not callable(getattr(driver, method, None)):
        return [f"there is no {method}"] if method in KINDS[kind].required else []
    wanted = list(inspect.signature(getattr(KINDS[kind].protocol, method)).parameters)
    wanted = [name for name in wanted if name not in ("self", "cls")]
    given = list(inspect.signature(getattr(driver, method)).parameters)
    return [] if given == wanted[: len(given)] else [f"{method} takes {given}, not {wanted}"]


def _settings(settings: type[Any]) -> list[str]:
    options = options_of(settings)
    found = [f"option {option.name} does not say what it is for" for option in options if not option.info.help]
    if not any(option.required for option in options):
        stored = json.loads(json.dumps(to_params(settings())))
        if structure(settings, stored, where="stored options") != settings():
            found.append("the options of a profile do not make the same settings again")
    return found
