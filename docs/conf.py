"""The site of the documentation for Sphinx. `docs/site.py` prepares the folder that it reads, whose root is that of the
project: so the links of a page lead to the same pages on the site as in the repository."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent

project = "perfcore"
author = "the authors of perfcore"
copyright = "the authors of perfcore, MIT licence"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["docs/**", "plugins/*/*.md", "plugins/*/benchmarks/*.md", "benchmarks/*.md", "*.md"]
# Folders that hold no pages are not walked through.
exclude_patterns = ["docs/schemas", "perfcore", "tests", "changes", "tools", "plugins/*/perfcore_*", "plugins/*/tests"]
nitpicky = True
smartquotes = False  # which makes a dash of the two hyphens of an option
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 6
# Sessions and listings name no language that has to be highlighted without a flaw: `console` has outputs of any form.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "perfcore"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
# The words around a hit are read by a request, which a browser refuses to a page that was opened as a file.
html_show_search_summary = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

man_show_urls = False
man_make_section_directory = True
# The kernel's tool has pages such as perf-diff(1); ours have the other name of the command.
man_pages = [
    (page["document"], page["name"], page["summary"], "", 1)
    for page in json.loads((HERE / "man.json").read_text(encoding="utf-8"))
]
