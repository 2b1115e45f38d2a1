"""OpenAI-compatible servers as --url names them: their addresses, and what they tell about themselves.

GET /v1/models      whether the model is there, and its context where the server says so (vLLM does)
GET /version        the server's version (vLLM)
POST /tokenize      how long a prompt is in the server's own tokens (vLLM)
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from grammarlm.bench.generation.prompts import Example, messages_of, prompt_of

PATIENCE = 10.0  # seconds for an answer about itself
NAMED = re.compile(r"([\w .,+-]+)=(https?://.*)")


class NoServer(ValueError):
    """Nothing answers at the address, or not with that model."""


@dataclass(frozen=True)
class Endpoint:
    """A server; `name` is its row."""

    name: str
    url: str  # without /v1
    model: str
    context: int | None = None
    version: str = ""

    @classmethod
    def of(cls, text: str, model: str) -> Endpoint:
        """From URL or NAME=URL, where the URL may end in /v1."""
        named = NAMED.fullmatch(text)
        name, url = named.groups() if named else ("server", text)
        return cls(name, url.rstrip("/").removesuffix("/v1"), model)

    def asked(self) -> Endpoint:
        """With what it tells about itself; NoServer where it is not there. A server that only generates tells nothing."""
        try:
            models = self.answer("/v1/models").get("data", [])
        except urllib.error.HTTPError:
            return self
        except (OSError, ValueError) as error:
            raise NoServer(f"{self.url} does not answer: {error}") from None
        found = {each["id"]: each for each in models if "id" in each}
        if found and self.model not in found:
            raise NoServer(f"{self.url} has no model {self.model}: --model takes {', '.join(found)}")
        context = found.get(self.model, {}).get("max_model_len")
        try:
            version = str(self.answer("/version").get("version", ""))
        except (OSError, ValueError):
            version = ""
        return Endpoint(self.name, self.url, self.model, context, version)

    def prompt(self, schema: Any, shown: Sequence[Example], completions: bool) -> dict[str, Any]:
        """The part of a request that says what is wanted."""
        if completions:
            return {"model": self.model, "prompt": prompt_of(schema, shown)}
        return {"model": self.model, "messages": messages_of(schema, shown)}

    def length(self, prompt: dict[str, Any]) -> int | None:
        """Tokens of a prompt; None where the server does not tell."""
        try:
            return int(self.answer("/tokenize", prompt)["count"])
        except (OSError, ValueError, KeyError):
            return None

    def answer(self, path: str, body: Any = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            found: dict[str, Any] = json.loads(answer.read())
        return found

    def note(self) -> str:
        return f"{self.name}: {self.url}" + (f", version {self.version}" if self.version else "")


def endpoints_of(texts: Iterable[str], model: str) -> tuple[list[Endpoint], dict[str, str]]:
    """The servers that are there, and why the others are not."""
    found, absent = list[Endpoint](), dict[str, str]()
    for endpoint in (Endpoint.of(text, model) for text in texts):
        if endpoint.name in absent or any(endpoint.name == other.name for other in found):
            raise ValueError(f"--url: two servers are called {endpoint.name}; give each a name of its own, as NAME=URL")
        try:
            found.append(endpoint.asked())
        except NoServer as error:
            absent[endpoint.name] = str(error)
    if not found:
        raise ValueError("; ".join(f"--url: {why}" for why in absent.values()))
    return found, absent
