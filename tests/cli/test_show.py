"""`perf show`, `perf postprocess`, `perf tag`, `perf import` and `perf export`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_testing import hostile, profiles
from perfcore_testing.distributions import Site

from perfcore.errors import OutputClosedError, StorageError, UsageError
from perfcore.model.record import replace
from perfcore.profile.table import column, table

if TYPE_CHECKING:
    from .conftest import Here

FAILING = '''
import attrs

class Settings:
    pass

class Fails:
    """Always fails."""
    def before(self, profile): pass
    def postprocess(self, profile): raise ValueError("no\\x1b[31m")
    def after(self, profile): open("after", "w").close()

class Marks:
    """Adds a note."""
    def before(self, profile): pass
    def postprocess(self, profile): return attrs.evolve(profile, notes=("marked",))
    def after(self, profile): pass

class Broken:
    """Shows nothing."""
    def render(self, subject, output): raise SystemExit(0)
'''


@pytest.fixture
def acme(site: Site) -> Site:
    points = {
        "perfcore.postprocessor": ["fails = acme_made:Fails", "marks = acme_made:Marks"],
        "perfcore.view": ["broken = acme_made:Broken"],
    }
    site.install("acme-made", points=points, acme_made=FAILING)
    return site


def test_one_line_shows_each_profile_in_a_line(here: Here) -> None:
    here.register(profiles.timed())
    here.register(profiles.traced())
    done = here.perf("show", "--one-line", "0@i", "1@i")
    first, second = done.lines
    assert first.split()[:2] == [f"{here.head[:10]}:0@i", "time"]
    assert "run" in first
    assert second.startswith(f"{here.head[:10]}:1@i")
    assert all(len(line) <= 80 for line in done.lines)
    assert "say which profile" in here.perf("show", "--one-line", code=2).err


def test_profiles_are_shown_in_a_table_unless_a_view_is_named(here: Here) -> None:
    here.register(profiles.traced())
    assert "write_block" in here.perf("show", "0@i").out
    assert here.perf("show", "0@i", "table").out == here.perf("show", "table", "0@i").out


VIEWS = """
class Pair:
    accepts = ("pair",)
    def render(self, subject, output):
        output.write(f"{subject.pair[0].created < subject.pair[1].created}\\n")

class Source:
    def render(self, subject, output):
        version = subject.versions[0].id
        output.write(repr([subject.source(version, "README"), subject.source(version, "missing"), subject.names]))
