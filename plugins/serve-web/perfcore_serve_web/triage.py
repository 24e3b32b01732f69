"""Decisions about changes, as forms of the pages send them: `perf check triage` by other means."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfcore.errors import UsageError

if TYPE_CHECKING:
    from perfcore_site_kit.site import Site

    from perfcore_serve_web.site_cache import SiteCache

_DIGITS = frozenset("0123456789abcdef")


async def decide(form: Mapping[str, str], sites: SiteCache) -> None:
    """Write the decision of a form. UsageError for one that lacks what it needs."""
    change = form.get("change", "")
    if not change or not set(change) <= _DIGITS:
        raise UsageError("the form names no change")
    state, why, fixed_in = (form.get(name, "").strip() for name in ("state", "why", "fixed_in"))
    until = re.sub(r"\s+%", "%", form.get("until", "")).split()  # as `+8 %` is written everywhere

    def write(site: Site) -> None:
        from perfcore_command_ack import triage

        found = [found for _, found in site.branch.changes]  # which no check may have stored
        triage.decide(site.repository, [change], state, why=why, fixed_in=fixed_in, until=until, found=found)

    await asyncio.wrap_future(sites.call(write))
    sites.look()
