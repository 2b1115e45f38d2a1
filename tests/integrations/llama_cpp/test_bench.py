"""llama.cpp as an engine of `grammarlm bench`: its masks are those of the same GBNF here, and it is a row of a report."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.bench.tokenizer import load_tokenizer
from tests.commands.bench_cases import case_of, write_cases
from tests.commands.command_line import call
from tests.mask_bits import ids_of
from tests.real_data import FOLDER, needs_data

pytest.importorskip("llama_cpp")
pytest.importorskip("transformers")
pytest.importorskip("jsonschema")

SCHEMAS: list[dict[str, Any]] = [
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "né": {"type": "string"}, "d": {"type": "string", "format": "date"}},
        "required": ["a", "né"],
        "additionalProperties": {"type": "boolean"},
    },
    {"type": "array", "items": {"enum": ["x y", "é", 1.5, None]}, "maxItems": 4},
    {"type": "string", "pattern": "^[a-zé]{2,4}-[0-9]+$"},
    {"type": "object"},
]
NO_TEXT = re.compile(rb"[\x00\xc0\xc1\xf5-\xff]")  # llama.cpp refuses NUL, and takes bytes that no UTF-8 has


def comparable(vocab: gl.Vocabulary, tokens: Any) -> set[int]:
    return {token for token in tokens if not NO_TEXT.search(vocab.token_bytes(token))}


@pytest.mark.parametrize(("name", "walks"), [("tiny", 8), pytest.param("llama2", 2, marks=needs_data)])
def test_masks_are_those_of_the_same_grammar(name: str, walks: int) -> None:
    """llama2's has tokens with the same bytes."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    from benchmarks.schemas.llama_cpp import LlamaCpp

    tokenizer = load_tokenizer(name if name == "tiny" else str(FOLDER / "tokenizers" / name))
    engine, vocab, rng = LlamaCpp(tokenizer), gl.Vocabulary.from_tokenizer(tokenizer), random.Random(0)
    row, stop = gl.allocate_mask(1, vocab.size), tokenizer.eos_token_id
    for schema in SCHEMAS:
        engine.compile(schema)
        constraint = gl.compile(gl.Gbnf(json_schema_to_gbnf(json.dumps(schema))), vocab)
        for _ in range(walks):
            engine.reset()
            matcher = constraint.matcher()
            for _ in range(25):
                engine.mask()
                matcher.fill_mask(row)
                theirs = set(ids_of(engine.words()))
                common = comparable(vocab, theirs)
                assert common == comparable(vocab, ids_of(row[0]))
                assert engine.can_stop() == matcher.is_accepting == (stop in theirs)
                if not common - {stop}:
                    break
                token = rng.choice(sorted(common - {stop}))
                assert engine.commit(token)
                assert matcher.advance(token)
            forbidden = set(range(vocab.size)) - theirs
            assert not engine.commit(min(forbidden))


def test_what_is_refused() -> None:
    from benchmarks.schemas.llama_cpp import LlamaCpp

    engine = LlamaCpp(load_tokenizer("tiny"))
    no_anchors, no_gbnf = ({"type": "string", "pattern": pattern} for pattern in ("a", r"^\d$"))
    for schema in (True, no_anchors, no_gbnf, {"$ref": "https://example.com/a"}):
        with pytest.raises(engine.refusals):
            engine.compile(schema)
    engine.compile({"type": "null"})  # and the next one is taken
    engine.reset()
    engine.mask()
    assert not engine.can_stop()


CASES = {
    "Snowplow---day": case_of({"type": "string", "format": "date"}, ("2024-02-29", True), ("2024-13-29", False)),
    "Snowplow---bound": case_of({"type": "integer", "maximum": 3}, (2, True), (4, False)),
    "Snowplow---unknown": case_of({"type": "string", "pattern": "a"}, ("a", True)),
}


@pytest.mark.parametrize("model", ["scripted", "tiny"])
def test_a_row_of_the_report(capsys: Any, tmp_path: Path, model: str) -> None:
    folder, out = write_cases(tmp_path / "data", CASES), tmp_path / "out"
    given = (
        "--model",
        model,
        "--engines",
        "benchmarks.schemas.llama_cpp:LlamaCpp",
        "--max-tokens",
        "20",
        "--out",
        str(out),
    )
    code, printed, err = call(capsys, "bench", "jsonschemabench", str(folder), *given)
    assert (code, err) == (0, "")
    assert "llama-cpp-python 0." in printed
    assert "- llamacpp: " in printed  # what its times are
    assert "| llamacpp | 3 | 2 (66.67%) |" in re.sub(" +", " ", printed)
    failing = (out / "failing.md").read_text()
    assert "refused: AssertionError: Pattern must start with" in failing
    if model == "scripted":
        assert "| llamacpp | 2 | 2 (100.00%) | 2 (100.00%) | 0 | 100.00% | 2 | 1 |" in re.sub(" +", " ", printed)
        assert "let through" in failing  # 4, as its converter passes over bounds
