"""What a push leaves out or replaces: the rules of the configuration."""

from __future__ import annotations

import contextlib
import hashlib
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from perfcore.config.layers import Config
from perfcore.errors import UsageError
from perfcore.text import brief

OMIT, REPLACE = "sharing.omit", "sharing.replace"
_PATIENCE = 10.0  # seconds for a rule and a text: a usual one takes microseconds, `(a+)+$` may take years


@attrs.frozen
class Rules:
    """`omit` are facts of the machine that are left out, `replace` are regular expressions with what stands in the
    place of what they match, in every text, one after the other."""

    omit: frozenset[str] = frozenset()
    replace: tuple[tuple[re.Pattern[str], str], ...] = ()
    patience: float = _PATIENCE
    _known: dict[str, str] = attrs.field(factory=dict, init=False, eq=False, repr=False)

    @classmethod
    def of(cls, config: Config) -> Rules:
        """The rules of all layers together: what a user keeps back leaves with no project, whatever its file says.
        UsageError for what is no regular expression: nothing may leave because of a slip."""
        layers = [Config((layer,)) for layer in config.layers]
        omitted = {str(fact) for layer in layers for fact in layer.get(OMIT)}
        # A rule is there once, where it came first; a stronger layer cannot take its effect away.
        pairs = dict.fromkeys((str(pattern), text) for layer in layers for pattern, text in layer.get(REPLACE).items())
        replace = []
        for pattern, text in pairs:
            try:
                compiled = re.compile(pattern)
                compiled.sub(str(text), "")  # a replacement is read even where nothing matches
            except re.error as error:
                raise UsageError(f"{REPLACE}: {brief(pattern)} cannot be used: {error}") from error
            replace.append((compiled, str(text)))
        return cls(frozenset(omitted), tuple(replace))

    @property
    def digest(self) -> str:
        """A short text that differs where the rules do; empty without rules."""
        what = repr((sorted(self.omit), [(pattern.pattern, text) for pattern, text in self.replace]))
        return hashlib.sha1(what.encode(), usedforsecurity=False).hexdigest()[:10] if self else ""

    def __bool__(self) -> bool:
        return bool(self.omit or self.replace)

    def text(self, text: str) -> str:
        """A text as it leaves. UsageError where the rules apply to what they made: what is pulled and pushed again
        would change each time."""
        if text not in self._known:
            replaced = self._replaced(text)
            if self._replaced(replaced) != replaced:
                raise UsageError(
                    f"{REPLACE} makes {brief(replaced)} of {brief(text)}, which its rules change again",
                    hint="let no rule match what another puts in",
                )
            self._known[text] = replaced
        return self._known[text]

    def value(self, value: Any) -> Any:
        """The same for all texts in a JSON value; keys stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, Mapping):
            return {key: self.value(item) for key, item in value.items()}
        return value

    def facts(self, machine: Mapping[str, Any]) -> Any:
        """The same for the facts of a machine."""
        return self.value({key: fact for key, fact in machine.items() if key not in self.omit})

    def _replaced(self, text: str) -> str:
        for pattern, replacement in self.replace:
            try:
                with _bounded(self.patience):
                    text = pattern.sub(replacement, text)
            except TimeoutError as error:
                raise UsageError(
                    f"{REPLACE}: {brief(pattern.pattern)} takes over {self.patience:g} s for {brief(text)}",
                    hint="repeat nothing that is a repetition itself: `a+` instead of `(a+)+`",
                ) from error
        return text


@contextlib.contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    """TimeoutError after so many seconds. A regular expression holds the lock of the interpreter, so that a signal
    alone can end it: on Windows, and in any other thread than the main one, nothing does."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, interrupt)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)
