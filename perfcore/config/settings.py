"""Options of a plugin, declared once.

A driver's options are one frozen attrs class, `Settings`, whose fields are made by `option()`. From that class
come the command-line options, the keys of a job matrix and of the configuration, validation and documentation:

    @attrs.frozen
    class Settings:
        repeat: int = option(10, help="The number of measured runs.", minimum=1)
        stdin: Path | None = option(None, help="File given to the command as standard input.", identity=True)

Field types are `bool`, `int`, `float`, `str`, `Path`, any of them `| None`, and `tuple[T, ...]` of them. Where attrs
takes too long to import, a `Record` has the same options in its types: `repeat: Annotated[int, OptionInfo(...)] = 10`.
"""

from __future__ import annotations

import functools
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from perfcore.errors import UsageError, nearest
from perfcore.named_tuple import NamedTuple
from perfcore.text import brief

T = TypeVar("T")
_cached: Callable[[T], T] = functools.cache  # type: ignore[assignment]  # whose arguments would have no types
_KEY = "perfcore"
_REQUIRED: Any = object()  # no default
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_WANTED = {bool: "yes or no", int: "a whole number", float: "a number", str: "text", Path: "a path"}
_DURATION = "a duration such as 2, 500ms, 3m or 14d"
_QUANTITY = r"(?i:\s*([0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?)\s*([a-zµ]*)\s*)"
_TRUE, _FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


class OptionInfo(NamedTuple):
    """What an option says about itself; `Option.info`."""

    help: str
    unit: str = ""
    env: str | None = None
    identity: bool = False
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    flags: tuple[str, ...] = ()
    metavar: str | None = None


class Option(NamedTuple):
    """One field of a Settings class, resolved: its key, type, default and what it says about itself."""

    name: str
    type: Any
    optional: bool
    many: bool
    default: Any
    required: bool
    info: OptionInfo

    @property
    def flag(self) -> str:
        """The long command-line form, `--max-runs` for the key `max_runs`."""
        return "--" + self.name.replace("_", "-")

    @property
    def spellings(self) -> tuple[str, ...]:
        """All its forms on the command line, `-r` and `--repeat`, or `--fast/--no-fast`."""
        off = f"/--no-{self.flag[2:]}" if self.type is bool and not self.many else ""
        return (*self.info.flags, self.flag + off)


def option(
    default: Any = _REQUIRED,
    *,
    help: str,
    unit: str = "",
    env: str | None = None,
    identity: bool = False,
    choices: Sequence[str] = (),
    minimum: float | None = None,
    maximum: float | None = None,
    flags: Sequence[str] = (),
    metavar: str | None = None,
    validator: Callable[[Any, Any, Any], Any] | None = None,
) -> Any:
    """A field of a Settings class.

    `unit` is shown and, for `s`, lets people write `500ms` or `2m`. `env` names an environment variable that
    gives the value where neither the command line nor the configuration does (several values apart by blanks).
    `identity` says that two profiles which differ in this option are not comparable. `flags` adds short
    command-line forms such as `-r`.
    """
    import attrs  # nor anywhere else before a plugin has options: making its classes takes longer than most commands

    info = OptionInfo(help, unit, env, identity, tuple(choices), minimum, maximum, tuple(flags), metavar)
    default = attrs.NOTHING if default is _REQUIRED else default
    return attrs.field(default=default, validator=validator, metadata={_KEY: info}, kw_only=True)


@_cached
def options_of(settings: type[Any]) -> tuple[Option, ...]:
    """The options of a Settings class in the order of their declaration."""
    # Annotations may be texts: from __future__ import annotations.
    hints = typing.get_type_hints(settings, include_extras=True)
    options = []
    for name, default, info in (
        _recorded(settings, hints) if hasattr(settings, "__struct_fields__") else _made(settings)
    ):
        if info is None:
            raise TypeError(f"{settings.__qualname__}.{name} is not made by option()")
        options.append(Option(name, *_unwrap(hints[name]), default, default is _REQUIRED, info))
    return tuple(options)


def _made(settings: type[Any]) -> Iterator[tuple[str, Any, OptionInfo | None]]:
    """(name, default, what it says about itself) of each field that `option` made."""
    import attrs

    if not attrs.has(settings):
        raise TypeError(f"{settings!r} is not an attrs class")
    for field in attrs.fields(settings):
        default = field.default.factory() if isinstance(field.default, attrs.Factory) else field.default  # type: ignore[arg-type]
        yield field.name, _REQUIRED if default is attrs.NOTHING else default, field.metadata.get(_KEY)


def _recorded(settings: type[Any], hints: Mapping[str, Any]) -> Iterator[tuple[str, Any, OptionInfo | None]]:
    for name, default in zip(settings.__struct_fields__, settings.__struct_defaults__, strict=True):
        yield name, default, next((each for each in typing.get_args(hints[name]) if isinstance(each, OptionInfo)), None)


