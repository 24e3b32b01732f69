"""The server: a socket, the application, and uvicorn between them."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

import attrs

from perfcore.errors import PerfError, UsageError
from perfcore.text import brief
from perfcore_serve_web.session import ServerSession

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository

_WAITING = 64  # connections that wait to be accepted
_ANY = ("0.0.0.0", "::")
# Seconds: an event stream of a page never ends by itself, and Ctrl-C has to.
_GRACE = 1


@attrs.frozen(kw_only=True)
class Serving:
    """What the user asked for. `names` are those of this machine for browsers elsewhere; without any, only this machine
    is served. `head` is where the branch ends, `writable` whether pages may write."""

    host: str = "127.0.0.1"
    port: int = 0
    names: tuple[str, ...] = ()
    head: str | None = None
    writable: bool = False

    def session(self, port: int) -> ServerSession:
        """A session of a server at this port."""
        names = {self.host, *self.names, "localhost"} - set(_ANY)
        hosts = {f"{_in_url(name)}:{port}".lower() for name in names}
        hosts |= {_in_url(name).lower() for name in names if port == 80}
        return ServerSession(port=port, hosts=frozenset(hosts), url_host=_in_url((*self.names, self.host)[0]))


def listen(options: Serving) -> socket.socket:
    """A socket that listens. UsageError for an address of another machine's network that is not allowed, PerfError for
    one that cannot be had."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if options.host == "localhost" else options.host)
    except ValueError:
        raise UsageError(f"--host takes an IP address, not {brief(options.host)}", hint="127.0.0.1") from None
    if not address.is_loopback and not options.names:
        raise UsageError(
            f"{address} is reached by other machines, which would see this history",
            hint="--allow-remote NAME names this machine as their browsers do; better: ssh -L",
        )
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((str(address), options.port))
        listener.listen(_WAITING)
    except OSError as error:
        listener.close()
        raise PerfError(
            f"nothing can listen at {address}:{options.port}: {error.strerror}", hint="--port 0 takes a free port"
        ) from error
    return listener


def run(repository: Repository, options: Serving, session: ServerSession, listener: socket.socket) -> None:
    """Serve until the process is interrupted."""
    import uvicorn

    from perfcore_serve_web.application import Application
    from perfcore_serve_web.site_cache import SiteCache

    with SiteCache(repository, options.head) as sites:
        application = Application(sites, session, writable=options.writable)
        config = uvicorn.Config(
            application,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=_GRACE,
            h11_max_incomplete_event_size=65_536,
            ws="none",
        )
        uvicorn.Server(config).run(sockets=[listener])


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
