"""A change is decided about by the form of its page, and by nothing else."""

from __future__ import annotations

import html
import re
import urllib.parse
from collections.abc import Iterator

import pytest
from perfcore_testing.measured import STEP, slow_and_steady
from perfcore_testing.project import Project, new_repository

from .conftest import Answer, Served, running


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
        assert _decided(server, cookie, path, state="new") == 303
    assert project.perf("check", "ack", "--list", "--json").json["accepted"] == []


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"state": "accepted", "until": "2999-12-31"}, "an acceptance needs a reason"),
        ({"state": "fixed", "why": 'the "cache"'}, "a fix has a version"),
        ({"state": "fixed", "why": "the cache", "fixed_in": "no-such"}, "there is no version 'no-such'"),
        ({"state": "accepted", "why": "r", "until": "2020-01-01"}, "2020-01-01 is over"),
        ({"state": "accepted", "why": "r", "until": "soon!"}, "2026-12-31, +8% or v2.0"),
        ({"state": "new", "why": "a mistake"}, "nothing is decided about the change"),
    ],
)
def test_a_form_that_cannot_be_written_comes_back_with_what_is_wrong(
    waiting: tuple[Served, str, str], fields: dict[str, str], problem: str
) -> None:
    server, cookie, path = waiting
    answer = _sent(server, cookie, path, **fields)
    assert answer.status == 400
    form = answer.text[answer.text.index('role="alert"') :]
    assert problem in html.unescape(form.partition("</p>")[0])
    assert "--" not in form.partition("</p>")[0]  # an option of a command is no help here
    assert f'<option value="{fields["state"]}" selected>' in form
    sent = dict(re.findall(r'<input name="(\w+)"[^>]* value="([^"]*)"', form))
    assert {name: html.unescape(value) for name, value in sent.items() if value} == {
        name: value for name, value in fields.items() if name != "state"
    }
    assert 'role="alert"' not in server.ask(path, cookie=cookie).text


def test_a_size_is_an_end_as_it_is_written_everywhere(waiting: tuple[Served, str, str]) -> None:
    server, cookie, path = waiting
    assert _decided(server, cookie, path, state="confirmed", until="2999-12-31 +800 %") == 303
    assert "confirmed until 2999-12-31 up to 800 %" in server.ask(path, cookie=cookie).text
    assert _decided(server, cookie, path, state="new") == 303


@pytest.mark.parametrize(
    ("state", "sentence"),
    [("false alarm", "which is a false alarm"), ("environment", "which is explained by the environment")],
)
def test_pages_name_the_decision_that_was_made(waiting: tuple[Served, str, str], state: str, sentence: str) -> None:
    server, cookie, path = waiting
    assert _decided(server, cookie, path, state=state, why="a backup ran") == 303
    overview = server.ask("/", cookie=cookie).text
    assert f"=\N{NO-BREAK SPACE}same, {state}" in overview
    series = html.unescape(re.findall(r'href="(series/[^"]*)"', overview)[0])
    assert sentence in server.ask(f"/{series}", cookie=cookie).text
    assert _decided(server, cookie, path, state="new") == 303


def test_decisions_on_a_change_that_had_another_id_are_listed(project: Project) -> None:
    """As one that a comparison of two versions found, and then the history."""
    versions = slow_and_steady(project)
    project.git("checkout", "--quiet", versions[STEP])
    changes = project.perf("check", "--json", code=1).json["changes"]
    (id,) = (change["id"] for change in changes if change["kind"] == "degradation" and change["primary"])
    project.perf("check", "triage", id, "--as", "confirmed", "--why", "seen in CI", "--author", "Carl")
    project.git("checkout", "--quiet", "main")
    with running(project) as server:
        cookie = server.cookie()
        path = "/" + html.unescape(re.findall(r'href="(change/[^"]*)"', server.ask("/changes", cookie=cookie).text)[0])
        page = server.ask(path, cookie=cookie).text
    assert id not in path
    assert re.search(r">Carl</td><td[^>]*>confirmed</td><td[^>]*>seen in CI</td>", page)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str, str]]:
    """A server that lets pages write, a cookie of it, and the page of a change about which nobody decided."""
    project = new_repository(tmp_path_factory.mktemp("waiting"))
    slow_and_steady(project)
    with running(project, "--allow-triage") as server:
        cookie = server.cookie()
        found = re.findall(r'href="(change/[^"]*)"', server.ask("/changes", cookie=cookie).text)
        yield server, cookie, "/" + html.unescape(found[0])


def _decided(server: Served, cookie: str, path: str, **fields: str) -> int:
    return _sent(server, cookie, path, **fields).status


def _sent(server: Served, cookie: str, path: str, **fields: str) -> Answer:
    page = server.ask(path, cookie=cookie).text
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    return server.ask(
        path,
        method="POST",
        cookie=cookie,
        body=urllib.parse.urlencode({**hidden, **fields}),
        Origin=f"http://{server.host}",
        Content_Type="application/x-www-form-urlencoded",
    )
