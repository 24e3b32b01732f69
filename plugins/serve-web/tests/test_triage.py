"""A change is decided about by the form of its page, and by nothing else."""

from __future__ import annotations

import html
import re
import urllib.parse

from perfcore_testing.measured import slow_and_steady
from perfcore_testing.project import Project

from .conftest import Served, running


def test_a_decision_is_written_and_seen_at_once(project: Project) -> None:
    slow_and_steady(project)
    with running(project, "--allow-triage") as server:
        cookie = server.cookie()
        path = "/" + html.unescape(re.findall(r'href="(change/[^"]*)"', server.ask("/changes", cookie=cookie).text)[0])
        assert _decided(server, cookie, path, state="accepted", why="it is <b>safer</b>") == 303
        page = server.ask(path, cookie=cookie).text
        assert "accepted by Tester" in page
        assert "it is &lt;b&gt;safer&lt;/b&gt;" in page
        assert "it is <b>safer" not in page
        assert _decided(server, cookie, path, state="accepted", why="") == 400
        assert _decided(server, cookie, path, state="fixed", why="", fixed_in="no such version") != 303
        assert _decided(server, cookie, path, state="new") == 303
    assert project.perf("check", "ack", "--list", "--json").json["accepted"] == []


def _decided(server: Served, cookie: str, path: str, **fields: str) -> int:
    page = server.ask(path, cookie=cookie).text
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    return server.ask(
        path,
        method="POST",
        cookie=cookie,
        body=urllib.parse.urlencode({**hidden, **fields}),
        Origin=f"http://{server.host}",
        Content_Type="application/x-www-form-urlencoded",
    ).status
