"""Which file of the repository a report names for what `perf check` found."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

import pytest
from perfcore_testing import profiles

from perfcore.model.record import replace

if TYPE_CHECKING:
    from .conftest import Here

MS = 1_000_000
SLOW = {"words.py": "one\n", "sort.py": "first\nsecond\nthird\n", "README": "now\nlonger\nthan\nall\nothers\n"}


def _register(here: Here, wall: int, argv: tuple[str, ...] = ("python3", "sort.py")) -> None:
    made = profiles.timed(runs=12, wall=wall * MS)
    header = replace(made.header, argv=argv, cmd=argv[0], args=" ".join(argv[1:]), workload="")
    here.register(made, header=header)


def _slowed(here: Here, before: dict[str, str], after: dict[str, str], **how: Any) -> Here:
    for folder in {os.path.dirname(name) for name in (*before, *after)} - {""}:
        (here.path / folder).mkdir(parents=True, exist_ok=True)
    here.commit("Before", **before)
    _register(here, 100, **how)
    here.commit("After", **after)
    _register(here, 200, **how)
    return here


def _places(here: Here, *words: str) -> list[tuple[str, int, int]]:
    """(file, line, the column after the line) of every result, each once, in order."""
    found = []
    for result in _results(here, *words):
        place = result["locations"][0]["physicalLocation"]
        name = os.fsdecode(unquote_to_bytes(place["artifactLocation"]["uri"]))
        found.append((name, place["region"]["startLine"], place["region"]["endColumn"]))
    return list(dict.fromkeys(found))


def _results(here: Here, *words: str) -> list[dict[str, Any]]:
    done = here.perf("check", *words, "--format", "sarif", code=None)
    results: list[dict[str, Any]] = json.loads(done.out)["runs"][0]["results"]
    assert results, done
    return results


def test_the_source_file_that_changed_most_at_its_first_difference(here: Here) -> None:
    _slowed(
        here, SLOW | {"sort.py": "first\nthird\n"}, SLOW | {"words.py": "two\n", "sort.py": "first\nnew\nsécond\n3\n"}
    )
    assert _places(here) == [("sort.py", 2, 4)]
    (message, *_) = (result["message"]["text"] for result in _results(here))
    assert (
        f"of the source files that changed after {here.git('rev-parse', 'HEAD~1').out[:10]} it changed most" in message
    )


def test_documents_and_tests_are_no_source(here: Here) -> None:
    after = {"README": "other\n" * 9, "docs/x.py": "a\n" * 9, "tests/x.py": "a\n" * 9, "sort.py": "0\n"}
    assert _places(_slowed(here, SLOW, after)) == [("sort.py", 1, 2)]


def test_a_file_that_was_removed_or_is_binary_is_not_named(here: Here) -> None:
    _slowed(
        here,
        {"gone.py": "a\n" * 50, "sort.py": "1\n", "data.bin": "\0" * 10},
        {"sort.py": "1\n", "data.bin": "\0" * 99},
    )
    (here.path / "gone.py").unlink()
    (here.path / "words.py").write_text("x\n")
    here.git("add", "-A")
    here.git("commit", "-q", "-m", "Remove")
    _register(here, 400)
    assert _places(here) == [("words.py", 1, 2)]


@pytest.mark.parametrize("name", ["a b%20c.py", "x:y.py", "été <b>.py", "a\nb.py", "-x.py", "'\"\\.py", "\x1b[31m.py"])
def test_hostile_names_are_found(here: Here, name: str) -> None:
    assert _places(_slowed(here, {}, {name: "1\n"})) == [(name, 1, 2)]


def test_a_name_that_is_no_utf_8_is_not_named(here: Here) -> None:
    """Whoever uploads the report to GitHub fails at it."""
    (here.path / os.fsdecode(b"\xff.py")).write_text("1\n2\n")
    _slowed(here, {"sort.py": "1\n"}, {"sort.py": "2\n"})
    assert _places(here) == [("sort.py", 1, 2)]


def test_the_configuration_that_names_the_command_where_no_source_changed(here: Here) -> None:
    config = "# hello\ncheck:\n  threshold: 0.1\ncmds:\n  - python3 sort.py\n"
    _slowed(here, {".perfcore.yml": config, "sort.py": "1\n"}, {"README": "2\n"})
    here.perf("config", "trust", "--yes")
    assert _places(here) == [(".perfcore.yml", 5, 20)]
    assert "hint: it names the command" in _results(here)[0]["message"]["text"]


def test_the_configuration_that_names_the_program_but_not_a_part_of_it(here: Here) -> None:
    config = "# python3-config\ncheck:\n  threshold: 0.1\ncmds:\n  - python3\nargs: [sort.py]\n"
    _slowed(here, {".perfcore.yml": config, "sort.py": "1\n"}, {"README": "2\n"})
    here.perf("config", "trust", "--yes")
    assert _places(here) == [(".perfcore.yml", 5, 12)]
    assert "hint: it names its program" in _results(here)[0]["message"]["text"]


@pytest.mark.parametrize("name", ["bin/sort.py", "a b/it's.py"])
def test_the_file_that_the_command_names_where_nothing_else_does(here: Here, name: str) -> None:
    (here.path / name).parent.mkdir()
    argv = ("python3", shlex.quote("./" + name))
    assert _places(_slowed(here, {name: "ab\n"}, {"README": "2\n"}, argv=argv)) == [(name, 1, 3)]


def test_the_contract_for_the_command_and_then_anything(here: Here) -> None:
    _slowed(here, {}, {"README": "2\n"}, argv=("make",))
    assert _places(here) == [("README", 1, 2)]
    here.write(".perfcontract.yml", "sort: [cpu <= 1 s]\n'ma*':\n  - wall <= 1 h\n")
    assert _places(here) == [(".perfcontract.yml", 3, 16)]


def test_a_broken_contract_is_shown_where_it_stands(here: Here) -> None:
    _slowed(here, SLOW, {"sort.py": "1\n"})
    here.write(
        ".perfcontract.yml",
        "# é\n'python*':\n  - cpu <= 1 ns\n\n  - cpu <= 1 h\n  - wall <= 1 ns\n'*': cpu <= 1 ns\n",
    )
    places = {
        (result["message"]["text"].split(": ")[1], line)
        for result in _results(here)
        if result["ruleId"] == "broken-contract"
        for line in [result["locations"][0]["physicalLocation"]["region"]["startLine"]]
    }
    assert places == {("cpu <= 1 ns", 3), ("wall <= 1 ns", 6), ("cpu <= 1 ns", 7)}


def test_a_change_of_a_history_is_looked_for_in_the_whole_range_where_it_may_be(here: Here) -> None:
    for number in range(12):
        here.commit(f"Version {number}", **{f"part{number}.py": "x\n" * (9 if number == 6 else 1)})
        _register(here, 100 if number < 6 else 200)
    assert {name for name, _, _ in _places(here, "all")} == {"part6.py"}


def test_what_was_not_compared_and_what_is_pending_have_a_file_too(here: Here) -> None:
    here.commit("One", **{"sort.py": "1\n"})
    _register(here, 100)
    assert _places(here, "--fail-on", "cannot-tell") == [("sort.py", 1, 2)]
    made = profiles.timed(runs=12, wall=300 * MS)
    name = here.save(made, dirty=True, header=replace(made.header, cmd="python3", argv=("python3",)))
    assert _places(here, "HEAD:0@i", name)


def test_where_more_files_changed_than_are_read_the_hint_says_so(here: Here) -> None:
    many = {f"part{number:04}.py": "1\n" for number in range(1001)}
    _slowed(here, {"README": "1\n"}, many | {"part1000.py": "1\n" * 9})
    assert _places(here) == [("part0000.py", 1, 2)]
    assert "of the first 1,000 source files that changed" in _results(here)[0]["message"]["text"]
