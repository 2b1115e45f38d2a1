"""A real browser, driven by chromedriver as the W3C's WebDriver says: Debian's packages chromium and chromium-driver."""

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.commands.pages import BROWSER, HEADLESS

DRIVER = shutil.which("chromedriver")
needs_driver = pytest.mark.skipif(BROWSER is None or DRIVER is None, reason="no Chromium with its chromedriver here")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element's id, by the W3C
LONGEST = 300  # seconds until what is waited for has to be there


class Browser:
    """One window."""

    def __init__(self, address: str, folder: Path):
        self._address = address
        options = {"binary": BROWSER, "args": [*HEADLESS, f"--user-data-dir={folder}", "about:blank"]}
        asked = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self._session = ""
        self._session = "/session/" + self._ask("/session", {"capabilities": {"alwaysMatch": asked}})["sessionId"]

    def _ask(self, path: str, given: dict[str, Any] | None = None, method: str | None = None) -> Any:
        data = None if given is None else json.dumps(given).encode()
        request = urllib.request.Request(self._address + self._session + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LONGEST) as found:
                return json.load(found)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def close(self) -> None:
        self._ask("", method="DELETE")

    def open(self, url: str, width: int, height: int = 900) -> None:
        """Narrower than a window may be, too: as the tools of developers show a phone."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._devtools("Emulation.setDeviceMetricsOverride", metrics)
        self._devtools("Emulation.setScrollbarsHidden", {"hidden": True})
        self._ask("/url", {"url": url})

    def _devtools(self, command: str, given: dict[str, Any]) -> Any:
        return self._ask("/goog/cdp/execute", {"cmd": command, "params": given})

    def run(self, script: str) -> Any:
        """The value of an expression."""
        return self._ask("/execute/sync", {"script": f"return ({script})", "args": []})

    def text(self, selector: str) -> str:
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def wait(self, script: str) -> Any:
        """The value of an expression as soon as it is true."""
        end = time.monotonic() + LONGEST
        while not (found := self.run(script)):
            assert time.monotonic() < end, f"it does not become true: {script}\n{self.run('document.body.innerText')}"
            time.sleep(0.2)
        return found

    def _element(self, selector: str) -> str:
        return "/element/" + self._ask("/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector: str) -> None:
        """As a user does: what is hidden, disabled or covered raises."""
        self._ask(self._element(selector) + "/click", {})

    def write(self, selector: str, text: str) -> None:
        """Instead of what stands there."""
        element = self._element(selector)
        self._ask(element + "/clear", {})
        self._ask(element + "/value", {"text": text})

    def choose(self, selector: str, value: str) -> None:
        self.click(f"{selector} > option[value={json.dumps(value)}]")

    def picture(self, file: Path) -> None:
        """Of the whole page, however long."""
        shown = self._devtools("Page.captureScreenshot", {"captureBeyondViewport": True})
        file.write_bytes(base64.b64decode(shown["data"]))

    def complaints(self) -> list[str]:
        """What scripts and policies complained of since the last call."""
        return [entry["message"] for entry in self._ask("/se/log", {"type": "browser"})]

    def asked_for(self) -> list[str]:
        """The addresses that were asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self._ask("/se/log", {"type": "performance"})]
        return [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    """A browser, whose driver ends with it."""
    command = [str(DRIVER), "--port=0", f"--log-path={folder / 'driver.log'}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        try:
            assert driver.stdout is not None
            port = next(line.rsplit(" ", 1)[1].strip(".\n") for line in driver.stdout if "started successfully" in line)
            browser = Browser(f"http://127.0.0.1:{port}", folder / "profile")
            yield browser
            browser.close()
        finally:
            driver.kill()
