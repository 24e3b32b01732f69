"""The law of the kind, and that nothing of the server is loaded without it."""

from __future__ import annotations

import subprocess
import sys

from perfcore_serve_web.contract import ServeContract


class TestServe(ServeContract):
    """`perf serve` keeps the laws of commands."""


def test_the_driver_loads_no_server() -> None:
    script = (
        "import sys; from perfcore_serve_web.driver import Serve; Serve()\n"
        "print(sorted({'starlette', 'uvicorn', 'jinja2', 'typer', 'anyio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
