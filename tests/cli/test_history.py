"""`perf history`: a metric over the versions."""

from __future__ import annotations

import contextlib
import csv
import io
import random
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from perfcore_testing import profiles
from perfcore_view_history.result import HistoryResult

from perfcore.library import History
from perfcore.model.record import replace
from perfcore.profile.table import column, table

if TYPE_CHECKING:
    from perfcore_testing.distributions import Site

    from perfcore.model import Profile

    from .conftest import Here

STEP = 9


@pytest.fixture(scope="module")
def sixteen(made: Callable[..., Here]) -> Here:
    """Sixteen versions, slower from the tenth on, to be copied."""
    here = made()
    for number in range(16):
        here.commit(f"Change <b>{number}</b>")
        here.register(_profile(number, 5e6 if number < STEP else 6e6), created=profiles.CREATED + number)
    return here


@pytest.fixture
def history(sixteen: Here, copied: Callable[[Here], Here]) -> Here:
    return copied(sixteen)


def _profile(number: int, level: float) -> Profile:
    draw = random.Random(number)
    amounts = [int(level * draw.lognormvariate(0, 0.01)) for _ in range(6)]
    columns = [
        column("run", list(range(6)), role="order"),
        column("wall", [2 * amount for amount in amounts], unit="ns", role="value"),
        column("cpu", amounts, unit="ns", role="value"),
    ]
    return profiles.profile({"resources": table("resources", columns)})


def test_the_metric_that_decides_is_drawn_with_its_changes(history: Here) -> None:
    done = history.perf("history")
    lines = done.lines
    assert lines[0] == "cpu of ./gzip -9 'big file.txt'"
    drawn = lines[1][2:]
    assert len(drawn) == 16
    assert max(drawn[:STEP]) < min(drawn[STEP:])
    assert lines[2] == "  " + " " * STEP + "^"
    assert lines[3].startswith("  16 versions, ")
    assert "slower" in lines[4]
    assert "Change <b>9</b>" in lines[4]
    assert len(lines) == 5


def test_another_metric_can_be_named_and_the_end_chosen(history: Here) -> None:
    assert history.perf("history", "wall", "--last", "4").lines[0].startswith("wall of")
    lines = history.perf("history", "--last", "4").lines
    assert len(lines[1]) == 2 + 4
    assert lines[2].startswith("  4 versions")
    assert history.perf("history", "-v", "HEAD~8").lines[2].startswith("  8 versions")


def test_csv_begins_no_formula_unless_the_raw_text_is_asked_for(slowed: Here) -> None:
    slowed.commit("=HYPERLINK(1)")
    slowed.register(profiles.timed(runs=12, wall=200_000_000))
    subjects = [row["subject"] for row in csv.DictReader(io.StringIO(slowed.perf("history", "--csv").out))]
    assert subjects[-1] == "'=HYPERLINK(1)"
    raw = csv.DictReader(io.StringIO(slowed.perf("history", "--csv", "--raw-text").out))
    assert [row["subject"] for row in raw][-1] == "=HYPERLINK(1)"


def test_json_and_csv_have_every_run_and_change(history: Here) -> None:
    (one,) = history.perf("history", "--json").json["series"]
    assert [len(point["values"]) for point in one["points"]] == [6] * 16
    (change,) = one["changes"]
    rows = list(csv.DictReader(io.StringIO(history.perf("history", "--csv").out)))
    assert len(rows) == 16
    assert [row["id"] for row in rows if row["change"]] == [change["id"]]
    assert rows[STEP]["subject"] == "Change <b>9</b>"
    assert rows[STEP]["runs"] == "6"


def test_json_has_the_decisions_about_changes(history: Here, follow_schema: Callable[[str, Any], None]) -> None:
    def change(*words: str) -> Any:
        document = history.perf("history", "--json", *words).json
        follow_schema("history", document)
        return document["series"][0]["changes"][0]

    assert (change()["decided"], change()["accepted"]) == ("", False)
    for state, accepted in (("confirmed", False), ("false alarm", True)):
        history.perf("check", "triage", change()["id"], "--as", state, "--why", "a <b>reason</b>", "--author", "Ann")
        for words in ((), ("--last", "12")):
            assert change(*words)["decided"] == f"{state} by Ann: a <b>reason</b>"
            assert change(*words)["accepted"] is accepted


def test_json_follows_its_schema_and_is_what_the_library_gives(
    history: Here, follow_schema: Callable[[str, Any], None]
) -> None:
    document = history.perf("history", "wall", "--last", "9", "--json").json
    follow_schema("history", document)
    result = History(history.repository).history("wall", last=9)
    assert result.as_json() == document
    assert "regression +" in result._repr_html_()


