"""What is measured now, as server-sent events: the pending profiles, which a running `perf collect` saves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from perfcore_site_kit import running
from starlette.responses import StreamingResponse

if TYPE_CHECKING:
    from perfcore_site_kit.site import Site
    from starlette.requests import Request

    from perfcore_serve_web.site_cache import SiteCache

_EACH = 1.0  # seconds between two looks
_HEARTBEAT = 15  # looks without news until a comment is sent, by which a closed connection is noticed


def events(request: Request, sites: SiteCache) -> StreamingResponse:
    """An event with all rows, at once and whenever they change."""
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
    return StreamingResponse(_stream(request, sites), media_type="text/event-stream", headers=headers)


async def _stream(request: Request, sites: SiteCache) -> AsyncIterator[str]:
    before, quiet = "", 0
    while not await request.is_disconnected():
        rows = await asyncio.wrap_future(sites.call(_rows))
        text = json.dumps(rows, separators=(",", ":"))
        if text != before:
            yield f"data: {text}\n\n"
            before, quiet = text, 0
        elif (quiet := quiet + 1) % _HEARTBEAT == 0:
            yield ": nothing new\n\n"
        await asyncio.sleep(_EACH)


def _rows(site: Site) -> list[dict[str, Any]]:
    return [row.as_json() for row in running.running(site.repository)]
