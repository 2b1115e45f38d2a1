"""An engine for tests of the bench: what it does is written in the schema, and every text of `allows` is allowed."""

import os
import signal
import time
from typing import Any

import numpy as np


class Refusal(Exception):
    """The schema is not taken."""


class Unsatisfiable(Refusal):
    """No instance is valid, it says."""


class Scripted:
    package = "numpy"  # whose version the report tells
    refusals = (Refusal,)
    unsatisfiable = Unsatisfiable

    def __init__(self, tokenizer: Any, log: str = ""):
        self._tokenizer, self._log = tokenizer, log

    def forget(self) -> None:
        self.script: dict[str, Any] = {}

    def compile(self, schema: Any) -> None:
        self.script = schema
        if self._log and "allows" in schema:
            with open(self._log, "a") as file:
                file.write(f"{schema['allows']}\n")
        deeds = {
            "hang": lambda: time.sleep(60),
            "die": lambda: os.kill(os.getpid(), signal.SIGSEGV),
            "leave": lambda: os._exit(3),
            "refuse": lambda: self._refuse(Refusal("it has a keyword")),
            "unsatisfiable": lambda: self._refuse(Unsatisfiable("nothing is valid")),
            "eat": lambda: bytearray(64 << 30),
            "fault": lambda: self._refuse(KeyError("a bug")),
        }
        deeds.get(schema.get("does"), lambda: None)()

    def _refuse(self, error: Exception) -> None:
        raise error

    def reset(self, most: int | None = None) -> None:
        self.read: list[int] = []

    def mask(self) -> None:
        if self.script.get("does") == "fail in masks":
            raise RuntimeError("no mask")

    def words(self) -> np.ndarray | None:
        """Tokens after which a text of `allows` is still possible, and the end."""
        row = np.zeros(len(self._tokenizer) // 32 + 1, np.uint32)
        text = self._tokenizer.decode(self.read)
        allowed = self.script.get("allows", [])
        for token in range(len(self._tokenizer)):
            longer = self._tokenizer.decode([*self.read, token])
            if len(longer) > len(text) and any(each.startswith(longer) for each in allowed):
                row[token >> 5] |= np.uint32(1 << (token & 31))
        if self.can_stop():
            stop = self._tokenizer.eos_token_id
            row[stop >> 5] |= np.uint32(1 << (stop & 31))
        return row.view(np.int32)

    def commit(self, token: int) -> bool:
        self.read.append(token)
        text = self._tokenizer.decode(self.read)
        return any(allowed.startswith(text) for allowed in self.script.get("allows", []))

    def can_stop(self) -> bool:
        return self._tokenizer.decode(self.read) in self.script.get("allows", [])

    def nbytes(self) -> int:
        return 1000
