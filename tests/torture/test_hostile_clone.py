"""What a repository of somebody else brings along runs nothing before it is trusted: a canary tells."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.analysis import note_keys
from perfcore.model import Header
from perfcore.model.record import replace
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces
from perfcore.store import notes
from perfcore.store.lookup import Ref

READING = (
    ("status",),
    ("log",),
    ("show", "0@i"),
    ("fsck",),
    ("gc", "--grace", "0s"),
    ("plugins", "list"),
    ("log", "--changes"),
    ("log", "--unreachable"),
    ("doctor",),
    ("papi", "doctor"),
    ("check", "ack"),
    ("publish", "site"),
    ("serve", "--check"),
)
RUNNING = (
    ("run", "matrix"),
    ("collect", "time", "--repeat", "1", "--", "true"),
    ("collect", "time", "--repeat", "1", "--version", "HEAD", "--", "true"),
    ("check",),
    ("add", "--all"),
    ("run", "job", "--dry-run", "--command", "true"),
    ("aggregate", "sum", "0@i"),
    ("postprocess", "0@i", "normalizer"),
    ("import", "--add", "perf", "out.perf"),
    ("rm", "0@p"),
)
# What begins a repository of its own, and what asks for a word of its user.
OUTSIDE = {"init", "demo"}


@pytest.fixture
def bait(empty_project: Project) -> Path:
    """A program that leaves a canary, and where: `bait.with_suffix(".canary")`."""
    path = empty_project.home.parent / "bait"
    path.write_text(f"#!/bin/sh\necho sang >>'{path.with_suffix('.canary')}'\n")
    path.chmod(0o755)
    return path


def hostile(project: Project, bait: Path) -> str:
    """A configuration that would run the bait in every way it can."""
    evil = project.path / "perfcore_evil.py"
    evil.write_text(f"import os\nos.system('{bait}')\n")
    return "\n".join(
        (
            "execute:",
            f"  pre_run: ['{bait}']",
            "  shell: true",
            f"bins: ['{bait}']",
            "collectors: [time]",
            "storage: {name: evil}",
            "check: {name: perfcore_evil}",
            f"collector: {{time: {{load: '{bait}', runner: '{bait}'}}}}",
            f"vcs: {{git: {{executable: '{bait}'}}}}",
            f"view: {{table: {{pager: '{bait}'}}}}",
            "",
        )
    )


def sang(bait: Path) -> bool:
    return bait.with_suffix(".canary").exists()


def test_a_versioned_configuration_runs_nothing_before_it_is_trusted(empty_project: Project, bait: Path) -> None:
    project = empty_project
    project.git("init", "--quiet", "--initial-branch=main")
    project.write(".perfcore.yml", hostile(project, bait))
    for folder in (".perf-hooks", "perfcore", "perfcore_storage_evil"):
        project.write(f"{folder}/__init__.py", f"import os\nos.system('{bait}')\n")
    project.commit("Theirs")
    perf = str(Path(sys.executable).with_name("perf"))  # `python -m` would look for perfcore in their folder first
    for words in (("init",), *READING, *RUNNING):
        done = project.run(perf, *words)
        assert not sang(bait), done
        assert done.code != 70, done
        assert "Traceback" not in done.err, done
    assert project.run(perf, "run", "job", "--command", "true").code == 7


def test_pre_run_runs_once_it_is_trusted_and_not_when_it_has_changed(project: Project, bait: Path) -> None:
    project.commit("Ours", __perfcore__yml=f"execute:\n  pre_run: ['{bait}']\n")
    job = ("run", "job", "--command", "true", "--repeat", "1", "--warmup", "0")
    assert project.perf(*job, code=7).err.startswith("perf: ")
    assert not sang(bait)
    project.perf("config", "trust", "--yes")
    project.perf(*job)
    assert sang(bait)
    bait.with_suffix(".canary").unlink()
    project.write(".perfcore.yml", f"execute:\n  pre_run: ['{bait} ']\n")
    project.perf(*job, code=7)
    assert not sang(bait)


def test_what_is_trusted_in_one_repository_is_not_in_another(project: Project, bait: Path) -> None:
    """The same words run another program there."""
    project.write(".perfcore.yml", "execute:\n  pre_run: [./build]\n")
    _program(project, "")
    project.commit("Ours")
    project.perf("config", "trust", "--yes")
    job = ("run", "job", "--command", "true", "--repeat", "1", "--warmup", "0")
    project.perf(*job)
    theirs = Project(project.path.with_name("theirs"), project.home)
    project.git("clone", "--quiet", str(project.path), str(theirs.path))
    _program(theirs, str(bait))
    theirs.commit("Theirs")
    theirs.perf("init")
    assert "perf config trust" in theirs.perf(*job, code=7).err
    assert not sang(bait)
    theirs.perf("config", "trust", "--yes")
    theirs.perf(*job)
    assert sang(bait)


def _program(project: Project, line: str) -> None:
    project.write("build", f"#!/bin/sh\n{line}\n").chmod(0o755)


def test_a_perf_folder_of_somebody_else_runs_nothing(project: Project, bait: Path) -> None:
    project.collect("true")
    project.perf("add", "--all")
    theirs = project.path.with_name("theirs")
    shutil.copytree(project.path, theirs)
    local = theirs / ".perf/local.yml"
    text = local.read_text().replace("storage:\n  name: local\n", "storage: {name: evil}\n")
    assert "evil" in text
    local.write_text(f"{text}execute: {{pre_run: ['{bait}']}}\nbins: ['{bait}']\n")
    hooks = theirs / ".perf/hooks"
    hooks.mkdir()
    for name in ("post-add", "profile_registered"):
        shutil.copy(bait, hooks / name)
    for words in (*READING, *RUNNING):
        done = project.perf(*words, code=None, cwd=theirs)
        assert not sang(bait), done
        assert done.code != 70, done
    done = project.perf("run", "job", "--command", "true", "--repeat", "1", code=None, cwd=theirs)
    assert done.code == 7, done


MEASURING_AGAIN = (
    ("check", "--confirm"),
    ("check", "all", "--confirm"),
    ("check", "--collect"),
    ("bisect",),
    ("bisect", "--auto"),
    ("bisect", "HEAD~1", "HEAD"),
    ("bisect", "--reset", "HEAD~1", "HEAD"),
)
LOOKING = (
    ("history",),
    ("history", "--csv"),
    ("check", "all"),
    ("diff", "HEAD~1:0@i", "HEAD:0@i"),
    ("compare", "HEAD~1:0@i", "HEAD:0@i"),
    ("export", "0@i", "--force", "-o", "out.perf"),
    ("tag",),
    ("config", "show"),
    ("fleet", "status"),
    ("fleet", "report"),
    ("fleet", "queries"),
)
SHARING = (
    ("remote",),
    ("fetch", "origin"),
    *(
        (verb, name, *options)
        for name in ("folder", "origin", "shell", "far")
        for verb, options in (("push", ("--dry-run",)), ("push", ()), ("pull", ()))
    ),
)
GIT_KEYS = (
    *("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy"),
    *("diff.external", "diff.evil.textconv", "diff.evil.command", "merge.evil.driver", "gpg.program"),
    *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "credential.helper", "pager.log"),
)
GIT_HOOKS = ("post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-commit", "pre-auto-gc")


@pytest.fixture
def measured(project: Project) -> Project:
    """Two versions with a profile each, the second slower; files have attributes that name drivers."""
    project.commit("First", data__txt="1", __gitattributes="*.txt filter=evil diff=evil merge=evil\n")
    register(project, 100_000_000)
    project.commit("Second", data__txt="2")
    register(project, 200_000_000)
    return project


def register(project: Project, wall: int, **changes: Any) -> None:
    """Have a profile of the head in the store, as a merge brings it: nothing was measured here."""
    places = UserPlaces(project.home / "config.yml", project.home / "list", project.home / "trees")
    repository = Repository.open(project.path, places=places)
    profile = replace(profiles.timed(runs=12, wall=wall), origin=repository.version(), **changes)
    repository.register(Ref(kind="pending", pending=repository.save(profile)), profile.origin)


def in_a_profile(project: Project, bait: Path) -> None:
    """The bait in every field of a profile."""
    text = str(bait)
    made = profiles.timed()
    header = Header(type="time", argv=(text,), cmd="true", args=text, workload=text, shell=True, tags=(text, "odd"))
    options = dict.fromkeys(("setup", "cleanup", "stdin", "pre_run", "load"), text)
    collector = replace(made.collector, params=options)
    for back in ("HEAD~1", "HEAD"):
        project.git("checkout", "--quiet", "--detach", back if back != "HEAD" else "main")
        machine = {**made.machine, "command": text}
        register(project, 300_000_000, header=header, collector=collector, notes=(text,), machine=machine)
    project.git("checkout", "--quiet", "main")


def in_a_journal(project: Project, bait: Path) -> None:
    """The bait in every field of a bisection that is under way."""
    ids = [project.git("rev-parse", revision).out.strip() for revision in ("HEAD~1", "HEAD")]
    text = str(bait)
    command = {"argv": [text], "cmd": "true", "shell": True, "env": {"LD_PRELOAD": text, "BASH_ENV": text}}
    command |= {"params": {"setup": text, "cleanup": text}, "args": "", "workload": ""}
    journal = {"format": 1, "versions": ids, "command": command, "programs": {ids[0]: text}, "broken": {}}
    (project.path / ".perf/bisect.json").write_text(json.dumps(journal))


def in_the_configuration(project: Project, bait: Path) -> None:
    """The bait in every key of `.perf/local.yml` that runs something, and in a draft of it."""
    local = project.path / ".perf/local.yml"
    text = local.read_text() + f"execute: {{pre_run: ['{bait}'], shell: true}}\nbins: ['{bait}']\n"
    text += f"plugins: {{own: {{collector: {{time2: '{bait}:X'}}}}}}\ncheck: {{notify: ['{bait}']}}\n"
    local.write_text(text)
    local.with_name("local.yml.draft").write_text(text)


def in_the_notes(project: Project, bait: Path) -> None:
    """The bait in every note that a command reads: results of checks, acceptances, calibrations; and in the files of
    acceptances and of redactions."""
    places = UserPlaces(project.home / "config.yml", project.home / "list", project.home / "trees")
    store = Repository.open(project.path, places=places).store
    text = str(bait)
    said = {"command": text, "argv": [text], "cmd": "true", "notify": [text], "check": text, "method": text, "id": text}
    row = json.dumps({"format": 1, **said, "changes": [said], "accepted": [said], "rows": [said], "why": text})
    ids = [project.git("rev-parse", revision).out.strip() for revision in ("HEAD~1", "HEAD")]
    subjects = (note_keys.CALIBRATION, note_keys.ACCEPTED, *(note_keys.of_bucket(id[:2]) for id in ids))
    for subject in subjects:
        for kind in ("result", "acceptance", "calibration", "check"):
            notes.add(store, subject, kind, row.encode())
    (project.path / note_keys.ACCEPTED_FILE).write_text(f"- {row}\n")
    (project.path / ".perf/redacted").write_text(row)


def in_the_caches(project: Project, bait: Path) -> None:
    """The bait wherever commands keep something for the next one, and in what a killed one left."""
    perf = project.path / ".perf"
    for words in (("log",), ("check", "all"), ("history",), ("status",)):
        project.perf(*words, code=None)
    cached = [path for path in (perf / "cache").rglob("*") if path.is_file()]
    for path in (*cached, *(perf / name for name in ("tmp/hook", "locks/hook", "jobs/x.perf", "jobs/x.sh", "logs/x"))):
        path.parent.mkdir(exist_ok=True)
        shutil.copy(bait, path)


def in_git(project: Project, bait: Path) -> None:
    """The bait in git's configuration and hooks."""
    for key in GIT_KEYS:
        project.git("config", key, str(bait))
    urls = {"folder": "../shared", "origin": "../origin.git", "shell": f"ext::{bait}", "far": "ssh://127.0.0.1:9/x"}
    project.git("init", "--quiet", "--bare", "../origin.git")
    for name, url in urls.items():
        project.git("config", f"remote.{name}.url", url)
        for key in ("uploadpack", "receivepack", "vcs", "proxy"):
            project.git("config", f"remote.{name}.{key}", str(bait))
    project.git("config", "protocol.ext.allow", "always")
    project.git("config", "uploadpack.packObjectsHook", str(bait))
    for name in GIT_HOOKS:
        shutil.copy(bait, project.path / ".git/hooks" / name)
    for name in ("pre-receive", "update", "reference-transaction", "post-receive", "post-update"):
        shutil.copy(bait, project.path.parent / "origin.git/hooks" / name)
    (project.path / "data.txt").touch()


@pytest.mark.parametrize(
    "plant", [in_a_profile, in_a_journal, in_the_configuration, in_the_notes, in_the_caches, in_git]
)
def test_what_is_stored_runs_nothing(measured: Project, bait: Path, plant: Callable[[Project, Path], None]) -> None:
    bait.with_suffix(".canary").unlink(missing_ok=True)
    plant(measured, bait)
    bait.with_suffix(".canary").unlink(missing_ok=True)  # git itself ran it for the commands of this test
    for words in (*LOOKING, *MEASURING_AGAIN, *READING, *RUNNING, *SHARING):
        done = measured.perf(*words, code=None)
        assert not sang(bait), done
        assert done.code != 70, done
        assert "Traceback" not in done.err, done


def test_every_verb_is_tried(empty_project: Project) -> None:
    """One that is added is added above, too."""
    tried = {words[0] for words in (*LOOKING, *MEASURING_AGAIN, *READING, *RUNNING, *SHARING)}
    shown = empty_project.perf("--help").out.partition("Begin:")[2]
    verbs = {line.split()[0] for line in shown.splitlines() if line.startswith("  ") and line[2:3].isalpha()}
    assert {"check", "push", "papi"} <= verbs
    assert verbs - tried - OUTSIDE == set()
