"""`perf config`, and what the configuration makes the commands do."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from perfcore.config.layers import MAX_LAYER_BYTES

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Here


def test_a_value_that_was_set_is_read_and_says_where_it_comes_from(here: Here) -> None:
    here.perf("config", "set", "gc.grace", "3d")
    assert here.perf("config", "get", "gc.grace").out == "259200.0\n"
    assert "gc.grace = 3d  (local)" in here.perf("config", "get").lines
    values = here.perf("config", "get", "--json").json
    assert values["schema"] == 1
    assert values["values"]["gc.grace"] == {"value": "3d", "layer": "local"}
    assert here.perf("config", "get", "gc.grace", "--json").json["value"] == 259200


def test_layers_outweigh_one_another_from_user_to_local(here: Here) -> None:
    for value, option in (("0.1", "--user"), ("0.2", "--project")):
        here.perf("config", "set", option, "check.threshold", value)
        assert here.perf("config", "get", "check.threshold").out == f"{value}\n"
    here.perf("config", "set", "check.threshold", "0.3")
    assert here.perf("config", "get", "check.threshold").out == "0.3\n"
    for value, where in (("0.2", ()), ("0.1", ("--project",))):
        here.perf("config", "unset", *where, "check.threshold")
        assert here.perf("config", "get", "check.threshold").out == f"{value}\n"


def test_the_user_s_own_can_be_set_outside_of_a_repository(bare: Here) -> None:
    bare.perf("config", "set", "--user", "check.threshold", "0.1")
    assert bare.perf("config", "get", "check.threshold").out == "0.1\n"
    assert "not inside" in bare.perf("config", "set", "check.threshold", "0.1", code=3).err


def test_comments_and_the_rest_of_a_file_stay(here: Here) -> None:
    path = here.write(".perfcore.yml", "# ours\ngc:\n  grace: 1d  # short\n")
    here.perf("config", "set", "--project", "check.threshold", "0.1")
    text = path.read_text()
    assert "# ours" in text
    assert "grace: 1d  # short" in text
    assert "threshold: 0.1" in text


def test_options_of_plugins_are_keys_too(here: Here) -> None:
    here.perf("config", "set", "collector.time.repeat", "2")
    here.perf("config", "set", "collector.time.warmup", "0")
    row = here.perf("collect", "time", "--json", "--", "true").json["profiles"][0]
    assert {metric["runs"] for metric in row["metrics"] if metric["metric"] == "cpu"} == {2}
    assert "did you mean 'repeat'?" in here.perf("config", "set", "collector.time.repaet", "2", code=2).err
    here.write(".perf/local.yml", "vcs: {name: git}\ncollector: {time: {repaet: 2}}\n")
    here.perf("config", "trust", "--yes")
    done = here.perf("collect", "time", "--", "true", code=2)
    assert "unknown option 'repaet'" in done.err
    assert "did you mean 'repeat'?" in done.err


def test_a_link_in_place_of_the_users_file_stays(bare: Here, tmp_path: Path) -> None:
    """As for who keeps settings in a repository: the linked file is changed, and nothing is left beside it."""
    bare.perf("config", "set", "--user", "check.threshold", "0.1")
    config = next(bare.home.rglob("config.yml"))
    kept = tmp_path / "settings" / "perfcore.yml"
    kept.parent.mkdir()
    config.rename(kept)
    config.symlink_to(kept)
    bare.perf("config", "set", "--user", "gc.grace", "7")
    bare.perf("config", "unset", "--user", "check.threshold")
    bare.perf("config", "edit", "--user", env={"EDITOR": "sed -i s/7/8/"})
    assert config.readlink() == kept
    assert kept.read_text().split()[-3:] == ["gc:", "grace:", "8"]
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("set", "gc.graace", "1"), "did you mean 'gc.grace'?"),
        (("get", "gc.graace"), "did you mean 'gc.grace'?"),
        (("set", "gc.grace", "soon"), "gc.grace wants a duration such as"),
        (("set", "execute.shell", "maybe"), "execute.shell wants true or false, got 'maybe'"),
        (("set", "check.threshold", "true"), "check.threshold wants a number"),
        (("set", "check.thresholds", "[1]"), "check.thresholds wants numbers by name"),
        (("set", "vcs.name", "[git]"), "vcs.name wants text"),
        (("set", "bins", "[a"), "is not YAML"),
        (("set", "--user", "--project", "gc.grace", "1"), "name two files"),
        (("set", "gc.grace"), "missing argument 'VALUE'"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(here: Here, words: tuple[str, ...], says: str) -> None:
    before = here.snapshot()
    done = here.perf("config", *words, code=2)
    assert says in done.err
    assert "Traceback" not in done.err
    assert {k: v for k, v in here.snapshot().items() if "lock" not in k and k != str(here.path / ".perf")} == {
        k: v for k, v in before.items() if "lock" not in k
    }


def test_a_key_that_is_not_set_is_told(here: Here) -> None:
    assert "check.threshold is not set" in here.perf("config", "get", "check.threshold", code=3).err


def test_a_broken_file_is_named_with_its_line_by_every_command(here: Here) -> None:
    for text, says in (
        ("gc:\n  grace: [\n", "line 3, is not YAML"),
        ("gc:\n\n  graze: 1\n", "line 3: unknown key 'gc.graze'"),
        ("colectors: []\n", "line 1: unknown key 'colectors'"),
        ("- a\n", "should hold keys and values"),
    ):
        here.write(".perfcore.yml", text)
        for words in (("status",), ("log",), ("collect", "time", "--", "true"), ("config", "get")):
            done = here.perf(*words, code=2)
            assert ".perfcore.yml" in done.err
            assert says in done.err
    for size, says in ((MAX_LAYER_BYTES + 1, "is larger than"), (2 << 20, "are not read")):
        here.write(".perfcore.yml", "x" * size)
        assert says in here.perf("status", code=4).err


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and devices that have a name")
@pytest.mark.parametrize("kind", ["pipe", "link to stdin", "link to a device"])
@pytest.mark.parametrize("name", [".perfcore.yml", ".perf-accepted.yml"])
def test_no_command_waits_for_a_file_that_is_none(here: Here, name: str, kind: str) -> None:
    """git keeps links, so a clone can have one."""
    path = here.path / name
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/stdin" if "stdin" in kind else "/dev/zero")
    read, write = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "perfcore", "check", "ack", "--list"],
            cwd=here.path,
            env=here.env,
            stdin=read,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(read)
        os.close(write)
    assert done.returncode == 4, done
    assert f"{name}: it is a " in done.stderr


def test_the_line_endings_of_a_file_stay(here: Here) -> None:
    path = here.path / ".perfcore.yml"
    path.write_bytes(b"# ours\r\ngc:\r\n  grace: 60  # short\r\n")
    here.perf("config", "set", "--project", "check.threshold", "0.1")
    assert path.read_bytes() == b"# ours\r\ngc:\r\n  grace: 60  # short\r\ncheck:\r\n  threshold: 0.1\r\n"


def test_nothing_is_set_that_would_make_the_file_too_large(here: Here) -> None:
    text = "gc: {grace: 60}\n" + "#" * (MAX_LAYER_BYTES - 30) + "\n"
    here.write(".perfcore.yml", text)
    here.perf("config", "set", "--project", "check.threshold", "0.1", code=4)
    assert (here.path / ".perfcore.yml").read_text() == text


def _editor(code: str) -> dict[str, str]:
    """An editor that does this to its file, `path`."""
    script = f"import sys; path = sys.argv[1]; {code}"
    return {"EDITOR": shlex.join([sys.executable, "-S", "-c", script])}


def test_edit_keeps_what_the_editor_wrote(here: Here) -> None:
    here.perf("config", "edit", env=_editor("open(path, 'a').write('check: {threshold: 0.5}\\n')"))
    assert here.perf("config", "get", "check.threshold").out == "0.5\n"
    assert here.perf("config", "get", "vcs.name").out == "git\n"


def test_edit_refuses_what_makes_no_sense_and_keeps_the_draft(here: Here) -> None:
    done = here.perf("config", "edit", env=_editor("open(path, 'a').write('chekc: 1\\n')"), code=2)
    assert "unknown key 'chekc'" in done.err
    assert "as it was" in done.err
    assert here.perf("status").code == 0
    fix = "text = open(path).read(); open(path, 'w').write(text.replace('chekc: 1', 'check: {threshold: 0.5}'))"
    here.perf("config", "edit", env=_editor(fix))
    assert here.perf("config", "get", "check.threshold").out == "0.5\n"


def test_an_editor_that_fails_or_is_not_there_changes_nothing(here: Here) -> None:
    before = (here.path / ".perf" / "local.yml").read_text()
    assert "set EDITOR" in here.perf("config", "edit", env={"EDITOR": "no-such-editor-3f"}, code=3).err
    assert "ended with 4" in here.perf("config", "edit", env=_editor("sys.exit(4)"), code=3).err
    assert "editor" in here.perf("config", "edit", env={"EDITOR": "'"}, code=None).err
    assert (here.path / ".perf" / "local.yml").read_text() == before


def test_trust_is_given_to_a_content_and_ends_with_it(here: Here) -> None:
    path = here.write(".perfcore.yml", "execute:\n  pre_run: [touch built]\n")
    assert "nothing was trusted" in here.perf("config", "trust", code=3).err
    out = here.perf("config", "trust", "--yes").out
    assert str(path) in out
    assert "touch built" in out
    assert "nothing that needs" in here.perf("config", "trust").err
    path.write_text("execute:\n  pre_run: [touch other]\n")
    assert "touch other" in here.perf("config", "trust", "--yes").out


def test_what_is_shown_before_trusting_is_harmless(here: Here) -> None:
    here.write(".perfcore.yml", 'execute:\n  pre_run: ["touch \\u202e built"]\n# \u202ecomment\n')
    out = here.perf("config", "trust", "--yes").out
    assert "\u202e" not in out
    assert "comment" in out


def test_what_the_user_sets_is_trusted_but_not_what_stood_there_before(here: Here) -> None:
    here.perf("config", "set", "--project", "execute.pre_run", "touch built")
    here.perf("collect", "time", "-r", "1", "--warmup", "0", "--", "true")
    assert (here.path / "built").exists()
    here.write(".perfcore.yml", "execute:\n  pre_run: [touch theirs]\n")
    done = here.perf("config", "set", "--project", "gc.grace", "1d")
    assert "perf config trust" in done.err
    here.perf("collect", "time", "--", "true", code=7)
    assert not (here.path / "theirs").exists()


def test_what_cannot_be_trusted_is_not_set(here: Here, tmp_path: Path) -> None:
    """What ran before goes on to run, and what runs nothing is set all the same."""
    (tmp_path / "data").symlink_to(tmp_path / "nowhere")
    read_only_home = {"XDG_DATA_HOME": str(tmp_path / "data")}
    here.perf("config", "set", "gc.grace", "3d", env=read_only_home)
    here.perf("config", "set", "execute.pre_run", "touch built", code=4, env=read_only_home)
    assert here.perf("config", "get", "gc.grace").out == "259200.0\n"
    here.perf("collect", "time", "-r", "1", "--warmup", "0", "--", "true", env=read_only_home)
    assert not (here.path / "built").exists()


def test_a_versioned_file_may_set_what_runs_nothing_without_trust(here: Here) -> None:
    here.write(".perfcore.yml", "check: {threshold: 0.2}\nschedule: {repeat: 2, warmup: 0}\n")
    assert here.perf("config", "get", "check.threshold").out == "0.2\n"
    row = here.perf("collect", "time", "--json", "--", "true").json["profiles"][0]
    assert {metric["runs"] for metric in row["metrics"] if metric["metric"] == "cpu"} == {2}


def test_reading_runs_nothing_however_little_is_trusted(here: Here) -> None:
    here.write(
        ".perfcore.yml",
        "execute: {pre_run: [touch ran]}\nbins: [touch ran]\ncollector: {time: {setup: touch ran}}\n",
    )
    for words in (("status",), ("log",), ("config", "get"), ("run", "matrix", "--dry-run"), ("plugins", "list")):
        here.perf(*words)
    here.perf("collect", "time", "--", "true", code=7)
    assert not (here.path / "ran").exists()


def test_the_list_of_what_is_trusted_is_the_user_s_own(here: Here) -> None:
    here.write(".perfcore.yml", "bins: [a]\n")
    here.perf("config", "trust", "--yes")
    (path,) = (here.home / "data").rglob("trusted")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
