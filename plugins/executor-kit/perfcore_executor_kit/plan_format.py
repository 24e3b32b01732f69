"""Plans and answers as bytes, for executors that hand them to other processes; docs/formats.md describes them.

A record is one line of JSON with a checksum. The line of an answer may announce a profile, whose JSON follows it.
JSON is written in ASCII, so that arguments which are not UTF-8 arrive as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import attrs
import msgspec

from perfcore import errors, files
from perfcore.errors import FormatError, PerfError
from perfcore.model import Attempt, Job, Measured, Plan
from perfcore.model.record import replace
from perfcore.profile import codec

FORMAT = 1
MAX_LINE = 1 << 30  # bytes: a plan with bundles of many trees is large, but a broken stream must not fill the memory
# RecursionError: thousands of nested brackets exhaust the stack of `json.loads` before they are seen to be wrong.
_UNREADABLE = (ValueError, TypeError, RecursionError, msgspec.MsgspecError)

T = TypeVar("T")


class _Error(msgspec.Struct, omit_defaults=True):
    type: str
    message: str
    hint: str | None = None
    exit_code: int = PerfError.exit_code
    plugin: str | None = None
    phase: str | None = None


class _Answer(msgspec.Struct, omit_defaults=True, kw_only=True):
    job: dict[str, Any]
    profile: int | None = None
    error: _Error | None = None
    retry: bool = False
    no_tree: bool = False
    attempts: list[dict[str, Any]] = []
    log: str = ""


@attrs.frozen
class Report:
    """Progress, a note, or the failure of a part on its way from a worker to the listener of the submitting process.
    `subject` is the part that failed, and `text` its error; an older reader takes this for a note."""

    done: int = 0
    total: int = 0
    text: str = ""
    note: bool = False
    failed: bool = False
    subject: str = ""


def encode_plan(plan: Plan) -> bytes:
    """The plan without its context, which belongs to this process. FormatError for an option that JSON cannot hold."""
    fields = _plain(replace(plan, context=None))
    del fields["context"]
    return _line("plan", fields)


def decode_plan(data: bytes, where: str = "the plan") -> Plan:
    """FormatError for damaged bytes, another record, or a newer format."""
    return _convert(_fields(data, "plan", where), Plan, where)


def encode_measured(measured: Measured) -> bytes:
    """The answer, with the tables of its profile."""
    profile = b"" if measured.profile is None else encode_profile(measured.profile)
    answer = _Answer(
        job=_plain(measured.job),
        profile=None if measured.profile is None else len(profile),
        error=None if measured.error is None else _wire_error(measured.error),
        retry=measured.retry,
        no_tree=measured.no_tree,
        attempts=[_plain(attempt) for attempt in measured.attempts],
        log=measured.log,
    )
    return _line("measured", msgspec.to_builtins(answer)) + profile


def decode_measured(data: bytes, where: str = "the answer") -> Measured:
    """FormatError for damaged bytes, another record, or a newer format."""
    line, _, profile = data.partition(b"\n")
    wire = _convert(_fields(line, "measured", where), _Answer, where)
    if len(profile) != (wire.profile or 0):
        raise FormatError(f"{where} is cut off: its profile has {len(profile)} bytes of {wire.profile or 0}")
    return Measured(
        job=_convert(wire.job, Job, where),
        profile=None if wire.profile is None else codec.decode(profile, _no_pieces, where=f"the profile of {where}"),
        error=None if wire.error is None else _error(wire.error),
        retry=wire.retry,
        no_tree=wire.no_tree,
        attempts=tuple(_convert(attempt, Attempt, where) for attempt in wire.attempts),
        log=wire.log,
    )


def encode_report(report: Report) -> bytes:
    return _line("report", _plain(report))


def read_record(stream: IO[bytes], where: str = "the worker") -> Measured | Report | PerfError | None:
    """The next record of a stream of answers, reports and at most one error that ended the plan; None at its end."""
    # A limit on the line, as a stream without a newline would be read into memory without end.
    line = stream.readline(MAX_LINE)
    if not line:
        return None
    kind = _kind(line, where)
    if kind == "report":
        return _convert(_fields(line, kind, where), Report, where)
    if kind == "error":
        return _error(_convert(_fields(line, kind, where), _Error, where))
    length = _convert(_fields(line, "measured", where), _Answer, where).profile or 0
    return decode_measured(line + stream.read(length), where)


def encode_error(error: PerfError) -> bytes:
    """The error that ended a whole plan."""
    return _line("error", msgspec.to_builtins(_wire_error(error)))


def encode_profile(profile: Any) -> bytes:
    """The JSON of a profile with all tables inside, and a checksum."""
    data, _ = codec.encode(profile, _no_put, inline=codec.MAX_CELLS, sealed=True)
    return data


def _plain(record: Any) -> dict[str, Any]:
    try:
        fields: dict[str, Any] = msgspec.to_builtins(record, enc_hook=_as_builtin)
    except _UNREADABLE as error:
        raise FormatError(f"a {type(record).__name__} holds something that JSON cannot: {error}") from error
    return fields


def _as_builtin(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__}")


def _from_builtin(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError


def _line(kind: str, fields: Mapping[str, Any]) -> bytes:
    record = {"format": FORMAT, "seal": files.SEAL, "kind": kind, **fields}
    try:
        # Without `allow_nan`: NaN and Infinity are no JSON (RFC 8259), and other languages refuse them.
        text = json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except _UNREADABLE as error:
        raise FormatError(f"the {kind} holds something that JSON cannot: {error}") from error
    return files.seal(text.encode("ascii")) + b"\n"


def _kind(line: bytes, where: str) -> str:
    return str(_loaded(line, where).get("kind"))


def _loaded(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except _UNREADABLE as error:
        raise FormatError(f"{where} is damaged: {error}") from error
    if not isinstance(record, dict):
        raise FormatError(f"{where} is damaged: it is no JSON object")
    return record


def _fields(line: bytes, kind: str, where: str) -> dict[str, Any]:
    record = _loaded(line, where)
    version = record.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise FormatError(
            f"{where} has format {version}; this perfcore reads up to {FORMAT}",
            hint="install the same perfcore on the worker and where plans are submitted",
        )
    if version != FORMAT or record.get("kind") != kind:
        raise FormatError(f"{where} is no {kind}")
    # After the format, so that a newer worker is called newer and not damaged.
    files.verify_seal(line, where)
    return record


def _convert(value: Any, kind: type[T], where: str) -> T:
    try:
        return msgspec.convert(value, kind, dec_hook=_from_builtin)
    except _UNREADABLE as error:
        raise FormatError(f"{where} is damaged: {error}") from error


def _wire_error(error: PerfError) -> _Error:
    return _Error(
        type=type(error).__name__,
        message=error.message,
        hint=error.hint,
        exit_code=error.exit_code,
        plugin=getattr(error, "plugin", None),
        phase=getattr(error, "phase", None),
    )


def _error(wire: _Error) -> PerfError:
    """An error of perfcore's own type; that of a plugin becomes a PerfError with its exit code."""
    # Only classes of this module: the name comes from another process and must not import anything.
    kind = getattr(errors, wire.type, PerfError)
    if not (isinstance(kind, type) and issubclass(kind, PerfError)):
        kind = PerfError
    error = kind(wire.message, hint=wire.hint)
    if error.exit_code != wire.exit_code:
        error.exit_code = wire.exit_code
    for name in ("plugin", "phase"):
        if hasattr(error, name):
            setattr(error, name, getattr(wire, name))
    return error


def _no_put(table: str, piece: bytes) -> str:
    raise FormatError(f"table {table!r} has more than {codec.MAX_CELLS:,} cells")


def _no_pieces(id: str) -> bytes:
    raise FormatError(f"the profile refers to the object {id}, which the record does not contain")