def structure(
    settings: type[T],
    values: Mapping[str, Any],
    *,
    where: str,
    environ: Mapping[str, str] | None = None,
    others: Sequence[str] = (),
) -> T:
    """An instance of a Settings class from keys and values; `where` opens every error message.

    Keys may be written with hyphens. What they leave out is taken from the variables in `environ` that the options
    name. Raises UsageError on an unknown key (naming the nearest, of these options or of `others`), a value of
    another type, out of bounds, not among the choices, or a missing required option.
    """
    options = {option.name: option for option in options_of(settings)}
    fields: dict[str, Any] = {}
    for key, value in values.items():
        name = str(key).replace("-", "_")
        if name not in options:
            if value is None:  # of a stored measurement: an option that this version has not, and nobody had set
                continue
            every = (*options, *others)
            listing = f"known options: {', '.join(every)}" if every else "it has no options"
            raise UsageError(f"{where}: unknown option {brief(str(key))}", hint=nearest(name, every) or listing)
        fields[name] = _convert(options[name], value, where)
    for name, option in options.items():
        text = (environ or {}).get(option.info.env or "")
        if name not in fields and text:
            words = text.split() if option.many else text
            fields[name] = _convert(option, words, f"{where}: ${option.info.env}")
    missing = [name for name, option in options.items() if option.required and name not in fields]
    if missing:
        raise UsageError(f"{where}: option {missing[0]!r} is required")
    try:
        return settings(**fields)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: {error}") from error


def to_params(settings: Any) -> dict[str, Any]:
    """The options of an instance as plain JSON values, in the order of their declaration."""
    return {option.name: _plain(getattr(settings, option.name)) for option in options_of(type(settings))}


def identity_params(settings: Any) -> dict[str, Any]:
    """Only the options that decide whether two profiles are comparable."""
    params = to_params(settings)
    return {option.name: params[option.name] for option in options_of(type(settings)) if option.info.identity}


def parse_seconds(text: str | float) -> float:
    """Seconds from a number or from `500ms`, `2m`, `1.5h`. Raises ValueError."""
    if isinstance(text, int | float):
        return float(text)
    match = re.fullmatch(_QUANTITY, text)
    unit = (match[2] or "s").lower() if match else ""
    if not match or unit not in _SECONDS:
        raise ValueError(f"{brief(text)} is not {_DURATION}")
    return float(match[1]) * _SECONDS[unit]


def _unwrap(hint: Any) -> tuple[Any, bool, bool]:
    """(type, optional, many) of `T`, `T | None`, `tuple[T, ...]`, annotated or not."""
    hint = hint.__origin__ if hasattr(hint, "__metadata__") else hint
    if typing.get_origin(hint) in (types.UnionType, typing.Union):  # `X | None` and Optional[X] before Python 3.14
        inner = [arg for arg in typing.get_args(hint) if arg is not type(None)]
        if len(inner) != 1:
            raise TypeError(f"an option's type is one type, perhaps with None, not {hint}")
        return (*_unwrap(inner[0])[:1], True, False)
    if typing.get_origin(hint) is tuple:
        return typing.get_args(hint)[0], False, True
    if hint not in (bool, int, float, str, Path):
        raise TypeError(f"an option cannot be of type {hint}")
    return hint, False, False


def _convert(option: Option, value: Any, where: str) -> Any:
    if value is None:
        if option.optional:
            return None
        raise UsageError(f"{where}: option {option.name!r} has no value")
    if option.many:
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_convert_one(option, item, where) for item in items)
    return _convert_one(option, value, where)


def _convert_one(option: Option, value: Any, where: str) -> Any:
    try:
        converted = _as_type(option, value)
    except (TypeError, ValueError) as error:
        expected = _DURATION if option.info.unit == "s" and option.type is float else _WANTED[option.type]
        raise UsageError(f"{where}: {option.name!r} wants {expected}, got {brief(value)}") from error
    info = option.info
    if info.choices and converted not in info.choices:
        listed = ", ".join(info.choices)
        raise UsageError(
            f"{where}: {option.name!r} is one of {listed}; got {brief(converted)}",
            hint=nearest(str(converted), info.choices),
        )
    if info.minimum is not None and not converted >= info.minimum:  # `not >=` refuses NaN as well
        raise UsageError(f"{where}: {option.name!r} is at least {info.minimum:g}; got {brief(converted)}")
    if info.maximum is not None and not converted <= info.maximum:
        raise UsageError(f"{where}: {option.name!r} is at most {info.maximum:g}; got {brief(converted)}")
    return converted


def _as_type(option: Option, value: Any) -> Any:
    kind = option.type
    if kind is bool:
        return _as_bool(value)
    if isinstance(value, bool):  # `true` in YAML, of which int() makes 1
        raise TypeError("a boolean is not a number or text")
    if kind is float:
        return parse_seconds(value) if option.info.unit == "s" else float(value)
    if kind is int:
        if isinstance(value, float) and not value.is_integer():
            raise ValueError("not a whole number")
        return int(value)
    if isinstance(value, list | tuple | dict):
        raise TypeError("one value is wanted")
    return kind(value) if kind is Path else str(value)


def _as_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError("neither yes nor no")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