def test_names_are_text_in_a_notebook(history: Here) -> None:
    (series,) = History(history.repository).history().series
    page = HistoryResult(series=(attrs.evolve(series, command="<script>"),))._repr_html_()
    assert "<script>" not in page


def test_a_history_goes_to_a_file_and_to_any_view_that_accepts_it(history: Here, site: Site) -> None:
    history.perf("history", "--csv", "-o", "cpu.csv")
    assert (history.path / "cpu.csv").read_text().startswith("command,")
    assert "--force" in history.perf("history", "-o", "cpu.csv", code=2).err
    views = "class Count:\n    accepts = ('series', 'changes')\n    def render(self, subject, output):\n"
    views += "        output.write(f'{len(subject.series)} {len(subject.changes)}\\n')\n"
    site.install("acme-views", points={"perfcore.view": ["count = acme_views:Count"]}, acme_views=views)
    assert history.perf("history", "--view", "count").out == "1 1\n"


def test_a_view_of_profiles_is_refused_and_those_of_histories_are_named(history: Here) -> None:
    done = history.perf("history", "--view", "table", code=2)
    assert "the view table shows profiles, not histories" in done.err
    assert "history" in done.err.splitlines()[-1]


def test_show_gives_the_history_and_the_stored_changes_of_a_profile(history: Here, site: Site) -> None:
    assert history.perf("show", "0@i", "history").lines[0] == "cpu of ./gzip -9 'big file.txt'"
    views = "class Kinds:\n    accepts = ('changes',)\n    def render(self, subject, output):\n"
    views += "        output.write(' '.join(f'{c.kind}:{c.metric}' for c in subject.changes) + '\\n')\n"
    site.install("acme-views", points={"perfcore.view": ["kinds = acme_views:Kinds"]}, acme_views=views)
    version = history.git("rev-parse", f"HEAD~{15 - STEP}").out.strip()
    assert history.perf("show", f"{version}:0@i", "kinds").out == "\n"
    history.perf("check", "all", code=1)
    assert "degradation:cpu" in history.perf("show", f"{version}:0@i", "kinds").out


