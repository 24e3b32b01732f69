"""The process between a sampling tool and the command: starts it when the tool is ready, and notes how it ended.

It is run as a file by itself, `python -I -S starter.py FOLDER`, and imports nothing of perfcore. A tool that samples
Python finds a Python program at once that way, however slowly the command begins. FOLDER holds `job.json`; `pid`
and, in the end, `ended.json` are written to it.
"""

import contextlib
import json
import os
import signal
import sys
import time

# The name of this process, and of the command's until its program begins: 15 characters at most (proc_pid_comm(5)).
NAME = "perf-starter"
_PATIENCE = 20.0  # seconds: after that the command starts anyway, so that a silent tool cannot hang a collection
_LOOK = 0.005  # seconds between looks: py-spy needs about a tenth of a second to start


def main(folder: str) -> None:
    with open(os.path.join(folder, "job.json"), encoding="ascii") as file:
        job = json.load(file)
    _write(folder, "pid", str(os.getpid()))
    with contextlib.suppress(OSError):  # where /proc is read only: the command's first samples have Python's name then
        _write("/proc/self", "comm", NAME)
    if job["ready"]:
        _wait_for(os.path.join(folder, "talk"), job["ready"].encode())
    for name in os.listdir("/proc/self/fd"):  # the kernel's perf leaves files of its own open
        if int(name) > 2:
            with contextlib.suppress(OSError):  # the folder that was just listed
                os.set_inheritable(int(name), False)
    words = os.path.join(folder, "words")
    process = os.posix_spawn(
        os.fsencode(job["path"]),
        [os.fsencode(word) for word in job["argv"]],
        dict(os.fsencode(variable).split(b"=", 1) for variable in job["environment"]),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, words, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        ],
        # As from a plain shell: Python ignores SIGPIPE, and whoever started perf may ignore or block others.
        setsigmask=[],
        setsigdef=signal.valid_signals(),
    )
    _, status, usage = os.wait4(process, 0)
    ended = {"exitcode": os.waitstatus_to_exitcode(status), "cpu": usage.ru_utime + usage.ru_stime}
    _write(folder, "ended.json", json.dumps(ended))


def _wait_for(path: str, word: bytes) -> None:
    """Until the tool says that it is ready; a tool that never says so is not waited for for ever."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        with open(path, "rb") as file:
            if word in file.read():
                return
        time.sleep(_LOOK)


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1])
