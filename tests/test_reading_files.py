"""Files of profiles are read by the format that knows them, whatever else is installed."""

from __future__ import annotations

from perfcore_testing.distributions import Site
from perfcore_testing.project import Project

LINES = """
from perfcore.model import Header, Profile, Tool
from perfcore.profile.table import column, table

class Lines:
    def sniff(self, head, name):
        return head.startswith(b"lines")

    def read(self, path):
        amounts = [int(line) for line in path.read_text().splitlines()[1:]]
        return Profile(
            header=Header(type="lines", cmd="lines"),
            created=0,
            collector=Tool(name="lines"),
            tables={"resources": table("resources", [column("amount", amounts, role="value")])},
        )
"""


def test_a_format_that_cannot_be_imported_disturbs_no_other(site: Site, project: Project) -> None:
    site.install("acme-a", points={"perfcore.format": ["a-broken = acme_a:A"]}, acme_a="raise RuntimeError('gone')")
    site.install("acme-lines", points={"perfcore.format": ["lines = acme_lines:Lines"]}, acme_lines=LINES)
    project.write("profile", "lines\n17\n")
    shown = project.perf("show", "profile", env=site.env)
    assert "17" in shown.out
    assert "format 'a-broken' (acme-a 1.0)" in shown.err


def test_a_broken_format_that_was_asked_for_is_an_error(site: Site, project: Project) -> None:
    site.install("acme-a", points={"perfcore.format": ["a-broken = acme_a:A"]}, acme_a="raise RuntimeError('gone')")
    project.write("profile", "lines\n")
    assert "RuntimeError: gone" in project.perf("import", "a-broken", "profile", env=site.env, code=5).err
