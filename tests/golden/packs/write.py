"""Packs of small keys of `../v1/perf`, in the version of the format that the perfcore on the path writes:

    PYTHONPATH=OTHER:OTHER/plugins/storage-local python tests/golden/packs/write.py VERSION

where OTHER is a checkout of it. The first pack has rows that do not count any more: of keys that were replaced, and are
in the second pack, and of one that was deleted.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from perfcore_storage_local import LocalStorage

HERE = Path(__file__).parent
SMALL = 2_000  # bytes: with the others, packs of three versions would be large
DELETED = "objects/de/1e7ed00000000000000000000000000000000"


def write(folder: Path) -> None:
    perf = HERE.parent / "v1" / "perf"
    paths = [path for path in sorted((perf / "objects").rglob("*")) if path.is_file() and path.stat().st_size < SMALL]
    contents = {path.relative_to(perf).as_posix(): path.read_bytes() for path in paths}
    replaced = list(contents)[::5]
    with tempfile.TemporaryDirectory() as root:
        storage = LocalStorage(Path(root, ".perf"))
        for key, content in contents.items():
            storage.create(key, b"before it was replaced" if key in replaced else content)
        storage.create(DELETED, b"before it was deleted")
        storage.pack("objects/", least=1)
        for key in replaced:
            storage.replace(key, contents[key], storage.read(key).tag)
        storage.delete(DELETED, storage.read(DELETED).tag)
        storage.pack("objects/", least=1)
        folder.mkdir()
        for path in Path(root, ".perf", "packs", "objects").iterdir():
            (folder / path.name).write_bytes(path.read_bytes())


if __name__ == "__main__":
    write(HERE / sys.argv[1])