def test_a_function_is_followed_where_there_are_stacks(here: Here) -> None:
    for number in range(3):
        here.commit(f"Change {number}")
        here.register(profiles.sampled(number + 1), created=profiles.CREATED + number)
    lines = here.perf("history", "Parser.parse").lines
    assert lines[0] == "Parser.parse: samples of python app.py"
    assert "25 to 75, now 75" in lines[2]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("no-such",), 3, "no profile here has a metric, benchmark or function 'no-such'"),
        (("--command", "nothing like it"), 3, "no command is like"),
        (("--json", "--csv"), 2, "exclude one another"),
        (("--last", "0"), 2, "0"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(history: Here, words: tuple[str, ...], code: int, says: str) -> None:
    assert says in history.perf("history", *words, code=code).err


def test_a_word_of_a_command_where_a_metric_belongs_gets_its_option(history: Here) -> None:
    done = history.perf("history", "big file", code=3)
    assert done.err.splitlines()[1] == "  hint: commands have it in their words: perf history -c '*big file*'"
    assert history.perf("history", "-c", "*big file*").lines[0] == "cpu of ./gzip -9 'big file.txt'"
    assert " -c " not in history.perf("history", "bog file", code=3).err


@pytest.mark.parametrize("word", ["HEAD", "main", "HEAD~1..main", "HEAD~1.."])
def test_a_version_where_a_metric_belongs_gets_its_option(history: Here, word: str) -> None:
    assert f"perf history -v {word}" in history.perf("history", word, code=3).err
    assert "-v" not in history.perf("history", "..", code=3).err


def test_an_empty_history_says_what_to_do(here: Here) -> None:
    assert "perf collect" in here.perf("history", code=3).err


def test_without_unicode_it_is_drawn_in_ascii(history: Here) -> None:
    done = history.real.perf("history", env={"PYTHONIOENCODING": "ascii"})
    assert done.lines[1].isascii()


def test_hostile_names_do_no_harm(here: Here) -> None:
    for number in range(3):
        here.commit(f"\x1b[31mred {number}")
        profile = _profile(number, 5e6)
        header = replace(profile.header, cmd="\x1b]0;evil\x07", args="\n", workload="")
        here.register(profile, header=header, created=profiles.CREATED + number)
    for form in ((), ("--csv",), ("--json",)):
        assert not {"\x1b", "\x07"} & set(here.perf("history", *form).out)


def _drawn(here: Here, *words: str) -> list[str]:
    (series,) = here.perf("history", "--json", *words).json["series"]
    return [point["subject"].removeprefix("Change <b>").removesuffix("</b>") for point in series["points"]]


def test_versions_are_chosen_as_for_a_collection(history: Here) -> None:
    history.git("tag", "v1", "HEAD~12")
    history.git("tag", "v2", "HEAD~2")
    assert _drawn(history, "--version", "HEAD~5..HEAD~2") == ["11", "12", "13"]
    assert _drawn(history, "--tags", "v*") == ["3", "13"]
    assert _drawn(history, "--since", "v2") == ["14", "15"]
    assert _drawn(history, "--until", "v1", "-n", "2") == ["2", "3"]
    assert _drawn(history, "--every", "5") == ["0", "5", "10", "15"]
    assert _drawn(history, "--last", "7", "--every", "3") == ["9", "12", "15"]
    history.commit("Not measured")
    assert _drawn(history, "--last", "1") == ["15"]
    (series,) = history.perf("history", "--json", "--tags", "v*").json["series"]
    assert [change["kind"] for change in series["changes"]] == ["degradation"]  # came between the two
    assert "has a profile" in history.perf("history", "--since", "HEAD~1", code=3).err


def _looked_at(here: Here, *words: str, code: int = 0) -> str:
    return here.perf("check", *words, code=code).lines[-1]


def test_check_looks_only_at_the_versions_that_are_chosen(history: Here) -> None:
    assert "16 versions" in _looked_at(history, "all", code=1)
    assert "12 versions" in _looked_at(history, "all", "--last", "12", code=1)
    assert _looked_at(history, "--last", "6").startswith("5 comparisons")
    assert "1 comparison: 1 regression" in _looked_at(history, "--every", "12", "--last", "13", code=1)
    history.git("tag", "v1", "HEAD~12")
    history.git("tag", "v2", "HEAD~2")
    assert "1 comparison: 1 regression" in _looked_at(history, "all", "--tags", "v*", code=1)
    assert _looked_at(history, "v1..v2", "--until", "HEAD~7").startswith("4 comparisons")
    assert "--last" in history.perf("check", "HEAD", "--last", "3", code=2).err


def _kept(history: Here) -> dict[tuple[str, str, str], bytes]:
    """The rows of the read model but for those of indexes, which are learned once their folders have settled."""
    with contextlib.closing(sqlite3.connect(history.path / ".perf" / "cache" / "derived.db")) as data:
        rows = data.execute('SELECT "space", "group", "key", "data" FROM "rows" WHERE "space" <> ?', ("indexes",))
        return {(space, group, key): content for space, group, key, content in rows}


def test_a_check_of_a_part_changes_nothing_that_is_stored(history: Here) -> None:
    """A part that begins at the slow version knows no regression; the whole history does."""
    history.perf("check", "all", code=1)
    stored, marks = history.snapshot(), history.perf("log", "--changes", "--json").out
    scans = _kept(history)
    assert {space for space, *_ in scans} >= {"scan states", "values"}
    history.perf("check", "all", "--last", "7")
    history.perf("check", "all", "--last", "9", code=1)
    assert history.snapshot() == stored
    # What a profile says of the speed of its machine is the same whoever asks.
    assert {row for row in _kept(history) if row[0] != "speeds"} == {row for row in scans if row[0] != "speeds"}
    assert history.perf("log", "--changes", "--json").out == marks


def test_check_all_tells_a_degradation_and_where_it_came(history: Here) -> None:
    version = history.git("rev-parse", f"HEAD~{15 - STEP}").out[:10]
    done = history.perf("check", "all", code=1)
    assert version in done.out
    assert "2 series over 16 versions: 1 regression, 0 improvements" in done.out
    (change,) = [c for c in history.perf("check", "HEAD~8..", "--json", code=1).json["changes"] if c["primary"]]
    assert change["latest"].startswith(version)
    assert history.perf("check", "HEAD~4..", "--json").json["changes"] == []


def test_a_degradation_that_was_undone_fails_nothing(history: Here) -> None:
    for number in range(16, 22):
        history.commit(f"Change {number}")
        history.register(_profile(number, 5e6), created=profiles.CREATED + number)
    done = history.perf("check", "all")
    assert "undone in" in done.out
    assert "1 undone" in done.out


def test_rules_choose_the_check(history: Here) -> None:
    history.write("mine.yml", "")
    history.perf("config", "set", "check.rules", "[{collector: other, method: no-such}]")
    assert history.perf("check", "head").code == 0
    history.perf("config", "set", "check.rules", "[{collector: time, method: no-such}]")
    assert "no-such" in history.perf("check", "head", code=5).err


def test_calibration_says_what_the_checks_see_and_status_shows_it(history: Here) -> None:
    done = history.perf("check", "--calibrate")
    assert done.lines[0].split()[:2] == ["command", "metric"]
    assert "0 of 14" in done.lines[1]
    assert "what the checks see" in history.perf("status").out
    (cpu, wall) = history.perf("check", "--calibrate", "--json", "--no-store").json["calibration"]
    assert (cpu["metric"], wall["primary"]) == ("cpu", False)
    assert "takes no version" in history.perf("check", "HEAD", "--calibrate", code=2).err


def test_the_check_of_two_versions_is_tried_where_nothing_changed_and_its_result_replaces_no_other(
    history: Here,
) -> None:
    history.perf("check", "--calibrate")
    before = [line for line in history.perf("status").lines if "shows changes" in line]
    (cpu, _) = history.perf("check", "--calibrate", "--method", "pair", "--json").json["calibration"]
    assert (cpu["single"]["tried"], cpu["single"]["alarms"]) == (14, 0), "the one real change is no false alarm"
    status = history.perf("status").lines
    assert "what the check pair sees, as tried" in "\n".join(status)
    assert [line for line in status if "shows changes" in line][: len(before)] == before


def test_calibration_says_what_it_did_not_try(history: Here) -> None:
    done = history.perf("check", "--calibrate", "--method", "pair", "--no-store")
    assert "not tried" in done.lines[1]
    assert "real changes" not in done.err


def test_calibration_of_a_short_history_says_that_it_cannot_know_what_is_real(here: Here) -> None:
    for number, level in enumerate((5e6, 5e6, 9e6)):
        here.commit(f"Change {number}")
        here.register(_profile(number, level))
    done = here.perf("check", "--calibrate", "--no-store")
    assert "too short" in done.lines[1]
    assert "the history of 1 command is too short to know where it changed" in done.err


def test_calibration_of_one_version_says_what_lacks(here: Here) -> None:
    here.register(_profile(1, 5e6))
    assert "no command was measured for two versions" in here.perf("check", "--calibrate", code=3).err


def test_log_shows_only_what_checks_found_changed(history: Here) -> None:
    assert "no check has found a change" in history.perf("log", "--changes").err
    history.perf("check", "all", code=1)
    lines = history.perf("log", "--changes", "--short").lines
    assert len(lines) == 1
    assert "Change <b>9</b>" in lines[0]
    assert "slower" in lines[0]


def test_a_change_says_between_which_versions_it_may_have_come(here: Here) -> None:
    """The version halfway between the two levels may be of either."""
    for number in range(16):
        here.commit(f"Change {number}")
        here.register(_profile(number, (5e6, 5.5e6, 6e6)[(number >= STEP) + (number > STEP)]))
    (change,) = here.perf("history", "--json").json["series"][0]["changes"]
    assert change["earliest"] != change["latest"], "else this test says nothing"
    words = f"between {change['earliest'][:10]} and {change['latest'][:10]}"
    (line,) = (line for line in here.perf("history").lines if "slower" in line)
    assert line.endswith(f"  came {words}")
    assert words in here.perf("check", "all", "--verbose", code=1).out


def test_a_change_of_one_version_says_nothing_of_others(history: Here) -> None:
    (change,) = history.perf("history", "--json").json["series"][0]["changes"]
    assert change["earliest"] == change["latest"]
    assert "between" not in history.perf("history").out


@pytest.fixture(scope="module")
def machine(made: Callable[..., Here]) -> Here:
    """Seven commands in sixteen versions on a machine that becomes slower, and one that was measured in two."""
    here = made()
    for number in range(16):
        here.commit(f"Change {number}")
        for command in range(8 if number > 13 else 7):
            profile = _profile(100 * number + command, 5e6 if number < STEP else 6e6)
            header = replace(profile.header, argv=(f"./c{command}",), cmd=f"./c{command}", args="")
            here.register(replace(profile, header=header), config_id=f"1:{command}")
    return here


@pytest.mark.parametrize("what", [(), ("wall",)], ids=["cpu", "wall"])
def test_which_commands_are_shown_decides_nothing(
    machine: Here, copied: Callable[[Here], Here], what: tuple[str, ...]
) -> None:
    here = copied(machine)
    found = here.perf("history", *what, "--json").json["series"]
    every = {one["command"].split()[0]: one["changes"] for one in found}
    few = here.perf("history", *what, "--json", "-c", "./c[05]*").json["series"]
    assert {one["command"].split()[0]: one["changes"] for one in few} == {
        name: every[name] for name in ("./c0", "./c5")
    }
    (change,) = every["./c0"]
    assert (change["kind"], change["moved"], change["measured"]) == ("machine", 7, 7)
    assert every["./c7"] == []
    checked = here.perf("check", "all", "--json").json["changes"]
    (told,) = [one for one in checked if one["kind"] == "machine"]
    assert (told["label"], told["moved"], told["measured"]) == ("7 of 7 commands", 7, 7)
    assert "7 of 7 commands moved together: not the code" in here.perf("history", *what, "-c", "./c0*").out
