"""The annotated sources of versions, as pages of a site."""

from __future__ import annotations

import html
import re

import pytest
from perfcore_site_kit import paths
from perfcore_site_kit.annotated import MOST_BYTES
from perfcore_site_kit.fingerprints import Fingerprints
from perfcore_site_kit.paths import PagePath
from perfcore_site_kit.site import FILES, SERVER, Mode, Site
from perfcore_testing import measured as histories
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.errors import NotFoundError
from perfcore.library import open_repository
from perfcore.model.record import replace


@pytest.fixture
def sampled(project: Project) -> Project:
    histories.sampled_history(project)
    return project


@pytest.fixture
def site(sampled: Project) -> Site:
    return Site(open_repository(sampled.path).repository)


def text_of(site: Site, path: PagePath, mode: Mode = FILES) -> str:
    return site.render(path, mode).content.decode()


def of_kind(site: Site, kind: str) -> list[PagePath]:
    return [path for path in site.pages() if path.kind == kind]


def annotated_version(site: Site) -> PagePath:
    """The page of the version with the change, which has call stacks."""
    return next(path for path in of_kind(site, paths.VERSION) if "What took the time?" in text_of(site, path))


@pytest.mark.parametrize("mode", [FILES, SERVER])
def test_functions_of_a_version_and_of_a_difference_lead_to_their_lines(site: Site, mode: Mode) -> None:
    files = {path.file: path for path in site.pages()}
    (diff, *_) = of_kind(site, paths.DIFF)
    for path in (annotated_version(site), diff):
        links = re.findall(r'<th scope="row" class="text"><a href="([^"]*#[^"]*)">', text_of(site, path, mode))
        assert len(links) >= 4
        for link in map(html.unescape, links):
            address, _, anchor = link.removeprefix("../" * path.depth).rpartition("#")
            target = files[address] if mode is FILES else site.parse(address)
            assert target.kind == paths.SOURCES
            assert f'id="{anchor}"' in text_of(site, target, mode)


def test_sources_are_those_of_the_version_and_missing_ones_are_said(site: Site, sampled: Project) -> None:
    sampled.write("write.py", "# not the text of any version\n")
    pages = [text_of(site, path) for path in of_kind(site, paths.SOURCES)]
    assert any("print('&lt;b&gt;' + text)" in text for text in pages)
    assert not any("not the text of any version" in text for text in pages)
    assert any("The sources of 2 files with" in text for text in pages)


def test_each_page_is_small_and_strict_and_names_the_page_above(site: Site) -> None:
    listed = of_kind(site, paths.SOURCES)
    assert len(listed) == 6
    for path in listed:
        page = site.render(path, FILES)
        assert len(page.content) <= MOST_BYTES
        assert page.policy.startswith("default-src 'none'; script-src 'sha256-")
        above = re.findall(r'<p class="up"><a href="([^"]*)">', page.content.decode())
        assert above == [f"../../../version/{path.parts[0]}.html"]


def test_names_that_are_no_pages_are_errors(site: Site) -> None:
    (path, *_) = of_kind(site, paths.SOURCES)
    version, config, _ = path.parts
    wrong = ("write.py", "../index.html", "", "index.html/x", "index.html.html", "%2e%2e", "index")
    for address in (
        f"sources/{version}",
        f"sources/{version}/{config}",
        *(f"sources/{version}/{config}/{n}" for n in wrong),
    ):
        with pytest.raises(NotFoundError):
            site.render(site.parse(address))
    for parts in ((version, "6b" * 20, "index.html"), ("0" * 40, config, "index.html")):
        with pytest.raises(NotFoundError):
            site.render(PagePath(paths.SOURCES, parts))


def test_pages_of_sources_stay_as_they_are_when_something_is_measured(site: Site, sampled: Project) -> None:
    prints = Fingerprints(site)
    before = {path: prints.of(path) for path in of_kind(site, paths.SOURCES)}
    histories.measure(sampled, {"./steady": lambda _: 4_000_000}, versions=1)
    assert site.refresh()
    prints = Fingerprints(site)
    assert {path: prints.of(path) for path in of_kind(site, paths.SOURCES)} == before
    sampled.git("tag", "v2.0", site.branch.versions[histories.STEP].id)
    again = Site(open_repository(sampled.path).repository)
    prints = Fingerprints(again)
    after = {path: prints.of(path) for path in of_kind(again, paths.SOURCES)}
    part = paths.part(site.branch.versions[histories.STEP].id)
    assert {path for path in before if after[path] != before[path]} == {
        path for path in before if path.parts[0] == part
    }


def test_contents_are_remembered_and_damaged_rows_made_again(site: Site, sampled: Project) -> None:
    listed = of_kind(site, paths.SOURCES)
    read_model = site.repository.store.read_model
    second = Site(open_repository(sampled.path).repository)
    version = second.branch.versions[histories.STEP]
    (entry,) = second.sources.entries(version)
    contents = second.sources.contents(version, entry)
    assert second.sources._last is None, "no profile was read"
    read_model.put("annotated sources", dict.fromkeys(_keys(site), b"\xc1"))
    assert second.sources.contents(version, entry) == contents
    assert of_kind(Site(open_repository(sampled.path).repository), paths.SOURCES) == listed


def test_the_profiles_of_a_version_are_looked_up_once_until_something_is_measured(site: Site, sampled: Project) -> None:
    sources, version = site.sources, site.branch.versions[histories.STEP]
    (entry,) = entries = sources.entries(version)
    assert sources.entries(version) is entries
    history = open_repository(sampled.path)
    newer = replace(profiles.sampled(3), created=entry.created + 1_000, config_id=entry.config_id)
    id = history.register(history.save(newer), version.id).profile
    assert sources.entries(version) is entries, "as the branch of the site is"
    assert site.refresh()
    assert [entry.profile for entry in sources.entries(site.branch.versions[histories.STEP])] == [id]


def _keys(site: Site) -> list[str]:
    sources = site.sources
    pairs = [(version, entry) for version in site.branch.versions for entry in sources.entries(version)]
    return [sources.key(entry) for _, entry in pairs]


def test_without_the_view_a_site_has_no_annotated_sources(sampled: Project) -> None:
    sampled.perf("config", "set", "plugins.disabled", "[annotate]")
    site = Site(open_repository(sampled.path).repository)
    assert of_kind(site, paths.SOURCES) == []
    for path in of_kind(site, paths.VERSION):
        assert "What took the time?" not in text_of(site, path)
        assert "sources/" not in text_of(site, path, SERVER)
    assert "sources/" not in text_of(site, of_kind(site, paths.DIFF)[0], SERVER)
