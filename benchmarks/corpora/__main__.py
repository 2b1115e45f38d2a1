"""Writes the settings grammar and the texts whose names are numbers; other grammars and texts are written by hand.

usage: python -m benchmarks.corpora
"""

import random

from . import GENERATORS, HERE, SIZES, device_settings, load


def main() -> None:
    made = device_settings.language()
    (HERE / "settings.ebnf").write_text(device_settings.ebnf(made), encoding="utf-8")
    (HERE / "settings.lark").write_text(device_settings.lark(made), encoding="utf-8")
    for name in GENERATORS:
        corpus, folder = load(name), HERE / "texts" / name
        folder.mkdir(parents=True, exist_ok=True)
        for index, size in enumerate(SIZES):
            text = corpus.generate(random.Random(f"{name} {index}"), size)
            corpus.oracle(text)
            (folder / f"{index}.txt").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
