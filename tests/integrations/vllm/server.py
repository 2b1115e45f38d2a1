"""A server on loopback in a process of its own, with grammarlm-vllm's entry points as they are installed."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomllib

from tests.integrations.vllm.scenario import MODEL, PERSON

ROOT = Path(__file__).parents[3]
MESSAGES = [{"role": "user", "content": "Name: Mia Lopez, 31"}]
TEMPLATE = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"

PLACE = {
    "type": "object",
    "properties": {"place": {"enum": ["Oslo", "Rome"]}},
    "required": ["place"],
    "additionalProperties": False,
}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "keep", "parameters": PERSON, "strict": True}},
    {"type": "function", "function": {"name": "look", "parameters": PLACE, "strict": True}},
]
SCHEMAS = {"keep": PERSON, "look": PLACE}


def installed(folder: Path) -> Path:
    """A folder for sys.path in which grammarlm-vllm is installed: its metadata, from its own pyproject.toml."""
    project = tomllib.loads((ROOT / "plugins" / "grammarlm-vllm" / "pyproject.toml").read_text())["project"]
    info = folder / "grammarlm_vllm-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in each.items())
        for group, each in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups))
    return folder


class Server:
    """What a client sees."""

    def __init__(self, port: int):
        self.url = f"http://127.0.0.1:{port}"

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Status and answer."""
        data = json.dumps({"model": "tiny", **body}).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                text = response.read().decode()
                return response.status, text if body.get("stream") else json.loads(text)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")

    def health(self) -> float:
        """Seconds until /health answers."""
        start = time.perf_counter()
        with urllib.request.urlopen(self.url + "/health", timeout=60) as response:
            assert response.status == 200
        return time.perf_counter() - start


@contextlib.contextmanager
def serving(
    folder: Path, *, backend: bool, plugin: bool = True, options: tuple[str, ...] = (), model: Path = MODEL
) -> Iterator[Server]:
    """A running server, with grammarlm-vllm installed if `plugin`; the log is shown where it does not start."""
    site = installed(folder / "site") if plugin else folder
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    (folder / "template").write_text(TEMPLATE)
    environment = {
        **os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_LOGGING_LEVEL": "WARNING",
        "GRAMMARLM_VLLM_BACKEND": "1" if backend else "",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(site)]),
    }  # fmt: skip
    command = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--served-model-name", "tiny",
        "--port", str(port), "--host", "127.0.0.1", "--dtype", "float32", "--enforce-eager", "--max-model-len", "512",
        "--max-num-seqs", "16", "--chat-template", str(folder / "template"), "--disable-log-stats", *options,
    ]  # fmt: skip
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
    server = Server(port)
    try:
        for _ in range(600):
            if process.poll() is not None:
                raise AssertionError((folder / "log").read_text()[-60_000:])
            with contextlib.suppress(OSError):
                server.health()
                break
            time.sleep(0.5)
        else:
            raise AssertionError((folder / "log").read_text()[-60_000:])
        yield server
        assert process.poll() is None, (folder / "log").read_text()[-60_000:]
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


class Pulse:
    """Asks /health all the time, in a thread; `times` are the seconds that each answer took."""

    def __init__(self, server: Server, pause: float = 0.005):
        self._server, self._pause, self._is_over = server, pause, threading.Event()
        self.times: list[float] = []
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._is_over.is_set():
            self.times.append(self._server.health())
            time.sleep(self._pause)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()


def calls_of_stream(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The calls of a stream: names, and the pieces of their arguments joined."""
    found: dict[int, list[str]] = {}
    for event in events:
        for call in event["choices"][0]["delta"].get("tool_calls") or ():
            name, arguments = found.setdefault(call["index"], ["", ""])
            function = call["function"]
            found[call["index"]] = [name or function.get("name") or "", arguments + (function.get("arguments") or "")]
    return [(name, arguments) for name, arguments in found.values()]
