"""Workflow commands hold one annotation a line, whatever the names say."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

from perfcore_check_kit.fail_rules import parse_rules
from perfcore_report_ci import github
from perfcore_report_ci.locations import Location
from perfcore_testing import hostile, profiles
from perfcore_testing.project import Project, empty_project, project

from perfcore.analysis.check_result import CheckResult
from perfcore.library import open_repository
from perfcore.model import Change
from perfcore.model.record import replace

__all__ = ["empty_project", "project"]

_COMMAND = re.compile(r"::(error|warning|notice) title=([^:,\r\n]*)(?:,file=[^:,\r\n]*,line=\d+)?::([^\r\n]*)")


def nowhere(change: Change) -> None:
    """No location."""


def read(outcome: CheckResult) -> list[tuple[str, str, str]]:
    """(level, title, message) as the runner reads them: a line that is no command would be printed as it is."""
    found = []
    for line in github.render(outcome, nowhere).removesuffix("\n").split("\n"):
        match = _COMMAND.fullmatch(line)
        assert match, line
        found.append((match[1], unquote(match[2]), unquote(match[3])))
    return found


def test_what_fails_is_an_error_and_stands_first(every_kind: CheckResult) -> None:
    level, title, message = read(every_kind)[0]
    assert (level, title) == ("error", "cpu slower: +100.0 %")
    for part in ("sort big.txt", "+90.0 % to +110.0 %", "1 ms at aaaaaaaaaa", "12 pairs", "id of degradation"):
        assert part in message


def test_what_is_worse_stands_in_a_file_and_what_is_a_hint_says_so(change: Callable[..., Change]) -> None:
    slower, faster = change("degradation"), change("optimization")
    place = Location(path="src/a:b,%\n.c", line=7, length=3, why="it changed most")
    outcome = CheckResult(changes=(slower, faster))
    worse, better, _ = github.render(outcome, lambda change: place).removesuffix("\n").split("\n")
    assert ",file=src/a%3Ab%2C%25\\n.c,line=7::" in worse
    assert worse.endswith("%0Athe location is a hint: it changed most")
    assert "file=" not in better
    assert len(read(outcome)) == 3


def test_the_rest_is_less_grave(every_kind: CheckResult, change: Callable[..., Change]) -> None:
    levels = [level for level, _, _ in read(every_kind)]
    assert levels[:2] == ["error", "error"], "slower, drifts"
    assert levels[2:] == ["notice"] * 5, "better, improves, accepted, not compared, conclusion"
    other = CheckResult(changes=(change("degradation", primary=False),))
    assert [level for level, _, _ in read(other)] == ["warning", "notice"]
    undone = CheckResult(changes=(change("degradation", undone="f" * 40),))
    assert [level for level, _, _ in read(undone)] == ["notice", "notice"]


def test_what_was_accepted_says_by_whom(every_kind: CheckResult) -> None:
    assert [m for _, _, m in read(every_kind) if m.endswith("accepted by Ann: it is safer")] != []


def test_what_has_to_be_told_and_is_not_is_an_error(every_kind: CheckResult) -> None:
    read_again = read(replace(every_kind, rules=parse_rules(["never", "cannot-tell"])))
    assert [title for level, title, _ in read_again if level == "error"] == [
        "cpu inconclusive: +100.0 %",
        "not compared",
    ]


def test_percent_signs_colons_and_commas_are_escaped(change: Callable[..., Change]) -> None:
    text = github.render(CheckResult(changes=(change(metric="a,b:c%0A", label="50% : , x"),)), nowhere)
    assert "title=a%2Cb%3Ac%250A slower%3A +100.0 %25::50%25 : , x: a,b:c%250A slower" in text


def test_the_last_line_concludes() -> None:
    assert read(CheckResult()) == [("notice", "perf check", "nothing was compared")]


def test_hostile_names_forge_no_command(hostile_outcome: CheckResult) -> None:
    found = read(hostile_outcome)
    assert len(found) == len(hostile_outcome.changes) + len(hostile_outcome.unpaired) + 1
    assert hostile.unsafe("".join(message for _, _, message in found)) == set()
    assert not any(line.startswith("::error::forged") for line in github.render(hostile_outcome, nowhere).splitlines())


def test_a_command_of_a_folder_is_located_there(project: Project) -> None:
    (project.path / "svc" / "one").mkdir(parents=True)
    versions = [
        project.commit("Old", **{"svc/one/run.sh": "sort data.md\n", "svc/one/data.md": "2\n"}),
        project.commit("New", **{"svc/one/data.md": "2\n1\n"}),
    ]
    history = open_repository(project.path)
    for version, wall in zip(versions, (10_000_000, 20_000_000), strict=True):
        made = profiles.timed(runs=12, wall=wall)
        header = replace(made.header, argv=("./run.sh",), cmd="svc/one: ./run.sh", args="")
        history.register(history.save(replace(made, header=header, origin=version, config_id="c")), version)
    done = project.perf("check", "--format", "github", code=1)
    assert "file=svc/one/run.sh" in done.out
