"""Grammars in lark's notation: all that are written down, ours and lark's own; and random ones with templates."""

import random
from importlib.resources import files

import pytest

from tests.corpus_files import tables
from tests.oracles.random_lark import RandomLark

STARTS = {"python.lark": "file_input"}
SHIPPED = {"common.lark": "\nstart: NUMBER\n", "unicode.lark": "\nstart: WS\n", "lark.lark": "", "python.lark": ""}


def written_grammars() -> list:
    cases = [pytest.param(text, "start", id=name) for name, text in tables("lark_texts")["valid"].items()]
    for name, rest in SHIPPED.items():
        text = (files("lark") / "grammars" / name).read_text(encoding="utf-8") + rest
        cases.append(pytest.param(text, STARTS.get(name, "start"), id=f"lark's {name}"))
    ours = [
        path for path in sorted(files("grammarlm.grammars.library").iterdir(), key=str) if path.name.endswith(".lark")
    ]
    cases += [pytest.param(path.read_text(encoding="utf-8"), "start", id=f"our {path.name}") for path in ours]
    return cases


class RandomText(RandomLark):
    """Random grammars with templates, and the same with a piece changed, so that most are broken."""

    def __init__(self, seed: str):
        super().__init__(seed)
        self.rng = random.Random(f"text {seed}")

    def with_templates(self) -> str:
        text = self.grammar().text
        uses = [f"_pair{{{a}}}" for a in self._terminals] + ['two{"a", "b"}', "two{_pair{start}, start}"]
        rules = ["_pair{x}: x x | x _pair{x}", "two{x, y}: x [y] x | y two{x, y}", f"extra: {' | '.join(uses)}"]
        return text + "\n".join(rules) + "\n"

    def changed(self) -> str:
        text = self.with_templates()
        pieces = [*"()[]{}|~:?1%/", "->", "..", '"', "\n", "\\", " a", " A"]
        at = self.rng.randrange(len(text))
        return text[:at] + self.rng.choice(["", *pieces]) + text[at + self.rng.randint(0, 2) :]
