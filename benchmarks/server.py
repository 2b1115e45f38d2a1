"""`grammarlm serve` beside its live loop and beside `transformers serve`: tokens a second, first bytes, refusals.

usage: python -m benchmarks.server [--tokens 200] [--rounds 5] [--peer FOLDER]

    pip install --no-deps --target FOLDER fastapi opentelemetry-api accelerate      # what transformers serve needs beside ours

A model of the embedded one's shape with random weights, so that greedy answers go on to their last token; one thread. Each server
is a process of its own, and clients are threads that read streams of chat completions to the end:

    in process     the streams of 8 clients, over gl.astream of the same prompts; and the first byte of one
    beside         tokens a second of 1 and 8 clients, free text, of both servers; of ours also a string of a schema
    refusals       how long a 400 takes

Servers take turns; ratios are medians of the rounds', but of tokens: a stream that breaks off or ends early is an error.
"""

import argparse
import asyncio
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch

import grammarlm as gl
from benchmarks.report import table, write

PATIENCE = 180.0  # seconds until a server answers
STRING = {"grammarlm": {"schema": {"type": "string", "minLength": 5000}, "close": False}}
BARS = {"over live": 0.95, "first byte": 3.0, "beside": 1.0, "constrained": 0.97, "400": 20.0}


def save_model(folder: str):
    """The embedded model's shape and tokenizer, with random weights that never end a text."""
    import transformers

    tiny, tokenizer = gl.load_tiny()
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(tiny.config).eval()
    model.generation_config.eos_token_id = tiny.generation_config.eos_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class Client:
    """Of one server: its port, and what it calls the model."""

    def __init__(self, port: int, model: str):
        self.port, self.model = port, model

    def stream(self, text: str, tokens: int, more: dict | None = None) -> tuple[float, float]:
        """Seconds to the first piece of the answer, and to its end."""
        messages = [{"role": "user", "content": text}]
        asked = {
            "model": self.model,
            "messages": messages,
            "max_tokens": tokens,
            "temperature": 0,
            "stream": True,
            **(more or {}),
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        begun, first, reason = time.perf_counter(), None, None
        connection.request("POST", "/v1/chat/completions", json.dumps(asked), {"Content-Type": "application/json"})
        found = connection.getresponse()
        if found.status != 200:
            raise RuntimeError(found.read().decode())
        for line in found:
            if not line.startswith(b"data: {"):
                continue
            for choice in json.loads(line[6:]).get("choices", ()):
                reason = choice.get("finish_reason") or reason
                if first is None and choice.get("delta", {}).get("content"):
                    first = time.perf_counter() - begun
        connection.close()
        if first is None or reason != "length":
            raise RuntimeError(f"the answer of port {self.port} ended with {reason!r}")
        return first, time.perf_counter() - begun

    def streams(self, clients: int, tokens: int, more: dict | None = None) -> float:
        """Tokens a second of so many clients at once."""
        begun = time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(lambda text: self.stream(text, tokens, more), texts(clients)))
        return clients * tokens / (time.perf_counter() - begun)

    def refused(self) -> float:
        """Milliseconds of a 400."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        asked = {
            "model": self.model,
            "messages": [{"role": "user", "content": "a"}],
            "response_format": {"type": "xml"},
        }
        begun = time.perf_counter()
        connection.request("POST", "/v1/chat/completions", json.dumps(asked), {"Content-Type": "application/json"})
        found = connection.getresponse()
        message = found.read().decode()
        if found.status != 400:
            raise RuntimeError(f"{found.status}: {message}")
        return 1e3 * (time.perf_counter() - begun)


def texts(count: int) -> list[str]:
    return [f"{number} lamps, and the cat of number {number * number}." for number in range(count)]


@contextmanager
def serving(command: list[str], name: str, folder: str, path: str = ""):
    """A server as a process; `command` without its port."""
    port, log = free_port(), Path(folder, f"{name}.log")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "GRAMMARLM_API_KEY": ""}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (path, os.environ.get("PYTHONPATH"))))
    with (
        log.open("wb") as out,
        subprocess.Popen([*command, "--port", str(port)], stdout=out, stderr=out, env=environment) as process,
    ):
        try:
            end = time.monotonic() + PATIENCE
            while not is_there(port):
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(log.read_text()[-300:])
                time.sleep(0.2)
            yield port
        finally:
            process.kill()


def is_there(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False


async def one_in_process(model, tokenizer, text: str, tokens: int) -> float:
    """Seconds to its first piece."""
    messages, begun, first = [{"role": "user", "content": text}], time.perf_counter(), None
    async for event in gl.astream(model, messages, tokenizer=tokenizer, max_tokens=tokens):
        if first is None and event.text:
            first = time.perf_counter() - begun
    assert first is not None
    return first


async def in_process(model, tokenizer, clients: int, tokens: int) -> float:
    """Tokens a second of so many streams at once."""
    begun = time.perf_counter()
    await asyncio.gather(*(one_in_process(model, tokenizer, text, tokens) for text in texts(clients)))
    return clients * tokens / (time.perf_counter() - begun)


def measured(ours: Client, peers: dict[str, Client], model, tokenizer, tokens: int, rounds: int):
    """Of each figure the value of each round; a first round of few tokens does not count."""
    found: dict[str, list[float]] = {}
    for number in range(-1, rounds):
        length = tokens if number >= 0 else 4
        turns = {
            "in process, 8": lambda length=length: asyncio.run(in_process(model, tokenizer, 8, length)),
            "in process, first": lambda: 1e3 * asyncio.run(one_in_process(model, tokenizer, texts(1)[0], 4)),
            "grammarlm, first": lambda: 1e3 * ours.stream(texts(1)[0], 4)[0],
            "grammarlm, 400": ours.refused,
            "grammarlm, 8, schema": lambda length=length: ours.streams(8, length, STRING),
            "grammarlm, 1, schema": lambda length=length: ours.streams(1, length, STRING),
        }
        for clients in (1, 8):
            for name, client in {"grammarlm": ours, **peers}.items():
                turns[f"{name}, {clients}"] = lambda client=client, clients=clients, length=length: client.streams(
                    clients, length
                )
        for name in sorted(turns, reverse=number % 2 == 1):
            value = turns[name]()
            if number >= 0:
                found.setdefault(name, []).append(value)
    return found


def ratio(found, one: str, other: str) -> float:
    return statistics.median(a / b for a, b in zip(found[one], found[other], strict=True))


def markdown(found, refused: dict[str, str]) -> str:
    middle = {name: statistics.median(values) for name, values in found.items()}
    peers = [name[: -len(", 1")] for name in found if name.endswith(", 1") and not name.startswith("grammarlm")]

    def row(what: str, one: str, beside: str, other: str, bar: float) -> list[str]:
        return [
            what,
            f"{middle[one]:.0f}",
            beside,
            f"{middle[other]:.0f}",
            f"{ratio(found, one, other):.2f}",
            f">= {bar}",
        ]

    per_second, first, other = "tokens a second", middle["grammarlm, first"], middle["in process, first"]
    rows = [
        row(f"8 streams, {per_second}", "grammarlm, 8", "in process", "in process, 8", BARS["over live"]),
        [
            "first byte, ms",
            f"{first:.1f}",
            "in process",
            f"{other:.1f}",
            f"{first - other:+.1f} ms",
            f"+{BARS['first byte']:.0f} ms",
        ],
    ]
    for number in (1, 8):
        mine = f"grammarlm, {number}"
        rows.append(row(f"{number} under a schema, {per_second}", f"{mine}, schema", "free", mine, BARS["constrained"]))
        rows += [row(f"{number} free, {per_second}", mine, peer, f"{peer}, {number}", BARS["beside"]) for peer in peers]
    rows.append(["a 400, ms", f"{middle['grammarlm, 400']:.1f}", "", "", "", f"<= {BARS['400']:.0f}"])
    text = table(["grammarlm serve", "", "beside", "", "ratio", "bar"], rows)
    return text + "".join(f"\n\n{name}: {why}" for name, why in refused.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", default="build/transformers-serve", help="where pip has put fastapi and the others")
    options = parser.parse_args()
    torch.set_num_threads(1)
    refused: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        model, tokenizer = save_model(folder)
        own = [sys.executable, "-m", "grammarlm", "serve", folder, "--name", "random"]
        ours = Client(stack.enter_context(serving(own, "ours", folder)), "random")
        theirs = [
            str(Path(sys.executable).with_name("transformers")),
            "serve",
            folder,
            "--device",
            "cpu",
            "--dtype",
            "float32",
        ]
        peers = {}
        for name, more in (("transformers serve", []), ("transformers serve, continuous", ["--continuous-batching"])):
            try:
                client = Client(stack.enter_context(serving([*theirs, *more], name, folder, options.peer)), folder)
                client.streams(2, 4)
                peers[name] = client
            except (RuntimeError, OSError) as error:
                refused[name] = "did not serve: " + (str(error).strip().splitlines() or ["it ended"])[-1]
        found = measured(ours, peers, model, tokenizer, options.tokens, options.rounds)
    write("server", "A server for one machine", {"rounds": found, "refused": refused}, markdown(found, refused))


if __name__ == "__main__":
    main()
