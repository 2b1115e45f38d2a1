"""A vLLM server on loopback under hard use: does anything wait because of us?

usage: PYTHONPATH=. .venv-vllm/bin/python -m benchmarks.vllm_server [--schemas 7951] [--engines off processor backend]

Each engine is a server of its own: "off" has no plug-in, "processor" grammarlm-vllm as it installs, "backend" also
GRAMMARLM_VLLM_BACKEND=1. While each phase runs, /health is asked every 5 ms on a connection of its own:

    idle      nothing else
    bad       the bad requests of the tests, one after another, each followed by a good one ("off": the same bodies, unread)
    schemas   one request for one token under each schema of $GRAMMARLM_DATA/maskbench
    gaps      a long answer is streamed while a union of 64 schemas and a Lark grammar that nobody has seen are compiled
    ready     the first constrained request of the process, after /health has answered for the first time
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from benchmarks.corpora import device_settings
from benchmarks.report import table, write
from benchmarks.vllm_steps import unseen
from tests.integrations.vllm.bad_requests import BAD
from tests.integrations.vllm.scenario import DATE
from tests.integrations.vllm.server import Pulse, Server, serving

ENGINES = ("off", "processor", "backend")
RULES = 120  # of the Lark grammar


def body(asked: dict[str, Any], engine: str, **more: Any) -> dict[str, Any]:
    """A request in the words of the engine's route; "off" gets what the processor would, and ignores it."""
    common = {"prompt": "It was on ", "max_tokens": 40, "temperature": 0.0, **more}
    if engine == "backend" and set(asked) == {"schema"}:
        form = {"type": "json_schema", "json_schema": {"name": "x", "schema": asked["schema"]}}
        return {**common, "response_format": form}
    return {**common, "vllm_xargs": {"grammarlm": json.dumps(asked)}}


