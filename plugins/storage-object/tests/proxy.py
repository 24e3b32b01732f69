"""A server between a bucket and those who ask it, which passes everything on."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

from perfcore_testing.http_server import serving

Change = Callable[[bytes], bytes]
_PASSED = ("ETag", "Last-Modified", "Content-Type", "Content-Range", "Accept-Ranges")


def passing(
    upstream: str, *, note: Callable[[str, str], object] = lambda command, path: None, change: Change = bytes
) -> contextlib.AbstractContextManager[str]:
    """It notes the method and path of every request before it is passed on, and changes listings."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def _pass(self) -> None:
            note(self.command, self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
            # As they were written: the server knows its headers by their capitals.
            headers = {name: text for name, text in self.headers.items() if name.lower() != "connection"}
            connection = http.client.HTTPConnection(upstream.removeprefix("http://"))
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            status, fields, content = answer.status, answer.headers, answer.read()
            connection.close()
            if "list-type" in self.path:
                content = change(content)
            self.send_response(status)
            for name in _PASSED:
                if name in fields:
                    self.send_header(name, fields[name])
            length = fields.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
            self.send_header("Content-Length", length)
            with contextlib.suppress(OSError):  # whoever asked may have been killed
                self.end_headers()
                self.wfile.write(content)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _pass  # noqa: N815

    return serving(Handler)
