"""The application: every request passes the same gates, and then names a page.

A request never names a file: the path of its URL is looked up among the addresses of pages. GET and HEAD never write;
POST needs the permission to write, the origin of the server itself, and the token of a form that it made.
"""

from __future__ import annotations

import asyncio
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from perfcore_site_kit.page_types import Draft
from perfcore_site_kit.site import Mode
from starlette.requests import Request
from starlette.responses import Response

from perfcore.errors import NotFoundError, PerfError, StorageError, VersionError
from perfcore.text import printable

if TYPE_CHECKING:
    from perfcore_serve_web.session import ServerSession
    from perfcore_serve_web.site_cache import SiteCache

Send = Callable[[Any], Awaitable[None]]
_ALWAYS = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
_PLAIN_POLICY = "default-src 'none'; frame-ancestors 'none'"
_READING = ("GET", "HEAD")
EVENTS = "/events"
ICON = "/favicon.ico"
_FILLED_IN = ("state", "why", "fixed_in", "until")


class RefusedError(Exception):
    """A request that is not answered, with the status and a sentence why."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class Application:
    """An ASGI application for one session of the server."""

    def __init__(self, sites: SiteCache, session: ServerSession, *, writable: bool) -> None:
        self._sites = sites
        self._session = session
        self._mode = Mode(links="server", writable=writable, token=session.form_token if writable else "")

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._response(request)
        except RefusedError as refused:
            response = plain(refused.status, refused.text)
        except (NotFoundError, VersionError) as error:
            response = plain(404, in_sentences(error.message, error.hint))
        except PerfError as error:
            response = plain(500, in_sentences(error.message, error.hint))
        await response(scope, receive, send)

    async def _response(self, request: Request) -> Response:
        self._check_host(request)
        if (token := request.query_params.get("token")) is not None and request.method in _READING:
            return self._exchanged(request, token)
        self._check_cookie(request)
        if request.method == "POST":
            return await self._written(request)
        if request.method not in _READING:
            raise RefusedError(405, "Pages are read by GET.")
        if request.url.path == EVENTS:
            from perfcore_serve_web.live import events

            return events(request, self._sites)
        if request.url.path == ICON:
            return _icon()
        return await self._page(request)

    async def _page(self, request: Request) -> Response:
        address = request.url.path.removeprefix("/")
        if query := request.query_params.get("q"):
            address = f"{address}/{query_part(query)}" if address == "search" else address
        tagged = await asyncio.wrap_future(self._sites.submit(address, self._mode))
        tag = f'"{tagged.tag}"'
        # Without any referrer, browsers send a form with the origin `null`.
        referrer = "same-origin" if self._mode.writable else "no-referrer"
        headers = {
            "ETag": tag,
            "Referrer-Policy": referrer,
            "Content-Security-Policy": f"{tagged.page.policy}; frame-ancestors 'none'",
        }
        if not tagged.is_ready:
            del headers["ETag"]
            waiting = {**headers, "Content-Type": tagged.page.media_type, "Retry-After": "1"}
            return answer(503, tagged.page.content, waiting)
        if tag in request.headers.get("if-none-match", ""):
            return answer(304, b"", headers)
        return answer(200, tagged.page.content, {**headers, "Content-Type": tagged.page.media_type})

    async def _written(self, request: Request) -> Response:
        """A decision about a change, and then its page again."""
        if not self._mode.writable:
            raise RefusedError(403, "This server only reads: perf serve --allow-triage lets pages write.")
        if request.headers.get("origin") != f"http://{request.headers['host']}":
            raise RefusedError(403, "The request comes from another page.")
        form = await form_of(request)
        if not self._session.is_form_token(form.get("form_token", "")):
            raise RefusedError(403, "The form is not of this server: load the page again.")
        from perfcore_serve_web import triage

        try:
            await triage.decide(form, self._sites)
        except PerfError as error:
            return await self._form_again(request, form, error)
        return answer(303, b"", {"Location": request.url.path, "Content-Security-Policy": _PLAIN_POLICY})

    async def _form_again(self, request: Request, form: Mapping[str, str], error: PerfError) -> Response:
        """The page with the form as it was sent, and what is wrong with it."""
        # Options of a command are no hint here: the form has a field for each.
        hint = "" if "--" in (error.hint or "") else error.hint
        sent = {name: form[name] for name in _FILLED_IN if name in form}
        draft = Draft(problem=in_sentences(error.message, hint), **sent)
        address = request.url.path.removeprefix("/")
        page = await asyncio.wrap_future(self._sites.submit_draft(address, self._mode, draft))
        headers = {
            "Referrer-Policy": "same-origin",
            "Content-Security-Policy": f"{page.policy}; frame-ancestors 'none'",
            "Content-Type": page.media_type,
        }
        return answer(500 if isinstance(error, StorageError) else 400, page.content, headers)

    def _check_host(self, request: Request) -> None:
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self._session.answers(hosts[0]):
            raise RefusedError(403, "The server does not answer to this name: use the address that it printed.")

    def _check_cookie(self, request: Request) -> None:
        if not self._session.is_cookie(request.cookies.get(self._session.cookie_name, "")):
            raise RefusedError(403, "Open the address that perf serve printed: it has the token.")

    def _exchanged(self, request: Request, token: str) -> Response:
        """The token for a cookie, and the address without it, which bookmarks and histories may keep."""
        if not self._session.is_token(token):
            raise RefusedError(403, "The token is not of this server: use the address that it printed.")
        # A path of two slashes would be the address of another host.
        path = "/" + urllib.parse.quote(request.url.path.lstrip("/"), safe="/~.-_")
        cookie = f"{self._session.cookie_name}={self._session.cookie}; Path=/; HttpOnly; SameSite=Strict"
        return answer(303, b"", {"Location": path, "Set-Cookie": cookie, "Content-Security-Policy": _PLAIN_POLICY})


def _icon() -> Response:
    """What browsers ask for by themselves, of pages of all views. It waits for no comparison."""
    from perfcore_site_kit.assets import Assets

    headers = {"Content-Type": "image/svg+xml", "Cache-Control": "private, max-age=86400"}
    return answer(200, Assets().icon.encode(), {**headers, "Content-Security-Policy": _PLAIN_POLICY})


_MOST_BYTES = 65_536  # of a form: a decision and its reason


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form. RefusedError where it is no form, or longer than any of ours."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        raise RefusedError(415, "Forms are sent as application/x-www-form-urlencoded.")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BYTES:
            raise RefusedError(413, "The form is too long.")
    try:
        return dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=32))
    except ValueError:
        raise RefusedError(400, "The form cannot be read.") from None


def query_part(text: str) -> str:
    """A search as a part of an address: its bytes in hexadecimal digits."""
    return text.encode("utf-8", "replace")[:400].hex()


def in_sentences(problem: str, hint: str | None) -> str:
    """What failed, and what to do."""
    return printable(f"{'. '.join(filter(None, (problem, hint)))}.")


def plain(status: int, text: str) -> Response:
    """A sentence instead of a page."""
    headers = {"Content-Type": "text/plain; charset=utf-8", "Content-Security-Policy": _PLAIN_POLICY}
    return answer(status, f"{text}\n".encode("utf-8", "backslashreplace"), headers)


def answer(status: int, content: bytes, headers: Mapping[str, str]) -> Response:
    return Response(content, status, {**_ALWAYS, **headers})
