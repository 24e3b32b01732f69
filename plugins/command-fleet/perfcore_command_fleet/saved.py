"""Conditions on labels as people write them, and what is kept under names: saved queries and metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping

from perfcore_fleet_kit.query import Condition

from perfcore.errors import NotFoundError, UsageError
from perfcore.repository.repository import Repository
from perfcore_command_fleet.named import NamedRecords

_CONDITION = re.compile(r"\s*([^=,]+?)\s*=\s*([^,]*?)\s*")


def parse_where(text: str | None) -> tuple[Condition, ...]:
    """The conditions of `action=checkout,host=web1|web2`."""
    conditions = []
    for part in (text or "").split(","):
        if part.strip():
            match = _CONDITION.fullmatch(part)
            if match is None:
                raise UsageError(f"--where wants LABEL=VALUE[|VALUE], got {part!r}")
            conditions.append((match[1], frozenset(value.strip() for value in match[2].split("|"))))
    return tuple(sorted(conditions, key=lambda condition: condition[0]))


def save_query(repository: Repository, name: str, where: str) -> None:
    """Keep conditions under a name. The newest counts, also of those that other stores have."""
    parse_where(where)
    NamedRecords(repository, "queries").save(name, where=where)


def queries(repository: Repository) -> dict[str, str]:
    """The saved conditions by name."""
    return {name: str(values.get("where", "")) for name, values in NamedRecords(repository, "queries").all().items()}


def query_named(repository: Repository, name: str) -> tuple[Condition, ...]:
    """The conditions of a saved query. NotFoundError for an unknown name."""
    saved = queries(repository)
    if name not in saved:
        raise NotFoundError(f"there is no query '{name}'", hint=f"there are {', '.join(saved) or 'none'}")
    return parse_where(saved[name])


def set_metadata(repository: Repository, values: Mapping[str, str], query: str | None = None) -> None:
    """Set metadata of everything, or of a saved query; an empty value removes one. NotFoundError for a query that is
    not there."""
    if query is not None:
        query_named(repository, query)
    name = _metadata_name(query)
    records = NamedRecords(repository, "metadata")
    joined = {**records.all().get(name, {}).get("values", {}), **values}
    records.save(name, values={key: value for key, value in sorted(joined.items()) if value})


def metadata(repository: Repository, query: str | None = None) -> dict[str, str]:
    """The metadata of everything, for a query with its own in front of them."""
    saved = NamedRecords(repository, "metadata").all()
    names = [_metadata_name(None), *([] if query is None else [_metadata_name(query)])]
    joined = {key: str(value) for name in names for key, value in saved.get(name, {}).get("values", {}).items()}
    return dict(sorted(joined.items()))


def _metadata_name(query: str | None) -> str:
    """A query has its name behind a mark, so that no query is that of everything."""
    return "" if query is None else f"query {query}"
