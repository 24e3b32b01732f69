"""Join the fragments of `changes/` into CHANGELOG.md under a version, and remove them.

python tools/changelog.py 0.2.0 2026-12-01
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADING = "# Changes\n"


def release(root: Path, version: str, date: str) -> None:
    """Write the section of a version on top of the older ones."""
    fragments = sorted((root / "changes").glob("*.md"))
    page = root / "CHANGELOG.md"
    text = page.read_text(encoding="utf-8")
    if not fragments:
        raise SystemExit("changes/ holds no fragment: there is nothing to release")
    if not text.startswith(HEADING) or f"\n## {version} " in text:
        raise SystemExit(f"CHANGELOG.md should begin with {HEADING.strip()!r} and have no section {version} yet")
    lines = "".join(fragment.read_text(encoding="utf-8").rstrip("\n") + "\n" for fragment in fragments)
    page.write_text(f"{HEADING}\n## {version} ({date})\n\n{lines}{text[len(HEADING) :]}", encoding="utf-8")
    for fragment in fragments:
        fragment.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    release(ROOT, *sys.argv[1:])
