"""The options of the driver, imported where one is set."""

from __future__ import annotations

from typing import Annotated

from perfcore.model.record import Record
from perfcore.settings import OptionInfo


class GitSettings(Record, frozen=True, kw_only=True):
    """Options of the driver."""

    initial_branch: Annotated[
        str | None, OptionInfo("First branch of a new repository; git's own default if unset.")
    ] = None
    filters: Annotated[
        tuple[str, ...],
        OptionInfo("Filters that may run although the repository's own git configuration sets them.", metavar="NAME"),
    ] = ()
