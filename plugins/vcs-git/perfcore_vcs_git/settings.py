"""The options of the driver, imported where one is set: making a class of attrs takes longer than most questions."""

from __future__ import annotations

import attrs

from perfcore.settings import option


@attrs.frozen
class GitSettings:
    """Options of the driver."""

    initial_branch: str | None = option(None, help="First branch of a new repository; git's own default if unset.")
    filters: tuple[str, ...] = option(
        (), help="Filters that may run although the repository's own git configuration sets them.", metavar="NAME"
    )