"""


@pytest.fixture
def views(site: Site) -> Site:
    points = ["both = acme_views:Pair", "readme = acme_views:Source"]
    site.install("acme-views", points={"perfcore.view": points}, acme_views=VIEWS)
    return site


def test_a_view_of_two_profiles_gets_baseline_and_target(here: Here, views: Site) -> None:
    for number in range(2):
        here.save(created=profiles.CREATED + number)
    assert here.perf("show", "0@p", "1@p", "both").out == "True\n"
    done = here.perf("show", "0@p", "both", code=2)
    assert "the view both shows two profiles, not profiles or histories or changes" in done.err


def test_a_view_gets_versions_and_their_source(here: Here, views: Site) -> None:
    here.register()
    out = here.perf("show", "0@i", "readme").out
    assert out == f"[b'hello\\n', None, ('{here.head[:10]}:0@i',)]"


def test_options_of_the_view_stand_anywhere_behind_show(here: Here) -> None:
    here.register(profiles.traced())
    for words in (("0@i", "table", "--format", "csv"), ("table", "--format=csv", "0@i"), ("0@i", "--format", "csv")):
        assert here.perf("show", *words).out.startswith("uid,file"), words


def test_several_profiles_and_ranges_are_shown_together(here: Here) -> None:
    for number in range(3):
        here.save(created=profiles.CREATED + number * 10**9)
    assert here.perf("show", "0@p-2@p", "--format", "json").out


def test_output_goes_to_a_new_file(here: Here) -> None:
    here.register()
    here.perf("show", "0@i", "table", "--output", "out.csv", "--format", "csv")
    written = (here.path / "out.csv").read_text()
    assert "wall" in written
    done = here.perf("show", "0@i", "--output", "out.csv", code=2)
    assert "--force" in done.err
    assert (here.path / "out.csv").read_text() == written
    here.perf("show", "0@i", "--output", "out.csv", "--force", "--format", "json")
    assert json.loads((here.path / "out.csv").read_text())


def test_a_failed_view_leaves_no_file(here: Here) -> None:
    here.register()
    before = sorted(here.path.iterdir())
    here.perf("show", "0@i", "--output", "out", "--columns", "no-such-column", code=2)
    assert sorted(here.path.iterdir()) == before
    here.write("out", "mine")
    here.perf("show", "0@i", "--output", "out", "--force", "--columns", "no-such-column", code=2)
    assert (here.path / "out").read_text() == "mine"


def test_a_device_is_written_not_replaced(here: Here) -> None:
    here.register()
    ours, theirs = pty.openpty()
    try:
        here.perf("show", "0@i", "--output", os.ttyname(theirs), "--force")
        assert b"wall" in os.read(ours, 1 << 16)
        assert Path(os.ttyname(theirs)).is_char_device()
    finally:
        os.close(ours)
        os.close(theirs)


def test_an_output_that_cannot_be_written_is_an_error(here: Here) -> None:
    here.register()
    done = here.perf("show", "0@i", "--output", "missing/out", code=None)
    assert done.code not in (0, 1, 70)
    assert "missing/out" in done.err


def test_a_full_disk_is_no_failure_of_the_view(here: Here) -> None:
    here.register()
    done = here.perf("show", "0@i", "--output", "/dev/full", "--force", code=StorageError.exit_code)
    assert "cannot write /dev/full: No space left on device" in done.err


def test_a_reader_that_goes_away_is_no_failure_of_the_view(here: Here) -> None:
    rows = range(50_000)
    here.save(profiles.profile({"resources": table("resources", (column("x", rows, role="value"),))}))
    command = [sys.executable, "-m", "perfcore", "show", "0@p", "table", "--format", "csv"]
    with subprocess.Popen(command, cwd=here.path, env=here.env, stdout=-1, stderr=-1) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline().strip() == b"x"
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == OutputClosedError.exit_code


def test_an_unknown_view_names_the_nearest(here: Here) -> None:
    here.register()
    assert "did you mean 'table'" in here.perf("show", "0@i", "tabel", code=3).err


def test_without_a_profile_it_says_where_to_look(here: Here) -> None:
    assert "perf status" in here.perf("show", code=2).err
    assert "--columns" in here.perf("show", "table", "--help").out


def test_a_view_that_fails_is_one_error_naming_it(here: Here, acme: Site) -> None:
    here.register()
    done = here.real.perf("show", "0@i", "broken", env=acme.env, code=5)
    assert "broken" in done.err
    assert "acme-made" in done.err
    assert "Traceback" not in done.err


def test_a_postprocessed_profile_becomes_pending_and_names_its_source(here: Here, acme: Site) -> None:
    id = here.register()
    name = here.real.perf("postprocess", "0@i", "marks", env=acme.env).err.split()[-1]
    (row,) = here.perf("status", "--json").json["pending"]
    assert row["name"] == name
    assert row["origin"] == here.head
    profile = here.repository.pending()[0].profile
    assert profile is not None
    assert profile.notes == ("marked",)
    assert profile.sources == (id,)
    assert [tool.name for tool in profile.postprocessors] == ["marks"]
    assert profile.config_id != profiles.timed().config_id
    assert here.perf("add", "0@p").code == 0


def test_a_postprocessor_that_fails_is_one_error_and_keeps_nothing(here: Here, acme: Site) -> None:
    here.register()
    done = here.real.perf("postprocess", "0@i", "fails", env=acme.env, code=5)
    assert "postprocessor 'fails'" in done.err
    assert "in postprocess" in done.err
    assert hostile.unsafe(done.err) == set()
    assert "Traceback" not in done.err
    assert "Traceback" in here.real.perf("--debug", "postprocess", "0@i", "fails", env=acme.env, code=5).err
    assert (here.path / "after").exists()
    assert here.perf("status", "--json").json["pending"] == []


def test_an_unknown_postprocessor_names_the_nearest(here: Here, acme: Site) -> None:
    here.register()
    done = here.real.perf("postprocess", "0@i", "mraks", env=acme.env, code=2)
    assert "did you mean 'marks'?" in done.err


def test_tags_are_put_on_listed_and_taken_off(here: Here) -> None:
    id = here.register()
    assert "there are no tags" in here.perf("tag").err
    here.perf("tag", "v1.0-baseline", "0@i")
    here.perf("tag", "größe")
    assert [line.split()[:2] for line in here.perf("tag").lines] == [["größe", id[:10]], ["v1.0-baseline", id[:10]]]
    assert "[v1.0-baseline, größe]" in here.perf("status").out
    assert f"{id} of {here.head}: größe" in here.perf("tag", "--delete", "v1.0-baseline").out
    assert "v1.0-baseline" not in here.perf("status").out
    here.perf("show", "größe")


def test_tags_that_a_profile_brings_obey_the_rules_of_tags(here: Here) -> None:
    first = here.register(header=replace(profiles.timed().header, tags=("mine",)))
    header = replace(profiles.timed().header, tags=("HEAD:0@i", "-x", "two words", "a\nb", "mine", "good"))
    done = here.perf("add", here.save(header=header, created=1))
    assert [row["tag"] for row in here.perf("tag", "--json").json["tags"]] == ["good", "mine"]
    assert "'two words' of" in done.err
    assert f"the tag 'mine' of {done.out[:10]} is left out: it is one of {first[:10]}" in done.err


def test_a_tag_that_is_against_the_rules_can_be_put_on_by_no_call(here: Here) -> None:
    id = here.register()
    repository = here.repository
    (entry,) = repository.entries(here.head)
    assert entry.profile == id
    with pytest.raises(UsageError, match="is no tag"):
        repository.tag(here.head, entry, add=("two words",))


def test_tags_can_be_read_by_a_program(here: Here) -> None:
    id = here.register()
    here.perf("tag", "one")
    listed = here.perf("tag", "--json").json
    assert listed == {"schema": 1, "tags": [{"tag": "one", "profile": id, "version": here.head}]}


def test_a_tag_that_could_be_taken_for_something_else_is_refused(here: Here) -> None:
    here.register()
    for name in ("", " ", "a b", "0@i", "a:b", "a/b", "-x", "--", "new\nline", "\x1b", "x" * 200):
        assert here.perf("tag", "--", name, code=2).err.startswith("perf: "), name
    assert here.perf("tag").out == ""


def test_a_profile_in_the_place_of_the_tag_is_told_their_order(here: Here) -> None:
    assert "the tag comes first: perf tag TAG PROFILE" in here.perf("tag", "0@i", "best", code=2).err
    assert "comes first" not in here.perf("tag", "a b", "0@i", code=2).err


def test_only_registered_profiles_are_tagged(here: Here) -> None:
    here.save()
    assert "perf add" in here.perf("tag", "one", "0@p", code=2).err
    here.perf("tag", "one", "0@i", code=3)


def test_a_tag_names_one_profile(here: Here) -> None:
    first = here.register(created=profiles.CREATED)
    second = here.register(created=profiles.CREATED + 10**9)
    here.perf("tag", "best", first)
    here.perf("tag", "best", first)
    assert "perf tag --delete best" in here.perf("tag", "best", second, code=2).err
    here.perf("tag", "--delete", "best")
    here.perf("tag", "best", second)
    assert [line.split()[:2] for line in here.perf("tag").lines] == [["best", second[:10]]]


def test_export_and_import_lose_nothing(here: Here) -> None:
    for made in (profiles.large(), profiles.hostile(), profiles.unheard_of()):
        id = here.register(made)
        here.perf("export", id[:12], "--output", "out.perf")
        here.perf("rm", id[:12])
        name = here.perf("import", "out.perf").out.strip()
        assert here.perf("add", name).out.split()[0] == id
        here.perf("rm", id[:12])
        (here.path / "out.perf").unlink()


def test_export_replaces_a_file_only_when_it_is_told_to(here: Here) -> None:
    here.register()
    here.write("out.perf", "mine")
    assert "--force" in here.perf("export", "0@i", "-o", "out.perf", code=2).err
    assert (here.path / "out.perf").read_text() == "mine"
    here.perf("export", "0@i", "-o", "out.perf", "--force")
    here.perf("import", "out.perf")


def test_an_export_that_is_named_like_a_table_is_told_to_be_none(here: Here) -> None:
    here.register()
    told = here.perf("export", "0@i", "-o", "out.csv").err
    assert "perf show 0@i table -f -o out.csv" in told
    here.perf("show", "0@i", "table", "-f", "-o", "out.csv")
    assert (here.path / "out.csv").read_text().startswith("run,")
    assert "note" not in here.perf("export", "0@i", "-o", "out.perf").err
    assert "note" not in here.perf("export", "0@i", "--format", "perf", "-o", "other.csv").err


def test_export_wants_one_profile_and_a_known_format(here: Here) -> None:
    here.register(created=profiles.CREATED)
    here.register(created=profiles.CREATED + 10**9)
    assert "names 2 profiles instead of one" in here.perf("export", "0@i-1@i", "-o", "x", code=2).err
    assert "did you mean 'perf'" in here.perf("export", "0@i", "-o", "x", "--format", "pref", code=5).err
    assert "--output" in here.perf("export", "0@i", code=2).err
    assert here.perf("export", "0@i", "-o", "missing/x", code=None).code not in (0, 1, 70)
    assert not (here.path / "x").exists()


def test_import_registers_with_the_version_it_is_told(here: Here) -> None:
    here.save()
    here.perf("export", "0@p", "-o", "out.perf")
    here.perf("rm", "0@p")
    first = here.head
    here.commit("Second", out__perf=(here.path / "out.perf").read_text())
    done = here.perf("import", "--add", "--version", "HEAD~1", "out.perf")
    assert first[:10] in done.out
    assert len(here.repository.entries(first)) == 1
    assert (here.path / "out.perf").exists()


def test_import_says_which_file_is_no_profile(here: Here) -> None:
    here.write("text.txt", "hello")
    done = here.perf("import", "text.txt", code=4)
    assert "text.txt" in done.err
    assert "perf" in done.err
    assert "nothing.perf" in here.perf("import", "nothing.perf", code=3).err
    assert "is a directory" in here.perf("import", ".", code=2).err


def test_a_tag_is_no_name_of_a_version(here: Here) -> None:
    here.register()
    for name in ("HEAD", "main", here.head[:10]):
        assert "is a name of version" in here.perf("tag", name, "0@i", code=2).err


def test_a_tag_that_is_not_there_is_called_one(here: Here) -> None:
    here.register()
    here.perf("tag", "release", "0@i")
    assert "there is no tag 'zz'" in here.perf("tag", "-d", "zz", code=3).err
    assert "did you mean 'release'?" in here.perf("tag", "-d", "relaese", code=3).err
