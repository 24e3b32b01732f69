"""The changelog of a release: fragments become a section, and are gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "changelog.py"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "changelog.py").write_bytes(TOOL.read_bytes())
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 0.1.0 (2026-01-01)\n\n- Begins.\n")
    (tmp_path / "changes").mkdir()
    return tmp_path


def _release(checkout: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(checkout / "tools" / "changelog.py"), "0.2.0", "2026-02-02"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_fragments_become_the_newest_section(checkout: Path) -> None:
    (checkout / "changes" / "b.md").write_text("- Second.\n")
    (checkout / "changes" / "a.md").write_text("- First,\n  in two lines.")
    assert _release(checkout).returncode == 0
    assert (checkout / "CHANGELOG.md").read_text() == (
        "# Changes\n\n## 0.2.0 (2026-02-02)\n\n- First,\n  in two lines.\n- Second.\n\n"
        "## 0.1.0 (2026-01-01)\n\n- Begins.\n"
    )
    assert list((checkout / "changes").iterdir()) == []


def test_without_fragments_nothing_is_written(checkout: Path) -> None:
    before = (checkout / "CHANGELOG.md").read_text()
    assert "no fragment" in _release(checkout).stderr
    assert (checkout / "CHANGELOG.md").read_text() == before


def test_a_version_is_released_once(checkout: Path) -> None:
    (checkout / "changes" / "a.md").write_text("- First.\n")
    (checkout / "CHANGELOG.md").write_text("# Changes\n\n## 0.2.0 (2026-02-02)\n\n- Is out.\n")
    assert _release(checkout).returncode == 1
    assert (checkout / "changes" / "a.md").exists()
