"""The one comment of a request, against a small service that keeps comments as GitHub and GitLab do."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from perfcore_report_ci import comment

from perfcore.errors import NotFoundError, PerfError, UsageError


class Service(HTTPServer):
    """Comments in the order of their ids, and the requests that came."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str, str]] = []
        self.refuses = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def bodies(self) -> list[str]:
        return [each["body"] for each in self.comments]


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        size, page = int(query["per_page"][0]), int(query["page"][0])
        self._answer(self.server.comments[(page - 1) * size : page * size])

    def do_POST(self) -> None:
        self.server.comments.append({"id": len(self.server.comments) + 1, **self._content()})
        self._answer(self.server.comments[-1])

    def do_PATCH(self) -> None:
        (each,) = (c for c in self.server.comments if str(c["id"]) == self.path.rpartition("/")[2])
        each.update(self._content())
        self._answer(each)

    def do_PUT(self) -> None:
        self.do_PATCH()

    def _content(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, content: Any) -> None:
        token = self.headers["Authorization"] or self.headers["PRIVATE-TOKEN"]
        self.server.requests.append((self.command, urlsplit(self.path).path, token))
        data = json.dumps(content).encode()
        self.send_response(403 if self.server.refuses else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing: a test prints nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def github(service: Service, tmp_path: Path) -> dict[str, str]:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    return {
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_API_URL": service.address,
        "GITHUB_REPOSITORY": "acme/sort",
        "GITHUB_TOKEN": "secret",
    }


@pytest.fixture
def gitlab(service: Service) -> dict[str, str]:
    return {
        "CI_API_V4_URL": f"{service.address}/api/v4",
        "CI_PROJECT_ID": "12",
        "CI_MERGE_REQUEST_IID": "7",
        "PERFCORE_GITLAB_TOKEN": "secret",
    }


@pytest.mark.parametrize("forge", ["github", "gitlab"])
def test_the_second_build_replaces_the_comment_of_the_first(
    forge: str, service: Service, request: pytest.FixtureRequest
) -> None:
    target = comment.forge_of(request.getfixturevalue(forge))
    service.comments += [{"id": number + 1, "body": "<!-- another --> hello"} for number in range(100)]
    assert comment.publish(target, "first") == "written"
    assert comment.publish(target, "second") == "replaced"
    assert service.bodies()[100:] == ["<!-- perfcore: performance -->\nsecond"]
    assert comment.publish(target, "of another gate", name="memory") == "written"
    assert service.bodies()[100] == "<!-- perfcore: performance -->\nsecond"


def test_the_addresses_are_those_of_the_two_services(
    service: Service, github: dict[str, str], gitlab: dict[str, str]
) -> None:
    for environ in (github, gitlab):
        comment.publish(comment.forge_of(environ), "x")
        comment.publish(comment.forge_of(environ), "y")
        assert len(service.comments) == 1
        service.comments.clear()
    notes = "/api/v4/projects/12/merge_requests/7/notes"
    assert [request for request in service.requests if request[0] != "GET"] == [
        ("POST", "/repos/acme/sort/issues/7/comments", "Bearer secret"),
        ("PATCH", "/repos/acme/sort/issues/comments/1", "Bearer secret"),
        ("POST", notes, "secret"),
        ("PUT", f"{notes}/1", "secret"),
    ]


def test_a_build_without_a_report_leaves_no_answer_of_an_earlier_commit(
    service: Service, github: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in github.items():
        monkeypatch.setenv(name, text)
    report = tmp_path / "summary.md"
    report.write_text("### Performance: ✅ passed\n")
    assert comment.main([str(report)]) == 0
    report.unlink()
    assert comment.main([str(report)]) == 0
    assert service.bodies() == [f"<!-- perfcore: performance -->\n{comment.NO_REPORT}"]


def test_a_long_report_is_cut_to_what_the_service_takes(service: Service, github: dict[str, str]) -> None:
    comment.publish(comment.forge_of(github), "x" * 100_000)
    (body,) = service.bodies()
    assert len(body) < 65_536
    assert body.rstrip().endswith("among the artifacts of the build")


def test_a_long_report_loses_whole_folded_parts(service: Service, github: dict[str, str]) -> None:
    parts = {"first": 10_000, "too long": 60_000, "last": 10_000}
    folded = "\n\n".join(
        f"<details>\n<summary>{name}</summary>\n\n{'x' * n}\n\n</details>" for name, n in parts.items()
    )
    comment.publish(comment.forge_of(github), f"### Performance\n\n{folded}\n")
    (body,) = service.bodies()
    assert [name for name in parts if f"<summary>{name}</summary>" in body] == ["first", "last"]
    assert body.count("</details>") == 2
    assert "… cut off" in body.rpartition("</details>")[2]


def test_a_long_table_is_cut_after_a_row(service: Service, github: dict[str, str]) -> None:
    comment.publish(comment.forge_of(github), "| a | b |\n|---|---|\n" + "| `first` | `second` |\n" * 5_000)
    (body,) = service.bodies()
    assert body.partition("\n\n")[0].endswith("\n| `first` | `second` |")


def test_what_stands_in_the_way_is_said_in_a_line(
    service: Service, github: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NotFoundError, match="no build of a pull or merge request"):
        comment.forge_of({})
    with pytest.raises(NotFoundError, match="GITHUB_TOKEN is not set"):
        comment.forge_of({**github, "GITHUB_TOKEN": ""})
    with pytest.raises(UsageError, match="no address of a web service"):
        comment.publish(comment.forge_of({**github, "GITHUB_API_URL": "file:///etc"}), "x")
    service.refuses = True
    with pytest.raises(PerfError, match="403"):
        comment.publish(comment.forge_of(github), "x")
    assert comment.main([]) == 2
    assert comment.main([str(tmp_path / "x.md"), "a", "b"]) == 2
    assert "usage: " in capsys.readouterr().err
