"""One comment on a pull or merge request, which each build replaces: `python -m perfcore_report_ci.comment summary.md`.

The variables that GitHub Actions and GitLab CI set say which request it is. The comment of an earlier build is known by
its first line, a comment of HTML that nobody sees. A build without a report replaces it as well, so that no request
shows the answer of an earlier commit.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit

import attrs

from perfcore.errors import NotFoundError, PerfError, UsageError

NO_REPORT = "### Performance: no result\n\nThe build ended before `perf check` wrote its report.\n"
_PAGE = 100  # comments in an answer, the most that both give
_MOST_PAGES = 50  # no request has 5,000 comments; an endless list would keep the build
# GitHub refuses more than 65,536 characters; GitLab takes a million.
_MOST_CHARACTERS = 65_000
_TIMEOUT = 30.0  # seconds for an answer: either service is down, or answers within a few
_MOST_BYTES = 16 << 20  # of an answer: 100 comments of 65,536 characters of two bytes each fit


@attrs.frozen(kw_only=True)
class Forge:
    """Where the comments of a request are: `listing` gives and takes them, `single` is the address of one of them by
    its id. `update` is the method that replaces it."""

    listing: str
    single: str
    update: str
    headers: Mapping[str, str]


def forge_of(environ: Mapping[str, str]) -> Forge:
    """The request that the variables of the build name. NotFoundError where they name none."""
    if "GITHUB_EVENT_PATH" in environ:
        return _github(environ)
    if "CI_MERGE_REQUEST_IID" in environ:
        return _gitlab(environ)
    raise NotFoundError(
        "this is no build of a pull or merge request", hint="GITHUB_EVENT_PATH or CI_MERGE_REQUEST_IID would name one"
    )


def publish(forge: Forge, text: str, *, name: str = "performance") -> str:
    """Write the comment of this name, or replace it; says which."""
    marker = f"<!-- perfcore: {name} -->"
    body = f"{marker}\n{text}"
    if len(body) > _MOST_CHARACTERS:
        body = f"{_shortened(body)}\n\n… cut off: the whole report is among the artifacts of the build\n"
    for comment in _comments(forge):
        if str(comment.get("body", "")).startswith(marker):
            _call(forge, forge.update, forge.single.format(id=int(comment["id"])), {"body": body})
            return "replaced"
    _call(forge, "POST", forge.listing, {"body": body})
    return "written"


def _shortened(body: str) -> str:
    """Without the folded parts that do not fit: half of one would hide all that follows it."""
    shown, *folded = re.split(r"\n\n(?=<details>\n)", body)
    if len(shown) > _MOST_CHARACTERS:
        shown = shown[:_MOST_CHARACTERS]
        shown = shown[: shown.rfind("\n")] if "\n" in shown else shown
    for part in folded:
        if len(shown) + len(part) + 2 <= _MOST_CHARACTERS:
            shown += f"\n\n{part.rstrip()}"
    return shown


def main(words: list[str]) -> int:
    """The command line: the file with the report, and the name of the comment if there are several."""
    if not 1 <= len(words) <= 2:
        print("usage: python -m perfcore_report_ci.comment REPORT.md [NAME]", file=sys.stderr)
        return UsageError.exit_code
    report = Path(words[0])
    try:
        text = report.read_text("utf-8") if report.exists() else NO_REPORT
        print("comment", publish(forge_of(os.environ), text, name=words[1] if len(words) == 2 else "performance"))
    except (PerfError, OSError) as error:
        print(f"no comment: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, PerfError) else PerfError.exit_code
    return 0


def _github(environ: Mapping[str, str]) -> Forge:
    event = json.loads(Path(environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    number = (event.get("pull_request") or {}).get("number")
    if number is None:
        raise NotFoundError("the event of this build is no pull request", hint="on: pull_request")
    api = environ.get("GITHUB_API_URL", "https://api.github.com")
    issues = f"{api}/repos/{quote(_required(environ, 'GITHUB_REPOSITORY'))}/issues"
    return Forge(
        listing=f"{issues}/{int(number)}/comments",
        single=f"{issues}/comments/{{id}}",
        update="PATCH",
        headers={
            "Authorization": f"Bearer {_required(environ, 'GITHUB_TOKEN')}",
            "Accept": "application/vnd.github+json",
        },
    )


def _gitlab(environ: Mapping[str, str]) -> Forge:
    project = quote(_required(environ, "CI_PROJECT_ID"), safe="")
    request = f"{_required(environ, 'CI_API_V4_URL')}/projects/{project}/merge_requests"
    notes = f"{request}/{int(environ['CI_MERGE_REQUEST_IID'])}/notes"
    # The token of a job cannot write notes: https://docs.gitlab.com/ci/jobs/ci_job_token/
    return Forge(
        listing=notes,
        single=f"{notes}/{{id}}",
        update="PUT",
        headers={"PRIVATE-TOKEN": _required(environ, "PERFCORE_GITLAB_TOKEN")},
    )


def _required(environ: Mapping[str, str], name: str) -> str:
    if not environ.get(name):
        raise NotFoundError(f"the variable {name} is not set")
    return environ[name]


def _comments(forge: Forge) -> Iterator[Mapping[str, Any]]:
    for page in range(1, _MOST_PAGES + 1):
        comments = _call(forge, "GET", f"{forge.listing}?per_page={_PAGE}&page={page}")
        yield from comments
        if len(comments) < _PAGE:
            return


def _call(forge: Forge, method: str, address: str, content: Mapping[str, str] | None = None) -> Any:
    if urlsplit(address).scheme not in ("http", "https"):
        raise UsageError(f"{address} is no address of a web service")
    data = None if content is None else json.dumps(content).encode()
    headers = {**forge.headers, "Content-Type": "application/json", "User-Agent": "perfcore"}
    request = urllib.request.Request(address, data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            return json.loads(answer.read(_MOST_BYTES))
    except HTTPError as error:
        raise PerfError(f"{method} {address}: {error.code} {error.reason}") from error
    except (URLError, ValueError) as error:
        raise PerfError(f"{method} {address}: {error}") from error


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