def milliseconds(pulse: Pulse) -> dict[str, float]:
    times = sorted(pulse.times)
    return {"p50": 1e3 * times[len(times) // 2], "p99": 1e3 * times[int(len(times) * 0.99)], "max": 1e3 * times[-1]}


def ready(server: Server, engine: str) -> dict[str, float]:
    start = time.perf_counter()
    status, answer = server.post("/v1/completions", body({"schema": unseen(0)}, engine, max_tokens=1))
    assert status == 200, answer
    return {"max": 1e3 * (time.perf_counter() - start)}


def idle(server: Server, engine: str) -> dict[str, float]:
    with Pulse(server) as pulse:
        time.sleep(10)
    return milliseconds(pulse)


def bad(server: Server, engine: str) -> dict[str, float]:
    with Pulse(server) as pulse:
        for asked in BAD.values():
            server.post("/v1/completions", body(asked, engine))
            status, answer = server.post("/v1/completions", body({"regex": DATE}, engine))
            assert status == 200, answer
    return milliseconds(pulse)


def schemas(server: Server, engine: str, files: list[Path]) -> dict[str, float]:
    """Also how many were served, and refused with a sentence."""
    statuses: dict[int, int] = {}
    too_slow = empty = 0
    with Pulse(server) as pulse:
        for path in files:
            schema = json.loads(path.read_text(encoding="utf-8"))["schema"]
            status, answer = server.post("/v1/completions", body({"schema": schema}, engine, max_tokens=1))
            statuses[status] = statuses.get(status, 0) + 1
            too_slow += status == 400 and "GRAMMARLM_VLLM_BACKEND" in json.dumps(answer)
            empty += status == 200 and not answer["choices"][0]["text"]  # refused after admission: too late for 400
    found = milliseconds(pulse)
    failed = sum(count for status, count in statuses.items() if status not in (200, 400))
    served, refused = statuses.get(200, 0) - empty, statuses.get(400, 0) - too_slow + empty
    return {**found, "served": served, "refused": refused, "too slow": too_slow, "failed": failed}


class Stream(threading.Thread):
    """A long answer, and the seconds between its pieces."""

    def __init__(self, server: Server):
        super().__init__()
        self.server, self.times = server, [0.0][:0]

    def run(self) -> None:
        where = urlparse(self.server.url)
        assert where.hostname is not None
        connection = http.client.HTTPConnection(where.hostname, where.port or 80, timeout=300)
        asked = {
            "model": "tiny",
            "prompt": "a",
            "max_tokens": 480,
            "ignore_eos": True,
            "stream": True,
            "temperature": 1.0,
        }
        connection.request("POST", "/v1/completions", json.dumps(asked), {"Content-Type": "application/json"})
        for line in connection.getresponse():
            if line.startswith(b"data: {"):
                self.times.append(time.perf_counter())
        connection.close()

    def gaps(self) -> list[float]:
        return [after - before for before, after in zip(self.times, self.times[1:], strict=False)]


def gaps(server: Server, engine: str) -> dict[str, float]:
    """The longest gap between steps while grammars compile, beside p99 of the gaps of a server with nothing else to do."""
    alone = [gap for _ in range(3) for gap in streamed(server)]
    union = {"schema": {"anyOf": [unseen(1000 + n) for n in range(64)]}}
    lark = {"grammar": device_settings.lark(device_settings.language(77, RULES)), "notation": "lark"}
    found = {"alone p99": 1e3 * sorted(alone)[int(len(alone) * 0.99)]}
    for name, asked in (("union", union), ("lark", lark)):
        during = streamed(server, body(asked, engine, max_tokens=4))
        found[name] = 1e3 * max(during)
    return found


def streamed(server: Server, request: dict[str, Any] | None = None) -> list[float]:
    stream = Stream(server)
    stream.start()
    if request is not None:
        while len(stream.times) < 40:
            time.sleep(0.005)
        server.post("/v1/completions", request)
    stream.join()
    return stream.gaps()


def measure(engine: str, files: list[Path]) -> dict[str, dict[str, float]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), backend=engine == "backend", plugin=engine != "off") as server,
    ):
        found = {"ready": ready(server, engine)}
        for name, phase in (("idle", idle), ("bad", bad), ("gaps", gaps)):
            found[name] = phase(server, engine)
            print(engine, name, found[name], flush=True)
        if engine != "off" and files:
            found["schemas"] = schemas(server, engine, files)
            print(engine, "schemas", found["schemas"], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemas", type=int, default=10_000, help="at most so many")
    parser.add_argument("--engines", nargs="*", default=list(ENGINES))
    options = parser.parse_args()
    data = os.environ.get("GRAMMARLM_DATA")
    files = sorted(Path(data, "maskbench").glob("*.json"))[: options.schemas] if data else []
    found = {engine: measure(engine, files) for engine in options.engines}
    show = [
        ("first constrained request after ready", "ready", "max"), ("/health, idle, p99", "idle", "p99"),
        ("/health, idle, max", "idle", "max"), ("/health during bad requests, max", "bad", "max"),
        ("/health during all schemas, p99", "schemas", "p99"), ("/health during all schemas, max", "schemas", "max"),
        ("gap between steps alone, p99", "gaps", "alone p99"),
        ("longest gap while a union of 64 schemas compiles", "gaps", "union"),
        ("longest gap while a Lark grammar compiles", "gaps", "lark"),
    ]  # fmt: skip
    rows = [
        [what, *(f"{found[engine].get(phase, {}).get(key, float('nan')):.1f}" for engine in options.engines)]
        for what, phase, key in show
    ]
    text = table(["milliseconds", *options.engines], rows).replace("nan", "-")
    for engine in options.engines:
        if counts := found[engine].get("schemas"):
            text += (
                f"\n\n{engine}: of {len(files):,} schemas {counts['served']:,} were served, {counts['refused']:,} refused, "
                f"{counts['too slow']:,} too slow for the event loop (400, naming the backend), {counts['failed']:,} failed."
            )
    print(text)
    write("vllm_server", "A vLLM server under hard use", found, text)


if __name__ == "__main__":
    main()
