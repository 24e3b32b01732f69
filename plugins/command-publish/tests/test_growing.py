"""A long history of a suite that changes in any way: publishing again gives the site that a new repository would."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from perfcore_command_publish import engine
from perfcore_site_kit.branch import RANGE
from perfcore_site_kit.site import Site
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.library import History, open_repository
from perfcore.model import Profile

Files = Callable[[Path], dict[str, bytes]]
VERSIONS, BENCHMARKS = 560, 3
MORE = 30  # versions that are measured later
LATE = 300  # a version that is measured late, in the settled part


def _profile(at: int, machine: str = "1:", level: float = 1.0) -> Profile:
    """Two runs of each benchmark; the second is slower from one version on."""
    chance = random.Random(at)
    factors = [level * (1.1 if number == 1 and at >= 200 else 1) * (number + 1) for number in range(BENCHMARKS)]
    amounts = {
        f"b{number}": [factor * (1 + chance.gauss(0, 0.005)) for _ in range(2)] for number, factor in enumerate(factors)
    }
    return profiles.suite(
        amounts,
        unit="s",
        created=profiles.CREATED + at,
        config_id="1:" + "0" * 40,
        environment_id=f"{machine}{'0' * 40}",
    )


def _versions(project: Project, count: int) -> list[str]:
    lines = [
        f"commit refs/heads/long\ncommitter A <a@example.org> {1_600_000_000 + 3600 * at} +0000\ndata 1\n{at % 10}\n"
        for at in range(count)
    ]
    subprocess.run(["git", "fast-import", "--quiet"], cwd=project.path, input="".join(lines), text=True, check=True)
    project.git("checkout", "--quiet", "long")
    return project.git("rev-list", "--reverse", "long").lines


def _published_anew(project: Project, tmp_path: Path) -> Path:
    """The site by a repository that remembers nothing."""
    site = tmp_path / "anew"
    shutil.rmtree(site, ignore_errors=True)
    shutil.move(project.path / ".perf" / "cache", tmp_path / "cache")
    engine.publish(open_repository(project.path).repository, site)
    shutil.rmtree(project.path / ".perf" / "cache", ignore_errors=True)
    shutil.move(tmp_path / "cache", project.path / ".perf" / "cache")
    return site


def _add(history: History, versions: list[str], at: int, profile: Profile) -> None:
    history.register(history.save(profile), versions[at])


def test_what_is_published_again_is_what_is_published_anew(project: Project, tmp_path: Path, files: Files) -> None:
    chance, site = random.Random(1), tmp_path / "site"
    versions = _versions(project, VERSIONS + MORE)
    project.git("checkout", "--quiet", versions[VERSIONS - 1])
    history = open_repository(project.path)
    for at in (at for at in range(VERSIONS) if at != LATE):
        _add(history, versions, at, _profile(at))
    engine.publish(open_repository(project.path).repository, site)
    newest = VERSIONS
    events = ["late", "again", "machine", "decision", "cache", *["versions"] * 3]
    chance.shuffle(events)
    for event in events:
        if event == "late":
            _add(history, versions, LATE, _profile(LATE))
        elif event == "again":
            _add(history, versions, 100, _profile(9999))
        elif event == "machine":
            for at in range(newest - 6, newest):
                _add(history, versions, at, _profile(5000 + at, machine="1:f", level=1.3))
        elif event == "decision":
            branch = Site(open_repository(project.path).repository).branch
            change = next(change for _, change in branch.changes if change.primary and change.kind == "degradation")
            project.perf("check", "triage", change.id, "--as", "accepted", "--why", "it is safer", "--author", "Ann")
        elif event == "cache":
            for path in (project.path / ".perf" / "cache").rglob("*"):
                if path.is_file():
                    path.write_bytes(path.read_bytes()[:-5000])
        else:
            newest += chance.randrange(1, MORE // 3)
            project.git("checkout", "--quiet", versions[newest - 1])
            _add(history, versions, newest - 1, _profile(newest - 1))
        engine.publish(open_repository(project.path).repository, site)
        again, anew = files(site), files(_published_anew(project, tmp_path))
        assert sorted(again) == sorted(anew), event
        assert [name for name, content in again.items() if content != anew[name]] == [], event


def test_a_version_leaves_the_pages_of_what_is_settled(project: Project, tmp_path: Path) -> None:
    versions, site = _versions(project, VERSIONS + 1), tmp_path / "site"
    project.git("checkout", "--quiet", versions[VERSIONS - 1])
    history = open_repository(project.path)
    for at in range(VERSIONS):
        _add(history, versions, at, _profile(at))
    engine.publish(open_repository(project.path).repository, site)
    (change,) = (site / "change").iterdir()
    written = {path: path.read_bytes() for path in (change, *(site / "compare").iterdir())}
    assert len(written) > 1
    project.git("checkout", "--quiet", versions[VERSIONS])
    _add(history, versions, VERSIONS, _profile(VERSIONS))
    engine.publish(open_repository(project.path).repository, site)
    assert {path: path.read_bytes() for path in written} == written


def test_a_page_of_a_closed_range_stays_as_it_is_and_the_newest_has_none(
    project: Project, tmp_path: Path, files: Files
) -> None:
    versions, site = _versions(project, RANGE + 3), tmp_path / "site"
    history = open_repository(project.path)
    for at, version in enumerate(versions):
        history.register(history.save(profiles.suite({"b": [1.0]}, created=profiles.CREATED + at)), version)
    written = set()
    for newest in (RANGE + 1, RANGE + 2):
        project.git("checkout", "--quiet", versions[newest])
        engine.publish(open_repository(project.path).repository, site)
        written |= {path.stat().st_mtime_ns for path in (site / "range").rglob("*.html")}
    assert len(written) == 1
    again, anew = files(site), files(_published_anew(project, tmp_path))
    assert [name.split("/")[1] for name in again if name.startswith("range/")] == ["1"]
    assert [name for name in again.keys() | anew.keys() if again.get(name) != anew.get(name)] == []
