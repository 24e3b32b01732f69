"""Decisions about changes, as forms of the pages send them.

The decision is written by the command `triage` of another distribution; where that is not installed, nothing is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.responses import Response

from perfcore.errors import PluginError

if TYPE_CHECKING:
    from perfcore_site_kit.site import Site
    from starlette.requests import Request

    from perfcore_serve_web.site_cache import SiteCache

COMMAND = "triage"
FIELDS = ("change", "decision", "why", "by")
"""What a form may name; nothing else of it reaches the command."""


async def decided(request: Request, form: Mapping[str, str], sites: SiteCache) -> Response:
    """Write a decision, and lead back to the page of the change."""
    from perfcore_serve_web.application import RefusedError, answer

    arguments = {field: form[field] for field in FIELDS if form.get(field)}

    def write(site: Site) -> None:
        from perfcore.library import History

        History(site.repository).command(COMMAND, **arguments)

    try:
        await asyncio.wrap_future(sites.call(write))
    except PluginError as error:
        raise RefusedError(501, f"{error.message}.") from error
    return answer(303, b"", {"Location": request.url.path})
