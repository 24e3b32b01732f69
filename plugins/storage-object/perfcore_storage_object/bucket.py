"""Conditional requests to a bucket, and what its answers mean."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import AzureStore, GCSStore, S3Store
from perfcore_storage_kit.errors import UnreachableError
from perfcore_storage_kit.parallel import interruptible

from perfcore.errors import StorageError
from perfcore.named_tuple import NamedTuple
from perfcore.text import clip, printable

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_URL = re.compile(r"(s3|gs|az)://[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9._+@-]+)*/?")
_TAG = re.compile(r"[A-Za-z0-9+/=._-]{1,200}")
_HINTS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_REGION or AWS_ENDPOINT_URL where that is needed",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account",
    "az": "set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY",
}
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AZURE_STORAGE_ENDPOINT", "AZURITE_BLOB_STORAGE_URL")
_CLASSES: dict[str, Any] = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}
_RETRIES: Any = {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}
_PATIENCE = 30.0  # seconds without a byte of an answer, twice; servers begin to answer within seconds
_UNLIMITED = timedelta(days=1)  # of an answer whose bytes keep coming, on however slow a line
_LONGEST_WRITE = timedelta(minutes=10)
_SMALL = 1 << 16  # bytes that even a slow line takes within our patience
_INVALID_NAME = re.compile(r'(?s)object with invalid path: [^"]*"(.*?)"(?: contained|: Encountered)')
_MISSING_BUCKET = ("NoSuchBucket", "ContainerNotFound", "bucket does not exist")


class Answer(NamedTuple):
    """What is under a name: its tag, the whole size, the time of its last change (ns since 1970 UTC), and those bytes
    that were asked for."""

    tag: str
    size: int
    modified: int
    data: bytes


class Bucket:
    """A folder of a bucket. Names are relative to it; a name that is not there is None."""

    def __init__(self, url: str, patience: float = _PATIENCE) -> None:
        matched = _URL.fullmatch(url)
        if matched is None:
            shown = printable(clip(url, 100))
            raise StorageError(
                f"'{shown}' is no folder of an object store",
                hint="s3://BUCKET/FOLDER, gs://BUCKET/FOLDER or az://CONTAINER/FOLDER",
            )
        self.url, self.scheme = url, matched[1]
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        self._endpoint = endpoint or ""
        config: Any = {"endpoint": endpoint} if endpoint and self.scheme == "s3" else {}
        # Who names an endpoint without encryption wants one: a server on the same machine or network.
        options: Any = {"connect_timeout": timedelta(seconds=10)}
        options["allow_http"] = any(os.environ.get(name, "").startswith("http://") for name in _ENDPOINTS)

        def opened(**times: timedelta) -> ObjectStore:
            store: ObjectStore = _CLASSES[self.scheme].from_url(
                url.rstrip("/"), config=config, client_options={**options, **times}, retry_config=_RETRIES
            )
            return store

        with self._told():
            self._store = opened(timeout=_UNLIMITED, read_timeout=timedelta(seconds=patience))
            # A write is answered when all of it has arrived, so that its silence tells nothing.
            self._patient = opened(timeout=_LONGEST_WRITE)

    def get(self, name: str, start: int = 0, length: int | None = None) -> Answer | None:
        """The bytes from `start` on, as many as there are."""
        if length == 0:
            return self.head(name)
        options: Any = {}
        if start or length is not None:
            options["range"] = {"offset": start} if length is None else (start, start + length)
        with self._told():
            try:
                return interruptible(lambda: self._got(name, options))
            except FileNotFoundError as error:
                self._refuse_missing_bucket(error)
                return None
            except BaseError as error:
                if not options or "416" not in str(error):
                    raise
        return self.head(name)  # the range begins behind its end

    def _got(self, name: str, options: Any) -> Answer:
        result = obstore.get(self._store, name, options=options)
        return _answer(result.meta, bytes(result.bytes()))

    def head(self, name: str) -> Answer | None:
        """Without any bytes."""
        with self._told():
            try:
                return _answer(interruptible(lambda: obstore.head(self._store, name)), b"")
            except FileNotFoundError as error:
                self._refuse_missing_bucket(error)
                return None

    def create(self, name: str, body: bytes) -> str | None:
        """Write a new name and give its tag; None where there is something."""
        return self._put(name, body, "create")

    def update(self, name: str, body: bytes, tag: str) -> str | None:
        """Write it if it still has this tag, and give the new one; None where it has not."""
        if not _TAG.fullmatch(tag):
            return None
        mode = {"e_tag": f'"{tag}"'}
        if self.scheme == "gs":  # compares generations, which no listing tells
            with self._told(), contextlib.suppress(FileNotFoundError):
                found = interruptible(lambda: obstore.head(self._store, name))
                if _tag(found["e_tag"]) != tag:
                    return None
                mode["version"] = str(found["version"])
        return self._put(name, body, mode)

    def list(self, folder: str) -> Iterator[tuple[str, Answer]]:
        """Every name in a folder and below, in any order. StorageError where there is no such bucket."""
        with self._told():
            try:
                pages = iter(obstore.list(self._store, prefix=folder or None, chunk_size=1000))
                while (rows := interruptible(lambda: next(pages, None))) is not None:
                    for row in rows:
                        yield row["path"], _answer(row, b"")
            except FileNotFoundError as error:
                self._refuse_missing_bucket(error)

    def remove(self, name: str) -> None:
        """Remove a name without a condition: only for those that nobody else uses."""
        with self._told(), contextlib.suppress(FileNotFoundError):
            interruptible(lambda: obstore.delete(self._store, name))

    def _put(self, name: str, body: bytes, mode: Any) -> str | None:
        with self._told():
            try:
                # Parts are not written conditionally, so that there must be one only.
                store = self._store if len(body) <= _SMALL else self._patient
                put = functools.partial(obstore.put, store, name, body, mode=mode, use_multipart=False)
                result = interruptible(put)
                return _tag(result["e_tag"])
            except FileNotFoundError as error:
                self._refuse_missing_bucket(error)
                return None
            except (AlreadyExistsError, PreconditionError):
                pass
        # Where an answer is lost, the request is sent again, and then this write itself may be what is in the way.
        begun = self.get(name, 0, 16)
        return begun.tag if begun is not None and body.startswith(begun.data) and begun.size == len(body) else None

    def _refuse_missing_bucket(self, error: Exception) -> None:
        if any(text in str(error) for text in _MISSING_BUCKET):
            raise StorageError(f"there is no bucket for {self.url}") from error

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the library as those of perfcore."""
        try:
            yield
        except BaseError as error:
            self._refuse_missing_bucket(error)
            text = str(error)
            # 169.254.169.254 tells the machines of a provider their credentials; it is asked where there are no others.
            if "169.254." in text or "redential" in text or "ccount must be specified" in text:
                raise StorageError(f"{self.url}: there are no credentials for it", hint=_HINTS[self.scheme]) from error
            if isinstance(error, PermissionDeniedError | UnauthenticatedError) or "403 Forbidden" in text:
                raise StorageError(f"{self.url}: refused{_reason(text)}", hint=_HINTS[self.scheme]) from error
            if matched := _INVALID_NAME.search(text):
                raise StorageError(
                    f"{self.url} cannot be listed: an object there has a name that is not supported, "
                    f"'{clip(printable(matched[1]), 200)}'",
                    hint="remove that object, or keep the profiles in a folder of their own",
                ) from error
            if "kind: Timeout" in text:
                matched = re.search(r"https?://([^\s/,]+)", f"{text} {self._endpoint}")
                host = "its server" if matched is None else printable(matched[1])
                raise UnreachableError(f"{self.url} cannot be reached: {host} does not answer") from error
            raise UnreachableError(f"{self.url} cannot be reached or used{_reason(text)}") from error


def _answer(meta: Any, data: bytes) -> Answer:
    modified = round(meta["last_modified"].timestamp() * 1e6) * 1000
    return Answer(_tag(meta["e_tag"]), meta["size"], modified, data)


def _tag(text: str | None) -> str:
    """The tag of an object, which listings of some servers give without its quotes."""
    if not text:
        raise StorageError("the object store gives no tags, so that it cannot tell what changed")
    return text.strip('"')


def _reason(text: str) -> str:
    """What the server said, or else the first line of the library's message."""
    said = [printable(found[1]) for name in ("Code", "Message") if (found := re.search(f"<{name}>([^<]*)<", text))]
    return clip(": " + (": ".join(said) or printable(text.partition("\n")[0])), 300)
