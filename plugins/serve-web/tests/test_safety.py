"""The rules of a local server, each tried by real requests to a real one."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import socket
import urllib.parse
from pathlib import Path

import pytest
from perfcore_testing import hostile
from perfcore_testing.project import Project

from .conftest import Served, running


def test_it_listens_at_loopback_only(served: Served) -> None:
    addresses = {
        line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"
    }
    at_port = [address for address in addresses if address.endswith(f":{served.port:04X}")]
    assert at_port == [f"0100007F:{served.port:04X}"]


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1", "localhost:1", "", "127.0.0.1:{port}@evil.example"])
def test_a_host_of_another_name_gets_nothing(served: Served, cookie: str, name: str) -> None:
    answer = served.ask("/", cookie=cookie, Host=name.format(port=served.port))
    assert answer.status in (400, 403)
    assert b"slow" not in answer.body


def test_localhost_is_a_name_of_it(served: Served, cookie: str) -> None:
    assert served.ask("/", cookie=cookie, Host=f"localhost:{served.port}").status == 200


def test_nothing_is_seen_without_the_token(served: Served) -> None:
    for path in ("/", "/changes", "/events", "/search?q=slow", "/no-such-page", "/?token=", "/?token=wrong"):
        answer = served.ask(path)
        assert answer.status == 403
        assert b"slow" not in answer.body
        assert "set-cookie" not in answer.headers
    for wrong in (f"perf-{served.port}=", f"perf-{served.port}={'0' * 64}", "other=1"):
        assert served.ask("/", cookie=wrong).status == 403


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_have(served: Served) -> None:
    address = urllib.parse.urlsplit(served.url)
    answer = served.ask(f"/changes?{address.query}")
    assert (answer.status, answer.headers["location"]) == (303, "/changes")
    cookie = answer.headers["set-cookie"]
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    token = urllib.parse.parse_qs(address.query)["token"][0]
    assert token not in cookie
    assert len(token) > 40


def test_the_exchange_leads_nowhere_else(served: Served) -> None:
    query = urllib.parse.urlsplit(served.url).query
    for path in ("//evil.example/", "/\\evil.example", "/%0d%0aSet-Cookie:x=1", "///evil.example"):
        location = served.ask(f"{path}?{query}").headers["location"]
        assert re.fullmatch(r"/(?!/)[A-Za-z0-9./_~%-]*", location)


def test_the_policy_allows_only_the_script_and_style_of_the_page(served: Served, cookie: str) -> None:
    answer = served.ask("/", cookie=cookie)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "frame-ancestors 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", answer.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"].startswith("private")
    assert "server" not in answer.headers


def test_browsers_get_the_icon_that_they_ask_for(served: Served, cookie: str) -> None:
    assert "; img-src 'self';" in served.ask("/", cookie=cookie).headers["content-security-policy"]
    answer = served.ask("/favicon.ico", cookie=cookie)
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert answer.text.startswith("<svg ")
    assert served.ask("/favicon.ico").status == 403


def test_no_request_writes_where_writing_is_not_allowed(served: Served, cookie: str, measured: Project) -> None:
    before = _files(measured)
    for path in ("/", "/changes", "/measure", "/live", "/plugins", "/contracts", "/search?q=slow"):
        assert served.ask(path, cookie=cookie).status == 200
        assert served.ask(path, cookie=cookie, method="HEAD").body == b""
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
            assert served.ask(path, cookie=cookie, method=method).status == 405
        answer = _posted(served, cookie, path, f"http://{served.host}", {"change": "x", "state": "accepted"})
        assert answer == 403
    assert _files(measured) == before


def test_writing_needs_the_origin_and_the_token_of_a_form(measured: Project) -> None:
    with running(measured, "--allow-triage") as server:
        cookie = server.cookie()
        changes = server.ask("/changes", cookie=cookie).text
        path = "/" + html.unescape(re.findall(r'href="(change/[^"]*)"', changes)[0])
        (token,) = re.findall(r'name="form_token" value="([^"]*)"', server.ask(path, cookie=cookie).text)
        here, fields = f"http://{server.host}", {"change": "x", "state": "accepted", "why": "because"}
        before = _files(measured)
        assert _posted(server, cookie, path, "", {**fields, "form_token": token}) == 403
        assert _posted(server, cookie, path, "null", {**fields, "form_token": token}) == 403
        assert _posted(server, cookie, path, "http://evil.example", {**fields, "form_token": token}) == 403
        assert _posted(server, cookie, path, here, fields) == 403
        assert _posted(server, cookie, path, here, {**fields, "form_token": "0" * 64}) == 403
        assert _posted(server, "", path, here, {**fields, "form_token": token}) == 403
        assert _posted(server, cookie, path, here, {**fields, "form_token": token, "why": "x" * 70_000}) == 413
        wrong_type = server.ask(
            path, method="POST", cookie=cookie, body="{}", Origin=here, Content_Type="application/json"
        )
        assert wrong_type.status == 415
        assert _files(measured) == before


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/..%2f..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/.perf/local.yml",
        "//etc/passwd",
        "/series/..%2f..%2f.perf%2flocal.yml/cpu",
        "/assets/../../.perf/local.yml",
        "/%00",
        "/series/%ff%fe/%",
        "/version/" + "0" * 5000,
        "/change/<script>alert(1)</script>",
        "/search?q=%ff%00<script>",
        "/range/99999999999999999999/a/b",
        "/compare/a..b..c",
        "/diff/a..b/c",
        "/flame/a..b/c",
    ],
)
def test_no_path_reaches_the_file_system(served: Served, cookie: str, path: str) -> None:
    answer = served.ask(path, cookie=cookie)
    assert answer.status in (200, 400, 404)
    assert b"root:" not in answer.body
    assert b"vcs:" not in answer.body
    assert b"<script>alert" not in answer.body


def test_names_are_text_on_every_page(served: Served, cookie: str) -> None:
    overview = served.ask("/", cookie=cookie)
    links = {html.unescape(link) for link in re.findall(r'href="((?:series|change)/[^"]*)"', overview.text)}
    assert len(links) > 20
    for link in ["", "changes", "measure", "plugins", "search?q=script", *sorted(links)[:40:4]]:
        answer = served.ask(f"/{link}", cookie=cookie)
        assert answer.status == 200
        body = re.sub(r"<(script|style)>.*?</\1>", "", answer.text.partition("</title>")[2], flags=re.DOTALL)
        assert not any(tag in body for tag in hostile.TAGS)
        assert hostile.unsafe(body) == set()


def test_a_request_that_is_none_ends_nothing(served: Served, cookie: str) -> None:
    short = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n"
    for junk in (b"\0\0\0\0\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 100_000, short):
        with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
            connection.sendall(junk)
    assert served.ask("/", cookie=cookie).status == 200


def test_an_address_of_other_machines_needs_a_name(measured: Project) -> None:
    done = measured.perf("serve", "--host", "0.0.0.0", "--port", "0", code=None)
    assert done.code != 0
    assert "is reached by other machines" in done.err
    with running(measured, "--host", "0.0.0.0", "--allow-remote", "perf.example") as server:
        assert server.url.startswith(f"http://perf.example:{server.port}/")
        cookie = server.cookie_by(f"perf.example:{server.port}")
        assert server.ask("/", cookie=cookie, Host=f"perf.example:{server.port}").status == 200
        assert server.ask("/", cookie=cookie, Host=f"other.example:{server.port}").status == 403


def test_a_page_that_did_not_change_is_not_sent_again(served: Served, cookie: str) -> None:
    first = served.ask("/changes", cookie=cookie)
    again = served.ask("/changes", cookie=cookie, If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")


def _posted(server: Served, cookie: str, path: str, origin: str, fields: dict[str, str]) -> int:
    headers = {"Content_Type": "application/x-www-form-urlencoded"} | ({"Origin": origin} if origin else {})
    return server.ask(path, method="POST", cookie=cookie, body=urllib.parse.urlencode(fields), **headers).status


def _files(project: Project) -> dict[str, bytes]:
    """All files of the store but caches, which readers may write."""
    folder = project.path / ".perf"
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): path.read_bytes() for path in files if "cache" not in path.relative_to(folder).parts}
