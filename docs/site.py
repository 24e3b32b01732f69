"""Builds the documentation as a site and as pages of `man`.

    python docs/site.py OUT

The site is OUT/index.html with all that it needs, and works from a web server as by double click; the manual pages are
in OUT/man. Warnings, such as a link that leads nowhere, are errors. `--check-links` tries the links to other sites
instead.

The pages are those of the repository. The order of the site is that of the lists in `docs/index.md`: each chapter with
a list of links is a chapter of the navigation. Commands get a page each, with the options of all installed plugins.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from command_pages import command_pages, escaped
from generate import contents, elsewhere

from perfcore.plugins import Plugins

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
_LISTED = re.compile(r"^- \[[^\]]+\]\(([^)#\s]+)\.md\)", re.MULTILINE)
_TOCTREE = "\n```{{toctree}}\n:hidden:\n:caption: {caption}\n{documents}\n```\n"
_FRONT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>perfcore</title>
<meta http-equiv="refresh" content="0; url=docs/index.html"><p><a href="docs/index.html">perfcore</a></p></html>
"""
_REPAIRS = (
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Pages">'),
    ('<aside class="toc-drawer', '<aside aria-label="This page" class="toc-drawer'),
    # What scrolls by itself has to be reached by the keyboard.
    ("<pre>", '<pre tabindex="0">'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
    # The head of a column that needs none.
    ('<th class="head"><p></p></th>', "<td></td>"),
    ('<div id="search-results">', '<h1>Search</h1><div id="search-results">'),
)
_COMMANDS = """\
# Commands

Results go to standard output, everything else to standard error. `--json` prints documents with a schema version.
[Concepts](concepts.md) explains the names of profiles and the exit codes. On a terminal, `perf help COMMAND` prints the
same. The [manual pages](../CONTRIBUTING.md#the-documentation) are called `perfcore-check` and so on, as the kernel's
tool has a `perf-diff` of its own.

"""


def build(out: Path, *, check_links: bool = False) -> None:
    """Build the site and the manual pages into a folder, which is made anew."""
    with tempfile.TemporaryDirectory(prefix="perfcore-site-") as folder:
        source, made = Path(folder, "source"), Path(folder, "made")
        prepare(source)
        if check_links:
            _sphinx("linkcheck", source, made)
            return
        _sphinx("html", source, made / "html")
        _sphinx("man", source, made / "man")
        for page in (made / "html").rglob("*.html"):
            _write(page, accessible(page.read_text(encoding="utf-8")))
        for unused in ("objects.inv", ".buildinfo"):
            (made / "html" / unused).unlink(missing_ok=True)
        (made / "html" / "index.html").write_text(_FRONT, encoding="utf-8")
        shutil.copytree(made / "man", made / "html" / "man", ignore=shutil.ignore_patterns(".*"))
        shutil.rmtree(out, ignore_errors=True)
        shutil.move(made / "html", out)


def accessible(page: str) -> str:
    """A page with what the templates of docutils, Sphinx and Furo leave out for readers without a mouse or a screen."""
    for markup, repaired in _REPAIRS:
        page = page.replace(markup, repaired)
    return page


def prepare(source: Path) -> None:
    """The folder that Sphinx reads: the project with the pages that are generated."""
    # Copied, as links to them would be resolved before Sphinx looks where a link leads.
    shutil.copytree(ROOT, source, ignore=_unwanted)
    docs = source / "docs"
    with elsewhere(()):
        _write_commands(docs)
    _write(docs / "drivers.md", _drivers())
    _write(docs / "index.md", _with_navigation((docs / "index.md").read_text(encoding="utf-8")))
    contracts = docs / "plugins" / "README.md"
    kinds = sorted(path.stem for path in contracts.parent.glob("*.md") if path.stem != "README")
    _write(contracts, contracts.read_text(encoding="utf-8") + _toctree("Kinds", kinds))


def _unwanted(folder: str, names: list[str]) -> set[str]:
    """What is no part of the documentation: caches, builds, and pages without a text."""
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "build", "dist")(folder, names)
    return {*unwanted, *(name for name in names if name.endswith(".md") and not Path(folder, name).stat().st_size)}


def _write_commands(docs: Path) -> None:
    """A page for each command, and the list of them in place of the page that holds all."""
    (docs / "commands").mkdir()
    plugins = Plugins()
    pages, manual = list(command_pages(plugins)), []
    for page in pages:
        stem = page.name or "perf"
        _write(docs / "commands" / f"{stem}.md", page.text)
        name = f"perfcore-{page.name}" if page.name else "perfcore"
        manual.append({"document": f"docs/commands/{stem}", "name": name, "summary": page.summary})
    _write(docs / "man.json", json.dumps(manual))
    entries = "\n".join(
        f"## {page.title}\n\n{escaped(page.summary)}: [all options](commands/{page.name or 'perf'}.md).\n"
        for page in pages
    )
    tree = _toctree("Commands", [f"commands/{page.name or 'perf'}" for page in pages])
    _write(docs / "commands.md", _COMMANDS + contents(plugins) + "\n" + entries + tree)


def _drivers() -> str:
    """The page of all plugins of this repository, by kind, with what each says of itself."""
    kinds: dict[str, list[str]] = {}
    for pyproject in sorted(ROOT.glob("plugins/*/pyproject.toml")):
        folder = pyproject.parent
        readme = folder / "README.md"
        if readme.exists() and readme.stat().st_size:
            kinds.setdefault(folder.name.partition("-")[0], []).append(folder.name)
    page = "# Plugins\n\nThe plugins of this project. Any other package can bring more: [how](plugins/README.md).\n"
    for kind, names in kinds.items():
        page += f"\n## {kind}\n\n"
        for name in names:
            project = tomllib.loads((ROOT / "plugins" / name / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            page += f"- [{name}](../plugins/{name}/README.md): {escaped(project['description'])}\n"
    folders = [ROOT / "plugins" / name for names in kinds.values() for name in names]
    paths = [path for folder in folders for path in [*sorted(folder.glob("*.md")), *folder.glob("benchmarks/*.md")]]
    return page + _toctree("Plugins", [f"../{path.relative_to(ROOT).with_suffix('').as_posix()}" for path in paths])


def _with_navigation(index: str) -> str:
    """The first page, with its lists as the navigation."""
    chapters = re.split(r"^## ", index, flags=re.MULTILINE)[1:]
    listed = {chapter.partition("\n")[0]: _LISTED.findall(chapter) for chapter in chapters}
    listed["Plugins"].append("drivers")
    return index + "".join(_toctree(title, documents) for title, documents in listed.items() if documents)


def _toctree(caption: str, documents: list[str]) -> str:
    return _TOCTREE.format(caption=caption, documents="\n".join(documents))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _sphinx(builder: str, source: Path, out: Path, *options: str) -> None:
    words = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--builder", builder]
    command = [*words, *options, "--conf-dir", str(source / "docs"), "--doctree-dir", str(source.parent / "doctrees")]
    done = subprocess.run([*command, str(source), str(out)], check=False)
    if done.returncode:
        raise SystemExit(f"sphinx: the {builder} pages have the errors above")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--check-links", action="store_true", help="Only try the links to other sites.")
    arguments = parser.parse_args()
    build(arguments.out.resolve(), check_links=arguments.check_links)
