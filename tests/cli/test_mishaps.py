"""What people run into by mistake or by accident, and what they are told then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Here


def editor(here: Here, text: str) -> None:
    """An editor that writes this over the file."""
    script = here.home / "editor"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f'#!/bin/sh\ncat >"$1" <<"END"\n{text}\nEND\n')
    script.chmod(0o755)
    here.env["EDITOR"] = str(script)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("vcs: {name: git}\ngc: {grace: x}", "gc.grace"),
        ("vcs: {name: git}\ncheck: {threshold: -1}", "check.threshold"),
        ("gc: {grace: 3d}", "which VCS this is"),
    ],
)
def test_an_edited_configuration_is_kept_only_if_it_can_be_used(here: Here, text: str, told: str) -> None:
    before = (here.path / ".perf" / "local.yml").read_bytes()
    editor(here, text)
    done = here.perf("config", "edit", code=2)
    assert told in done.err
    assert "is as it was" in done.err
    assert (here.path / ".perf" / "local.yml").read_bytes() == before
    here.perf("status")


def test_a_folder_that_lost_its_file_says_what_to_write_into_it(here: Here) -> None:
    (here.path / ".perf" / "local.yml").unlink()
    done = here.perf("status", code=3)
    assert "has lost its local.yml" in done.err
    (here.path / ".perf" / "local.yml").write_text("vcs: {name: git}\n")
    here.perf("status")


def test_what_is_no_file_is_not_lost(here: Here) -> None:
    """Such as a named pipe, which opened would never end."""
    file = here.path / ".perf" / "local.yml"
    file.unlink()
    file.symlink_to("nothing")
    assert "local.yml is no file: put one in its place" in here.perf("status", code=3).err
    file.unlink()
    file.mkdir()
    assert "local.yml is no file: put one in its place" in here.perf("status", code=3).err
    file.rmdir()
    file.write_text("vcs: {name: git}\n")
    here.perf("status")


def test_a_damaged_index_says_how_to_go_on(here: Here) -> None:
    here.collect("true")
    here.perf("add", "0@p")
    head = here.git("rev-parse", "HEAD").out.strip()
    index = here.path / ".perf" / "objects" / head[:2] / head[2:]
    index.write_bytes(index.read_bytes()[:-3])
    here.collect("true")
    done = here.perf("add", "0@p", code=4)
    assert "move it away" in done.err
    index.unlink()
    here.perf("add", "0@p")


def test_rows_without_columns_are_bounded(here: Here, tmp_path: Path) -> None:
    here.collect("true")
    here.perf("export", "0@p", "-o", str(tmp_path / "x.perf"))
    wire = json.loads((tmp_path / "x.perf").read_text())
    wire["tables"]["nothing"] = {"rows": 2**60, "columns": []}
    (tmp_path / "x.perf").write_text(json.dumps(wire))
    assert "has no columns" in here.perf("add", str(tmp_path / "x.perf"), code=4).err


def test_a_plugin_that_is_not_installed_is_told_as_such(here: Here) -> None:
    here.collect("true")
    assert "none of these is one: 0@p, nosuch" in here.perf("postprocess", "0@p", "nosuch", code=2).err
    assert "perfcore-view-xylophone" in here.perf("show", "0@p", "xylophone", code=3).err


def test_an_option_that_a_plugin_does_not_have_is_not_set(here: Here) -> None:
    done = here.perf("config", "set", "collector.time.repat", "3", code=2)
    assert "unknown option 'repat'" in done.err
    assert "repeat" in done.err
    here.perf("config", "set", "collector.time.repeat", "3")
    here.perf("config", "set", "collector.time.timeout", "9")
    here.perf("config", "set", "collector.elsewhere.anything", "9")
