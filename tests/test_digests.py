"""Our hashes are those of hashlib, whoever computes them."""

from __future__ import annotations

import hashlib
import random
import sys

import pytest

from perfcore import digests


@pytest.fixture
def afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the start of a process."""
    monkeypatch.setattr(digests, "_slowly", 100_000)
    digests._maker.cache_clear()


@pytest.mark.usefixtures("afresh")
@pytest.mark.parametrize("size", [0, 1, 63, 64, 1000, 99_999, 100_000, 300_000])
def test_they_are_those_of_hashlib(size: int) -> None:
    data = random.Random(size).randbytes(size)
    for part in (data, memoryview(data)):
        assert digests.sha1(part).hexdigest() == hashlib.sha1(data).hexdigest()
        assert digests.sha256(part).digest() == hashlib.sha256(data).digest()
    assert digests.sha1(data[:7], memoryview(data)[7:]).digest() == hashlib.sha1(data).digest()


@pytest.mark.usefixtures("afresh")
def test_openssl_takes_over_when_much_is_hashed() -> None:
    few, many = b"x" * 10_000, b"x" * 100_000
    assert type(digests.sha1(few)) is not type(hashlib.sha1(few))
    digests.sha1(many)
    assert type(digests.sha1(few)) is type(hashlib.sha1(few))


@pytest.mark.usefixtures("afresh")
def test_a_python_without_hashes_of_its_own_has_those_of_openssl(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("_sha1", "_sha256", "_sha2"):
        monkeypatch.setitem(sys.modules, module, None)
    assert type(digests.sha1(b"x")) is type(hashlib.sha1(b"x"))
    assert digests.sha256(b"x").hexdigest() == hashlib.sha256(b"x").hexdigest()
