"""Eight writers at once, on the servers of two providers: none overwrites another."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from perfcore_storage_object import ObjectStorage, ObjectStorageSettings
from perfcore_storage_object.contract import BUCKET, server
from perfcore_testing import npm

from perfcore.errors import ConflictError, KeyExistsError

from .azurite import azurite

WRITERS, TURNS = 8, 3


@pytest.fixture
def moto(monkeypatch: pytest.MonkeyPatch) -> str:
    environment = server()
    if environment is None:
        pytest.skip("moto is not installed: pip install 'moto[server]', and PERFCORE_TEST_HARNESSES names its bin")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return "s3"


@pytest.fixture
def azure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with azurite(npm.install(tmp_path, "azurite@3") / ".bin" / "azurite-blob", tmp_path / "served") as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield "az"


@pytest.mark.parametrize("provider", ["moto", "azure"])
def test_eight_writers_lose_nothing(provider: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Each adds to one key and makes keys of which one alone may win."""
    settings = ObjectStorageSettings(url=f"{request.getfixturevalue(provider)}://{BUCKET}/{uuid.uuid4().hex}")
    ObjectStorage(tmp_path / "first", settings).create("counter", b"0")

    def write(writer: int) -> list[int]:
        storage, won = ObjectStorage(tmp_path / f"place{writer}", settings), []
        for turn in range(TURNS):
            try:
                storage.create(f"objects/{turn:02x}/key", b"%d" % writer)
                won.append(turn)
            except KeyExistsError:
                pass
            while True:
                stored = storage.read("counter")
                try:
                    storage.replace("counter", b"%d" % (int(stored.data) + 1), stored.tag)
                    break
                except ConflictError:
                    continue
        return won

    with ThreadPoolExecutor(WRITERS) as pool:
        winners = list(pool.map(write, range(WRITERS)))
    reader = ObjectStorage(tmp_path / "reader", settings)
    assert reader.read("counter").data == b"%d" % (WRITERS * TURNS)
    for turn in range(TURNS):
        (winner,) = [writer for writer, won in enumerate(winners) if turn in won]
        assert reader.read(f"objects/{turn:02x}/key").data == b"%d" % winner
