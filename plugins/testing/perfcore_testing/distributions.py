"""Distributions made on the spot: a folder on Python's path, with modules and metadata as pip leaves them behind.

def test_it_is_listed(site, project):
    site.install("acme-perf", points={"perfcore.view": ["acme = acme:View"]}, acme="class View: ...")
    assert "acme" in project.perf("plugins", "list", env=site.env).out
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from perfcore.plugins.stevedore_driver import forget_installed


class Site:
    """The folder. `env` makes another process find what is installed in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def env(self) -> dict[str, str]:
        return {"PYTHONPATH": os.pathsep.join(filter(None, (str(self.path), os.environ.get("PYTHONPATH"))))}

    def install(
        self,
        name: str,
        version: str = "1.0",
        *,
        points: Mapping[str, Sequence[str]],
        classifiers: Sequence[str] = (),
        requires: Sequence[str] = (),
        **modules: str,
    ) -> Path:
        """A distribution with these lines of entry points by group, and modules by name; gives its metadata's
        folder. What is in a module is text, so that it is only looked at when it is imported."""
        info = self._info(name, version)
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Classifier: {classifier}" for classifier in classifiers]
        lines += [f"Requires-Dist: {requirement}" for requirement in requires]
        (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
        sections = ["\n".join([f"[{group}]", *entries]) for group, entries in points.items()]
        (info / "entry_points.txt").write_text("\n\n".join(sections) + "\n", encoding="utf-8")
        for module, source in modules.items():
            (self.path / f"{module}.py").write_text(source, encoding="utf-8")
        files = [f"{module}.py,," for module in modules]
        # Hash and size may be empty (PyPA: recording installed projects).
        (info / "RECORD").write_text("\n".join([*files, f"{info.name}/RECORD,,", ""]), encoding="utf-8")
        forget_installed()
        return info

    def uninstall(self, name: str, version: str = "1.0") -> None:
        info = self._info(name, version)
        for line in (info / "RECORD").read_text(encoding="utf-8").split():
            (self.path / line.partition(",")[0]).unlink(missing_ok=True)
        shutil.rmtree(info)
        forget_installed()

    def _info(self, name: str, version: str) -> Path:
        return self.path / f"{name.replace('-', '_')}-{version}.dist-info"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """An empty one, on the path of this process too; what is imported from it is forgotten afterwards."""
    path = tmp_path / "site"
    path.mkdir()
    monkeypatch.syspath_prepend(str(path))
    yield Site(path)
    forget_installed()
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(path)):
            del sys.modules[name]
