"""`perf import` and `perf export`, and the same by the library: options of formats, directories, versions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfcore.errors import UsageError
from perfcore.library import History
from perfcore.repository.repository import Repository

if TYPE_CHECKING:
    from perfcore_testing.project import Project

FOLDED = "main;load 3\nmain;sort 5\n"


def test_options_of_a_format_stand_on_the_command_line(project: Project) -> None:
    (project.path / "a.folded").write_text(FOLDED)
    project.perf("import", "folded", "a.folded")
    project.perf("export", "--format", "folded", "0@p", "--metric", "samples", "-o", "b.folded")
    assert (project.path / "b.folded").read_text() == FOLDED
    wrong = project.perf("export", "0@p", "-o", "c.folded", "--format", "folded", "--metrik", "samples", code=2)
    assert "--metrik" in wrong.err
    assert "--metric" in project.perf("export", "--format", "folded", "0@p", "--help").out


def test_options_of_import_stand_before_and_behind_the_file(project: Project) -> None:
    (project.path / "a.folded").write_text(FOLDED)
    for words in (["--add", "a.folded"], ["a.folded", "--add"], ["folded", "--add", "a.folded"]):
        assert "registered for" in project.perf("import", *words).out


def test_what_is_left_out_of_several_files_does_not_keep_the_others_back(project: Project) -> None:
    for name in ("a", "z"):
        (project.path / f"{name}.folded").write_text(FOLDED)
    (project.path / "cut.folded").write_text("main;load\n")
    done = project.perf("import", "--add", "folded", "a.folded", "cut.folded", "gone.folded", "z.folded", code=4)
    assert len([line for line in done.out.splitlines() if "registered for" in line]) == 2
    assert [name for name in ("cut.folded", "gone.folded") if f"{name}" not in done.err] == []
    assert done.err.count("(left out)") == 2
    assert "imported 2 profiles" in done.err
    assert "2 items in 4 files could not be imported" in done.err
    project.perf("import", "--add", "folded", "cut.folded", code=4)
    project.perf("import", "--add", "folded", "gone.folded", code=3)
    assert "--metrik" in project.perf("import", "folded", "a.folded", "z.folded", "--metrik", "x", code=2).err


def test_a_version_that_no_repository_has_is_told_once_for_several_files(project: Project) -> None:
    for name in ("a", "b"):
        (project.path / f"{name}.folded").write_text(FOLDED)
    done = project.perf("import", "--add", "-v", "nowhere", "folded", "a.folded", "b.folded", code=3)
    assert done.err.count("nowhere") == 1


def test_a_directory_needs_a_format_that_reads_directories(project: Project) -> None:
    error = project.perf("import", ".", code=2).err
    assert "is a directory" in error
    assert "asv" in error
    assert "folded" not in error
    assert "reads only files" in project.perf("import", "folded", ".", code=2).err


def test_the_library_imports_and_exports(project: Project) -> None:
    (project.path / "a.folded").write_text(FOLDED)
    history = History(Repository.open(project.path))
    (imported,) = history.import_("a.folded").profiles
    assert imported.entry is None
    path = history.export(imported.pending, "b.folded", format="folded", metric="samples")
    assert path.read_text() == FOLDED
    with pytest.raises(UsageError):
        history.export(imported.pending, "b.folded", format="folded")
    (registered,) = history.import_("b.folded", register=True).profiles
    assert registered.entry is not None
    assert registered.version == history.version()


def test_the_library_aggregates_pending_and_registered_profiles(project: Project) -> None:
    (project.path / "a.folded").write_text(FOLDED)
    history = History(Repository.open(project.path))
    (first,) = history.import_("a.folded", register=True).profiles
    (second,) = history.import_("a.folded").profiles
    assert first.entry is not None
    joined = history.aggregate(first.entry, second.pending)
    assert joined.profile is not None
    assert joined.profile.sources == (first.entry.profile,)
    samples = joined.profile.tables["resources"]["samples"]
    assert sum(amount for amount in samples if isinstance(amount, int)) == 16
    with pytest.raises(UsageError):
        history.aggregate()


def test_an_exported_profile_is_registered_with_its_version_in_another_clone(project: Project, tmp_path: Path) -> None:
    project.perf("collect", "time", "--repeat", "1", "--warmup", "0", "--add", "--", "true")
    measured = project.git("rev-parse", "HEAD").out.strip()
    project.perf("export", "0@i", "-o", str(tmp_path / "out.perf"))
    project.commit("Later")
    project.git("clone", "--quiet", ".", str(tmp_path / "clone"))
    project.perf("init", cwd=tmp_path / "clone")
    done = project.perf("import", "--add", str(tmp_path / "out.perf"), cwd=tmp_path / "clone")
    assert f"registered for {measured[:10]}" in done.out
    assert "note:" not in done.err


def test_a_profile_of_another_version_is_refused(project: Project, tmp_path: Path) -> None:
    project.perf("collect", "time", "--repeat", "1", "--warmup", "0", "--add", "--", "true")
    project.perf("export", "0@i", "-o", str(tmp_path / "out.perf"))
    project.commit("Later")
    done = project.perf("import", "--add", "--version", "HEAD", str(tmp_path / "out.perf"), code=2)
    assert "is of version" in done.err
    (tmp_path / "empty").mkdir()
    project.git("init", "--quiet", str(tmp_path / "empty"))
    project.git("commit", "--quiet", "--allow-empty", "-m", "One", cwd=tmp_path / "empty")
    project.perf("init", cwd=tmp_path / "empty")
    project.perf("import", "--add", str(tmp_path / "out.perf"), cwd=tmp_path / "empty", code=3)
    assert project.perf("log", "--count-only", cwd=tmp_path / "empty").out.startswith("1 version, 0 measured")


def test_the_head_is_taken_with_a_note_and_only_in_a_clean_tree(project: Project, tmp_path: Path) -> None:
    source = tmp_path / "a.folded"
    source.write_text(FOLDED)
    assert "the head is taken" in project.perf("import", "--add", str(source)).err
    project.commit("Second", work__py="1")
    (project.path / "work.py").write_text("2")
    assert "uncommitted changes" in project.perf("import", "--add", str(source), code=2).err
    project.perf("import", "--add", "--version", "HEAD", str(source))
