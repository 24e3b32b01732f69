"""The collector `acme`: how many lines a command prints, by their first word."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import attrs

from perfcore.errors import CommandFailedError
from perfcore.model import Job
from perfcore.profile.recording import Outcome, Run, Session
from perfcore.profile.table import ColumnSpec
from perfcore.settings import option


@attrs.frozen
class LineSettings:
    """What can be chosen."""

    stream: str = option(
        "stdout", help="Where the lines are.", choices=("stdout", "stderr"), env="ACME_STREAM", identity=True
    )
    words: tuple[str, ...] = option((), help="Count only lines that begin with this word.", identity=True)
    most: int = option(100, help="How many different words are told apart.", minimum=1)
    timeout: float | None = option(None, help="End a run that takes longer.", unit="s", minimum=0.001)
    strict: bool = option(True, help="A command that fails is no measurement.")
    keep: Path | None = option(  # noqa: RUF009  (it makes a field)
        None, help="Write what the last run printed to this file.", metavar="FILE"
    )


class Lines:
    """How many lines a command prints, by their first word.

    A command that prints more than before does more than before.
    """

    Settings = LineSettings
    schedule = {"repeat": 2, "warmup": 0}  # noqa: RUF012  (what a command prints hardly changes)

    def __init__(self, settings: LineSettings) -> None:
        self.settings = settings

    def before(self, job: Job) -> Session:
        columns = (ColumnSpec("word", "str"), ColumnSpec("lines", "i64", "", "value"))
        return Session(job, columns=columns)

    def collect(self, session: Session, run: Run) -> None:
        done = self._printed(session.job)
        run.exitcode = done.returncode
        if done.returncode and self.settings.strict:
            raise CommandFailedError(f"it ended with {done.returncode}", hint="--no-strict counts all the same")
        output = done.stdout if self.settings.stream == "stdout" else done.stderr
        if self.settings.keep:
            self.settings.keep.write_text(output, encoding="utf-8")
        words = Counter(line.split(maxsplit=1)[0] for line in output.splitlines() if line.strip())
        counted = [(w, n) for w, n in words.most_common() if w in self.settings.words or not self.settings.words]
        for word, lines in counted[: self.settings.most]:
            run.rows.add(word=word, lines=lines)

    def after(self, session: Session, outcome: Outcome) -> None:
        session.sampling["stream"] = self.settings.stream

    def _printed(self, job: Job) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                job.argv[0] if job.shell else job.argv,
                shell=job.shell,
                cwd=job.cwd,
                env={**os.environ, **job.env},
                capture_output=True,
                text=True,
                errors="backslashreplace",
                timeout=self.settings.timeout,
                check=False,
            )
        except OSError as error:
            raise CommandFailedError(f"cannot start {job.cmd}: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise CommandFailedError(f"it took longer than {self.settings.timeout} s") from error
