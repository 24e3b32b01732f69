"""The contract of notifiers: one that appends to a mailbox, and some that break it."""

from __future__ import annotations

import contextlib
import mailbox
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import attrs
import pytest
from perfcore_testing.notifier import NotifierContract

from perfcore.errors import PerfError
from perfcore.settings import option
from perfcore.text import printable


@attrs.frozen
class MailboxSettings:
    path: str = option(help="The mailbox that messages are appended to.")


class Mailbox:
    """A message for every report with a degradation."""

    Settings = MailboxSettings

    def __init__(self, settings: MailboxSettings) -> None:
        self.settings = settings

    def notify(self, report: Mapping[str, Any]) -> None:
        if not report["degraded"]:
            return
        lines = [
            printable(f"{change['kind']}: {change['metric']} of {change['label']} ({change['evidence']})")
            for change in report["changes"]
        ]
        message = EmailMessage()
        message["Subject"] = f"{len(lines)} degraded"
        message.set_content("\n".join(lines), cte="8bit")
        try:
            with contextlib.closing(mailbox.mbox(self.settings.path)) as box:
                box.add(message)
        except OSError as error:
            raise PerfError(f"cannot write to {printable(self.settings.path)!r}: {error.strerror}") from error


class TestMailbox(NotifierContract):
    @pytest.fixture
    def driver(self, tmp_path: Path) -> Mailbox:
        return Mailbox(MailboxSettings(path=str(tmp_path / "box")))

    @pytest.fixture
    def delivered(self, tmp_path: Path) -> Callable[[], Sequence[str]]:
        def messages() -> Sequence[str]:
            with contextlib.closing(mailbox.mbox(tmp_path / "box")) as box:
                return [f"{m['Subject']}\n{_content(m)}" for m in box]

        return messages

    @pytest.fixture
    def unreachable(self, tmp_path: Path) -> Mailbox:
        return Mailbox(MailboxSettings(path=str(tmp_path / "no" / "such" / "box")))


def _content(message: Any) -> str:
    return str(message.get_payload(decode=True).decode("utf-8"))


class Told:
    """Remembers what it makes of a report."""

    def __init__(self, tell: Callable[[Any], str]) -> None:
        self.tell = tell
        self.messages: list[str] = []

    def notify(self, report: Mapping[str, Any]) -> None:
        self.messages.append(self.tell(report))


@pytest.mark.parametrize(
    ("law", "tell"),
    [
        ("test_a_degradation_arrives", lambda report: "something happened"),
        ("test_hostile_names_stay_text", lambda report: "".join(c["label"] for c in report["changes"])),
        ("test_the_report_stays_as_it_was", lambda report: str(report["changes"].pop())),
    ],
)
def test_a_law_finds_the_notifier_that_breaks_it(law: str, tell: Callable[[Any], str]) -> None:
    driver = Told(tell)
    arguments = {} if "report" in law else {"delivered": lambda: driver.messages}
    with pytest.raises(AssertionError):
        getattr(NotifierContract(), law)(driver, **arguments)
