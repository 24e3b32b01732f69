"""The shell of a page: one HTML file that needs nothing else and runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PACKAGE = "perfcore_view_kit"
_TOKEN = re.compile(r"\{\{(\w+)\}\}")


def page(title: str, body: str, scripts: Sequence[str] = (), *, styles: Sequence[str] = ()) -> str:
    """The whole file. `title` is text, `body` is markup. `scripts` and `styles` are sources that follow those of the
    kit: the functions of `base.js`, and the colours and elements of `base.css`. They share one scope, as one script."""
    style = "\n".join((source(_PACKAGE, "base.css"), *styles))
    script = "\n".join((source(_PACKAGE, "base.js"), *scripts))
    return filled(
        source(_PACKAGE, "shell.html"),
        {
            "title": html.escape(title),
            "style": style,
            "style_hash": digest(style),
            "body": body.strip(),
            "script": script,
            "script_hash": digest(script),
        },
    )


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with its tokens `{{name}}` replaced; the values are not searched for tokens."""
    return _TOKEN.sub(lambda token: values[token[1]], template)


def embedded(data: Any) -> str:
    """JSON for a `<script type="application/json">`, without a character that means something to HTML. ValueError for
    numbers that JSON does not have."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    # `</script>` and `<!--` mean something within a script element, whatever its type. To JSON escapes are the same.
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def source(package: str, name: str) -> str:
    """A file of a package as a page contains it."""
    module: Any = import_module(package)  # `importlib.resources` takes longer to import than all of them to read
    text: str = module.__loader__.get_data(str(Path(module.__file__).with_name(name))).decode()
    # A checkout on Windows may have CR LF, of which browsers make LF before they hash (HTML: newlines are normalized).
    return text.replace("\r\n", "\n")


def digest(text: str) -> str:
    """As a content security policy names what may run."""
    # The policy allows these hashes and nothing else: a script that a name might smuggle into the page does not run.
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
