"""A headless Chromium that tests look at pages with: a browser's window, driven over its debugging protocol."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect

from perfcore_testing.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# As root, in a container, Chromium has no sandbox to start and little of /dev/shm; it shall reach no other machine, and
# choose a free port itself.
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)
# Windows virtual key codes, which the protocol wants beside the names (Input.dispatchKeyEvent).
_KEYS = {"Enter": 13, "Escape": 27, "Backspace": 8, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38}
_KEYS |= {"ArrowRight": 39, "ArrowDown": 40}


class Window:
    """One tab. `problems` are errors of the page's script and what its security policy refused, `requests` the
    addresses it asked for beside its own."""

    def __init__(self, socket: Any, session: str) -> None:
        self._socket = socket
        self._session = session
        self._last = 0
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.width = self.height = 0
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(1200, 800)

    def call(self, method: str, **params: Any) -> Any:
        """One method of the protocol; what happens meanwhile is noted."""
        self._last += 1
        message = {"id": self._last, "sessionId": self._session, "method": method, "params": params}
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=PATIENCE))
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(params["exceptionDetails"])[:500])
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.problems.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])

    def open(self, address: str, drawn: str = "#table tbody tr, #problem:not([hidden])") -> None:
        """Open a page and wait until it is drawn: until an element of the selector `drawn` is there."""
        # First away from the old page: one that differs by its fragment only would not be loaded again.
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.settle(f"document.readyState === 'complete' && !!document.querySelector({json.dumps(drawn)})")

    def reload(self) -> None:
        self.run("window.before = true")
        self.call("Page.reload")
        self.settle("!window.before && !!document.querySelector('#table tbody tr')")

    def run(self, script: str) -> Any:
        """What an expression gives."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def settle(self, condition: str) -> None:
        """Wait until something is true, and what follows from it is drawn."""
        self._until(condition, 2)

    def _until(self, condition: str, frames: int) -> None:
        drawn = "await new Promise((done) => requestAnimationFrame(done));" * frames
        end = time.monotonic() + PATIENCE
        while not self._holds(f"(async () => {{ if (!({condition})) return false; {drawn} return true; }})()"):
            assert time.monotonic() < end, condition
            time.sleep(0.02)

    def _holds(self, condition: str) -> bool:
        """Whether it is true; it is not while one page gives way to another."""
        try:
            return bool(self.run(condition))
        except AssertionError as error:
            if "navigated" not in str(error):
                raise
            return False

    def frames(self, count: int = 2) -> None:
        """Wait until so many frames are drawn, of the page that stays when one gives way to another."""
        self._until("true", count)

    def press(self, *keys: str) -> None:
        """Keys by name; `Control+f` with a modifier."""
        for key in keys:
            modifier, _, name = key.rpartition("+") if len(key) > 1 else ("", "", key)
            text = name if len(name) == 1 and not modifier else "\r" if name == "Enter" else ""
            facts = {
                "key": name,
                # 2 is Control in the protocol's bits: Alt 1, Control 2, Meta 4, Shift 8.
                "modifiers": 2 if modifier else 0,
                "windowsVirtualKeyCode": _KEYS.get(name, ord(name[0].upper())),
            }
            self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **facts)
            self.call("Input.dispatchKeyEvent", type="keyUp", **facts)
        self.frames()

    def write(self, text: str) -> None:
        self.call("Input.insertText", text=text)
        self.frames()

    def mouse(self, kind: str, x: float, y: float, **facts: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **facts)
        self.frames()

    def click(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def resize(self, width: int, height: int, density: float = 1) -> None:
        self.width, self.height = width, height
        facts = {"width": width, "height": height, "deviceScaleFactor": density, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **facts)

    def media(self, **features: str) -> None:
        """What the page is told about the user: `prefers_color_scheme="dark"`."""
        media_features = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=media_features)
        self.frames()

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """What is to be seen, as a PNG."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))


@contextlib.contextmanager
def window(folder: Path) -> Iterator[Window]:
    """A window of a browser of its own, which keeps its things in an empty folder."""
    assert PROGRAM is not None
    command = [PROGRAM, *_FLAGS, f"--user-data-dir={folder}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        try:
            # A picture comes as one message, of which the library takes a mebibyte by default. It also asks whether the
            # browser lives, and never reads the answer while the events of a page that nobody looks at fill its queue.
            with connect(_address(folder, browser), max_size=2**28, ping_interval=None) as socket:
                yield Window(socket, _session(socket))
        finally:
            browser.terminate()


def _address(folder: Path, browser: subprocess.Popen[bytes]) -> str:
    """The browser writes the port it has found into its folder."""
    port = folder / "DevToolsActivePort"
    end = time.monotonic() + PATIENCE
    # Two lines: the file may be there before its second one is.
    while not (port.exists() and port.read_text().count("\n")):
        assert browser.poll() is None, f"the browser ended with {browser.returncode}"
        assert time.monotonic() < end, "the browser does not answer"
        time.sleep(0.05)
    port_number, path = port.read_text().split("\n")[:2]
    return f"ws://127.0.0.1:{port_number}{path}"


def _session(socket: Any) -> str:
    def call(number: int, method: str, **params: Any) -> Any:
        socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(socket.recv(timeout=PATIENCE))
            if answer.get("id") == number:
                return answer["result"]

    target = call(1, "Target.createTarget", url="about:blank")["targetId"]
    return str(call(2, "Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
