"""Who may ask a server, and by which names.

Loopback is no boundary: every program of every user of the machine reaches it, and so does a page of the Web, by a name
that it binds to 127.0.0.1. So a request needs one of the names that the server is known by, and a cookie that only the
printed address gives. The rules are those of Jupyter's server.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

import attrs

TOKEN_BYTES = 32


@attrs.frozen(kw_only=True)
class ServerSession:
    """The secrets and the names of one run of the server. `hosts` are the values of the header Host that are answered,
    in small letters."""

    port: int
    hosts: frozenset[str]
    url_host: str
    token: str = attrs.field(repr=False, factory=lambda: secrets.token_urlsafe(TOKEN_BYTES))
    _key: bytes = attrs.field(repr=False, factory=lambda: secrets.token_bytes(TOKEN_BYTES))

    @property
    def url(self) -> str:
        """The address with the token, for the user."""
        return f"http://{self.url_host}:{self.port}/?token={self.token}"

    @property
    def cookie_name(self) -> str:
        """Cookies are shared by all ports of a host, so the name has the port."""
        return f"perf-{self.port}"

    @property
    def cookie(self) -> str:
        return self._derived("cookie")

    @property
    def form_token(self) -> str:
        """What every form has that writes: a page of another origin cannot read it."""
        return self._derived("form")

    def answers(self, host: str) -> bool:
        return host.lower() in self.hosts

    def is_token(self, text: str) -> bool:
        return _equal(text, self.token)

    def is_cookie(self, text: str) -> bool:
        return _equal(text, self.cookie)

    def is_form_token(self, text: str) -> bool:
        return _equal(text, self.form_token)

    def _derived(self, purpose: str) -> str:
        return hmac.new(self._key, purpose.encode(), hashlib.sha256).hexdigest()


def _equal(text: str, secret: str) -> bool:
    """Whether both are equal, in a time that tells nothing about the secret."""
    return hmac.compare_digest(text.encode("utf-8", "replace"), secret.encode())
