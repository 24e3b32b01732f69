"""Pending profiles: `jobs/*.perf`, JSON files that wait to be registered."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from perfcore.errors import ConflictError, FormatError, KeyExistsError, KeyMissingError
from perfcore.named_tuple import NamedTuple
from perfcore.store.objects import MAX_BYTES, check_type, folder_in_place

if TYPE_CHECKING:
    from perfcore.model import Profile
    from perfcore.profile import codec
    from perfcore.store.store import Store

Outline = Literal["", "profile", "summary"]
JOBS = "jobs/"
SUFFIX = ".perf"
_UNSAFE = r"[^A-Za-z0-9._+]+"  # shells, Windows or URLs give the others a meaning
_SECOND = 1_000_000_000
_STAMP_FORMAT = "%Y%m%dT%H%M%S"
_STAMP = r"-([0-9]{8}T[0-9]{6})(?:-([1-9][0-9]{0,3}))?\.perf$"
_CREATED = rb'"created":\s*([0-9]{1,19})\b'  # compiled only where a profile cannot be read, as the one above


class Pending(NamedTuple):
    """A pending profile: `name` is its file name in `.perf/jobs`. `damage` says why it cannot be read, and then
    `profile` is None."""

    name: str
    tag: str
    profile: Profile | None
    damage: str = ""
    time: int = 0  # when a damaged profile was probably made, so that others keep their numbers

    @property
    def key(self) -> str:
        return JOBS + self.name

    @property
    def created(self) -> int:
        return self.profile.created if self.profile else self.time


def save(store: Store, profile: Profile) -> Pending:
    """Write a profile to the pending ones under a name that says what it is. FormatError if none can register it."""
    return _write(store, profile, lambda data: _create(store, suggest_name(profile), data, profile))


def replace(store: Store, earlier: Pending | None, profile: Profile) -> Pending:
    """Write a profile over a pending one of which it has more runs. Where that is gone or was changed meanwhile, it
    gets a name of its own."""
    if earlier is None:
        return save(store, profile)
    old = earlier

    def swap(data: bytes) -> Pending:
        return Pending(name=old.name, tag=store.storage.replace(old.key, data, old.tag), profile=profile)

    try:
        return _write(store, profile, swap)
    except (ConflictError, KeyMissingError):
        return save(store, profile)


def _write(store: Store, profile: Profile, put: Callable[[bytes], Pending]) -> Pending:
    from perfcore.profile import codec

    check_type("profile", profile.header.type)
    chains = store.earlier(profile)
    data, tables = store.encode_profile(profile, chains, sealed=True)
    saved = put(data)
    while True:  # from now on the tables are reachable; until now they were only new
        try:
            store.touch(tables)
            if shared := codec.shared_pieces(data, saved.name):
                store.stack_bases.note(profile, shared)
            return saved
        except KeyMissingError:
            store.encode_profile(profile, chains)


def read(store: Store, name: str, get: codec.GetPiece | None = None, *, outline: Outline = "") -> tuple[Pending, bytes]:
    """One pending profile, whose tables `get` reads, and its bytes. KeyMissingError where it is gone. Of an `outline`
    the tables are decoded when they are looked at, if it is sealed."""
    stored = store.storage.read(JOBS + name)

    def decode() -> Profile:
        from perfcore.profile import codec

        return codec.decode(stored.data, get or store.get_piece, where=f"pending profile {name}")

    try:
        profile = (_outline(stored.data, decode, outline) if outline else None) or decode()
    except FormatError as error:
        return _damaged(name, stored.tag, error.message, stored.data), stored.data
    return Pending(name=name, tag=stored.tag, profile=profile), stored.data


def _outline(data: bytes, decode: Callable[[], Profile], kind: Outline) -> Any:
    from perfcore.profile.outline import outline, summary

    return summary(data) if kind == "summary" else outline(data, decode)


def walk(store: Store, *, outline: Outline = "") -> list[Pending]:
    """All pending profiles, oldest first: their places are the numbers of `N@p`. Of a `summary` the profiles are
    `perfcore.profile.outline.Summary` where they are sealed."""
    waiting = list(_each(store, outline))
    times = {pending.name: pending.created for pending in waiting}
    return sorted(waiting, key=lambda pending: (_position(pending, times), pending.name))


def _position(pending: Pending, times: Mapping[str, int]) -> int:
    """When it was made. A damaged one whose second alone is known stands behind those of its name before it."""
    if pending.profile is not None or (match := re.search(_STAMP, pending.name)) is None:
        return pending.created
    base = pending.name[: match.end(1)]
    names = (_numbered(base, attempt) for attempt in range(1, int(match[2] or 1)))
    return max([pending.created, *(times[name] + 1 for name in names if name in times)])


def _numbered(base: str, attempt: int) -> str:
    """The file name of the first, second, ... profile that is called so."""
    return f"{base}{'' if attempt == 1 else f'-{attempt}'}{SUFFIX}"


def remove(store: Store, pending: Pending) -> None:
    """Take a pending profile away; it may be gone already."""
    with contextlib.suppress(KeyMissingError):
        store.storage.delete(pending.key, pending.tag)


def suggest_name(profile: Profile) -> str:
    """`time-sort-big.txt-20261120T101500` for what the header says, harmless as a file name."""
    header = profile.header
    words = [header.type, header.cmd.rsplit("/", 1)[-1], header.workload.rsplit("/", 1)[-1]]
    clean = [re.sub(_UNSAFE, "_", word).strip("._-")[:40] for word in words]  # with time and number below 255
    stamp = time.strftime(_STAMP_FORMAT, time.gmtime(profile.created / 1e9))
    return "-".join([word for word in clean if word] + [stamp])


def _create(store: Store, base: str, data: bytes, profile: Profile) -> Pending:
    for attempt in range(1, 1_000_000):
        name = _numbered(base, attempt)
        try:
            return Pending(name=name, tag=store.storage.create(JOBS + name, data), profile=profile)
        except KeyExistsError:
            continue
    raise FormatError(f"a million pending profiles are called {base}")


def _each(store: Store, outline: Outline) -> Iterator[Pending]:
    for folder in store.storage.stamps(JOBS) if hasattr(store.storage, "stamps") else ():
        if folder.endswith(f"{SUFFIX}/"):
            yield _damaged(folder[len(JOBS) : -1], "", f"{folder_in_place(folder[:-1])}: move it away")
    for listed in store.storage.list(JOBS):
        name = listed.key.removeprefix(JOBS)
        if not name.endswith(SUFFIX) or "/" in name:
            continue
        large = f"pending profile {name} has {listed.size:,} bytes; over {MAX_BYTES:,} are not read"
        with contextlib.suppress(KeyMissingError):
            is_large = listed.size > MAX_BYTES
            yield _damaged(name, listed.tag, large) if is_large else read(store, name, outline=outline)[0]


def _damaged(name: str, tag: str, damage: str, data: bytes = b"") -> Pending:
    return Pending(name=name, tag=tag, profile=None, damage=damage, time=_probable_time(name, data))


def _probable_time(name: str, data: bytes) -> int:
    """When a profile that cannot be read was made (ns since 1970 UTC): as its bytes say, if that is in the second that
    `suggest_name` wrote into the name; else that second, or 0."""
    times = [int(digits) for digits in re.findall(_CREATED, data)]
    match = re.search(_STAMP, name)
    if match is None:
        return max(times, default=0)
    import calendar  # only for what cannot be read

    try:
        second = calendar.timegm(time.strptime(match[1], _STAMP_FORMAT)) * _SECOND
    except ValueError:
        return max(times, default=0)
    return next((time for time in times if second <= time < second + _SECOND), second)
