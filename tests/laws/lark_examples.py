"""Lark grammars written by hand, each with the characters of its texts: corpus/lark.toml."""

from pathlib import Path

from tests.corpus_files import read_toml

HAND_WRITTEN: dict[str, tuple[str, str]] = {
    name: (case["grammar"], case["alphabet"])
    for name, case in read_toml(Path(__file__).parents[1] / "corpus" / "lark.toml").items()
}
