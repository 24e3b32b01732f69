"""Python programs, by py-spy."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import attrs
import msgspec

from perfcore.errors import CommandFailedError, FormatError, PerfError, PluginError
from perfcore.profile.stacks import Frame
from perfcore.text import clip, encodable, printable
from perfcore_collect_sample.source import Places

if TYPE_CHECKING:
    from perfcore.model import Job
    from perfcore_collect_sample.collector import SampleSettings
    from perfcore_collect_sample.tools import Sampled

_OUTPUT = "samples.json"
_THREAD = re.compile(r'Thread \d+ "(.*)"$', re.DOTALL)
_PROCESS = re.compile(r'process \d+:"')
_MISSED = re.compile(r"Errors: (\d+)")


class _Frame(msgspec.Struct):
    name: str
    file: str | None = None
    line: int | None = None


class _Thread(msgspec.Struct):
    samples: list[list[Annotated[int, msgspec.Meta(ge=0)]]]
    name: str = ""


class _Shared(msgspec.Struct):
    frames: list[_Frame]


class _Recording(msgspec.Struct):
    """A file of speedscope, as far as it is needed: https://www.speedscope.app/file-format-schema.json."""

    shared: _Shared
    profiles: list[_Thread]


@attrs.frozen(kw_only=True)
class PySpy:
    """py-spy at a path, with the options that were asked for."""

    name = "py-spy"
    ready = "Sampling process"
    path: str
    version: str
    settings: SampleSettings

    @classmethod
    def find(cls, settings: SampleSettings) -> PySpy:
        """The one that was installed with this plugin, or else one in PATH."""
        path = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which("py-spy")
        if path is None:
            raise PluginError(
                "py-spy is not installed, and Python programs are sampled by it", hint="pip install py-spy"
            )
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)
        return cls(path=path, version=done.stdout.strip().rpartition(" ")[2], settings=settings)

    def argv(self, folder: Path, command: Sequence[str]) -> list[str]:
        # Its `--threads` would add a frame with the number of the thread; the titles have the names without it.
        options = {"--idle": self.settings.idle, "--native": self.settings.native}
        return [
            *(self.path, "record", "--format", "speedscope", "--output", str(folder.absolute() / _OUTPUT)),
            # `--subprocesses`, as py-spy starts the starter; full names, or files of one name would be one.
            *("--rate", str(self.settings.rate), "--subprocesses", "--full-filenames"),
            *(flag for flag, enabled in options.items() if enabled),
            *("--", *command),
        ]

    def read(self, folder: Path, job: Job) -> Sampled:
        try:
            recording = msgspec.json.decode((folder / _OUTPUT).read_bytes(), type=_Recording)
        except FileNotFoundError:
            return  # py-spy writes nothing where it saw no Python
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise FormatError(f"the output of py-spy cannot be read: {error}") from error
        places = Places(job.cwd)
        shared_frames = recording.shared.frames
        processes = [not frame.file and bool(_PROCESS.match(frame.name)) for frame in shared_frames]
        frames = [places.frame(encodable(f.name), encodable(f.file or ""), f.line) for f in shared_frames]
        for thread in recording.profiles:
            name = _name(thread.name)
            outer = self._outer(name)
            for sample in thread.samples:
                if sample and max(sample) >= len(shared_frames):
                    raise FormatError(f"the output of py-spy names frame {max(sample)} of {len(shared_frames)}")
                # A frame for each process stands outermost: the starter's, which is not sampled for itself, then the
                # command's. Their numbers are of this run alone.
                stack = [frames[index] for index in sample if not processes[index]]
                if stack and len(sample) - len(stack) > 1:
                    yield (*outer, *stack), name

    def failure(self, complaint: str) -> PerfError:
        # py-spy reads the memory of the process (process_vm_readv(2)), which needs the right to trace it.
        if "ermission denied" in complaint or "Operation not permitted" in complaint:
            return PluginError(
                "py-spy may not look into the command: this system forbids tracing processes",
                hint="in a container: --cap-add SYS_PTRACE; else see /proc/sys/kernel/yama/ptrace_scope",
            )
        message = next((line for line in complaint.splitlines() if line.startswith("Error")), complaint.strip())
        return CommandFailedError(f"py-spy failed before the command ended: {clip(printable(message), 200)}")

    def missed(self, complaint: str) -> int:
        match = _MISSED.search(complaint)
        return int(match[1]) if match else 0

    def _outer(self, thread: str) -> tuple[Frame, ...]:
        """A frame for the thread, where threads are told apart; never its number, which no other run has."""
        if not self.settings.threads:
            return ()
        return (Frame(f"thread {thread or '(no name)'}"),)


def _name(thread: str) -> str:
    """The name in the title of a thread."""
    match = _THREAD.search(thread)
    return encodable(match[1]) if match else ""
