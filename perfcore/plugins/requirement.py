"""Whether a distribution fits the installed core, by the requirement in its metadata.

pip checks this when it installs, but an upgrade of the core alone leaves an old plugin in place. The package
`packaging` would need longer to be imported than all checks take, and it is no dependency of the core.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

CORE = "perfcore-core"
# PEP 508: name, extras, clauses, marker; and clauses of PEP 440 whose versions are plain numbers.
_REQUIREMENT = re.compile(r"\s*([\w.-]+)\s*(?:\[[^]]*])?\s*\(?([^;)]*)\)?\s*(;.*)?", re.ASCII)
_CLAUSE = re.compile(r"\s*(~=|==|!=|<=|>=|<|>)\s*(\d+(?:\.\d+)*)(\.\*)?\s*", re.ASCII)


def misfit(requirements: Iterable[str], version: str) -> str:
    """The requirement on the core that its version does not meet; empty if all are met. Markers and spellings of
    versions that are not plain numbers are left to pip."""
    release = _release(version)
    for requirement in requirements:
        match = _REQUIREMENT.fullmatch(requirement)
        if match is None or match[3] or re.sub(r"[-_.]+", "-", match[1]).lower() != CORE:
            continue
        clauses = [_CLAUSE.fullmatch(clause) for clause in match[2].split(",") if clause.strip()]
        if any(clause and not _meets(release, clause[1], clause[2], bool(clause[3])) for clause in clauses):
            return f"{CORE} {match[2].strip()}"
    return ""


def _release(version: str) -> tuple[int, ...]:
    """The numbers at the front, without zeros at the end: 0.1 and 0.1.0 are one version."""
    match = re.match(r"\d+(?:\.\d+)*", version, re.ASCII)
    numbers = list(map(int, match[0].split("."))) if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _meets(release: tuple[int, ...], operator: str, text: str, prefix: bool) -> bool:
    bound = _release(text)
    digits = text.count(".") + 1
    padded = (*release, *(0,) * digits)[:digits]  # PEP 440: 1.4 is 1.4.0
    bound_prefix = tuple(map(int, text.split(".")))
    if operator in ("==", "!="):
        same = padded == bound_prefix if prefix else release == bound
        return same if operator == "==" else not same
    if operator == "~=":  # PEP 440: ~=1.4.2 is >=1.4.2, ==1.4.*
        return release >= bound and padded[:-1] == bound_prefix[:-1]
    return {"<": release < bound, "<=": release <= bound, ">": release > bound, ">=": release >= bound}[operator]
