"""How long ssh waits for a server. By itself it waits for hours, or for good, where a network is gone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

_SILENCE = 30  # seconds without a word of the server, before and after ssh asks whether it is there
_CHOSEN = frozenset(("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT"))
_CHOSEN_KEYS = r"^(core\.sshcommand|ssh\.variant)$"


def limited(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables with which the ssh that git starts gives up. A server that works for long answers all the same: sshd
    does, whatever runs below it. None where the user chose a program or its options."""
    if _CHOSEN & environ.keys() or _is_configured(environ):
        return {}
    options = {"ConnectTimeout": 2 * _SILENCE, "ServerAliveInterval": _SILENCE, "ServerAliveCountMax": 1}
    return {"GIT_SSH_COMMAND": " ".join(["ssh", *(f"-o {name}={number}" for name, number in options.items())])}


def _is_configured(environ: Mapping[str, str]) -> bool:
    run = ["git", f"--git-dir={os.devnull}", "config", "--get-regexp", _CHOSEN_KEYS]
    done = subprocess.run(run, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return bool(done.stdout)
