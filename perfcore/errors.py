"""Everything that perfcore itself raises: a message, what to do about it, and an exit code."""

from __future__ import annotations

from collections.abc import Iterable


class PerfError(Exception):
    """A failure that is told to the user in one line.

    `message` says what failed, `hint` what to do. `exit_code` is the process's exit code when nothing handles
    the error: never 0, and never 1, which means that a degradation was found.
    """

    exit_code = 3

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class UsageError(PerfError):
    """The command line, a configuration key or a job matrix says something that makes no sense."""

    exit_code = 2  # as argparse and Click end


class NotFoundError(PerfError):
    """A name, a version, a profile or a file that was asked for is not there."""


class AmbiguousError(PerfError):
    """A name fits several things; the message lists them."""


class VersionError(PerfError):
    """The version control system does not know a version, or cannot give it; it may be that this clone `is_cut_off`
    from its older history."""

    is_cut_off = False


class FormatError(PerfError):
    """Bytes that are not what they should be: a damaged object, a foreign or newer format."""

    exit_code = 4


class ColumnError(FormatError):
    """A value that its column cannot hold."""


class StorageError(PerfError):
    """The place where profiles are kept could not be read or written."""

    exit_code = 4


class OutputClosedError(PerfError):
    """Nobody reads what is printed any more, as in `perf log | head`: the end, without a word."""

    exit_code = 141  # 128 + SIGPIPE, as a shell reports it


class KeyMissingError(StorageError):
    """A storage has nothing under this key."""


class KeyExistsError(StorageError):
    """`create` found something under the key already."""


class ConflictError(StorageError):
    """`replace` or `delete` found other content than the tag names: somebody else was faster."""


class PluginError(PerfError):
    """A plugin is missing, cannot be loaded, does not fit its kind, or failed in one of its phases."""

    exit_code = 5

    def __init__(
        self, message: str, *, plugin: str | None = None, phase: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.plugin = plugin
        self.phase = phase

    def __str__(self) -> str:
        origin = " ".join(text for text in (self.plugin, f"in {self.phase}" if self.phase else None) if text)
        return f"{origin}: {self.message}" if origin else self.message


class CommandFailedError(PerfError):
    """The command that was to be measured failed, could not be started, or ran out of time."""

    exit_code = 6


class LeftOutError(PerfError):
    """The budget was spent before this was measured."""


class UntrustedError(PerfError):
    """A versioned file asks to run something and nobody has trusted its content yet."""

    exit_code = 7


def nearest(name: str, known: Iterable[str], *, alike: float = 0.5) -> str | None:
    """The known name closest to a mistyped one, as a hint: `did you mean 'repeat'?`. Among many names one is always
    a little `alike` (0 to 1), and is more often wrong."""
    import difflib

    # The ratio is twice the matching letters over all letters of both. 0.5 is below difflib's own 0.6: fewer mistyped
    # short names are missed, and more nonsense is proposed.
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=alike)
    return f"did you mean {close[0]!r}?" if close else None
