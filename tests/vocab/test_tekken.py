"""Mistral's tekken.json: made here, and the files that its own library ships, where that is installed (make test-vllm)."""

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.vocab.tokenizers.sources import read_tokenizer

TEXTS = ("Hello, wörld 123 \n\n x", '{"a": [1, 2]}', "日本語 🎉", "[INST] no special token [/INST]")


def made(**changes: Any) -> dict[str, Any]:
    tokens = [bytes([byte]) for byte in range(256)] + [b"ab", b"abc", "é".encode(), b"beyond"]
    return {
        "config": {
            "pattern": r"[a-z]+|\s|.",
            "num_vocab_tokens": len(tokens),
            "default_vocab_size": 8 + 259,
            "default_num_special_tokens": 8,
            "version": "v3",
        },
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
            for rank, token in enumerate(tokens)
        ],
        **changes,
    }


def written(folder: Path, content: object) -> Path:
    path = folder / "tekken.json"
    path.write_text(json.dumps(content))
    return path


def test_a_file(tmp_path: Path) -> None:
    written(tmp_path, made(special_tokens=[{"rank": 0, "token_str": "<s>"}, {"rank": 3, "token_str": "</s>"}]))
    table, _ = read_tokenizer(tmp_path)  # the folder
    assert table.count == 8 + 259  # not the token that is beyond the model's
    assert [table.token(i) for i in (0, 1, 3)] == [b"<s>", b"<SPECIAL_1>", b"</s>"]
    assert [table.token(8 + i) for i in (0, 65, 255, 256, 258)] == [b"\x00", b"A", b"\xff", b"ab", "é".encode()]
    assert (table.special_ids, table.end_ids) == ((*range(8),), (3,))
    constraint = gl.compile(gl.Regex("abc"), gl.Vocabulary.from_tokenizer(tmp_path / "tekken.json"))
    matcher = constraint.matcher()
    assert matcher.advance(8 + 257)
    assert matcher.is_accepting


def test_special_tokens_that_the_first_version_does_not_list(tmp_path: Path) -> None:
    table, _ = read_tokenizer(written(tmp_path, made()))
    assert [table.token(i) for i in range(4)] == [b"<unk>", b"<s>", b"</s>", b"[INST]"]
    assert table.end_ids == (2,)


def test_a_tokenizer_json_beside_it_comes_first(tmp_path: Path) -> None:
    written(tmp_path, made())
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(gl.TokenizerError, match=r"tokenizer\.json"):
        gl.Vocabulary.from_tokenizer(tmp_path)


CONFIG: Any = made()["config"]


@pytest.mark.parametrize(
    "changes",
    [
        {"vocab": []},
        {"vocab": made()["vocab"][:100]},
        {"vocab": made()["vocab"][::-1]},
        {"vocab": [{"rank": 0}] * 300},
        {"vocab": [{"rank": rank, "token_bytes": "*"} for rank in range(300)]},
        {"vocab": [7] * 300},
        {"special_tokens": 7},
        {"special_tokens": [{"rank": "x", "token_str": "<s>"}]},
        {"special_tokens": [{"token_str": "<s>"}]},
        {"config": {**CONFIG, "default_vocab_size": "many"}},
        {"config": {**CONFIG, "default_num_special_tokens": -1}},
        {"config": {**CONFIG, "default_num_special_tokens": 10**12, "default_vocab_size": 2 * 10**12}},
        {"config": {**CONFIG, "default_num_special_tokens": True}},
    ],
)
def test_broken_files_are_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(gl.TokenizerError, match="tekken"):
        gl.Vocabulary.from_tokenizer(written(tmp_path, made(**changes)))


def test_files_of_mistrals_library() -> None:
    pytest.importorskip("mistral_common", reason="Mistral's library is not installed")
    import mistral_common
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    files = sorted((Path(mistral_common.__file__).parent / "data").glob("tekken*.json"))
    assert files
    rng = random.Random(0)
    for path in files:
        wrapper = MistralTokenizer.from_file(str(path))
        own = wrapper.instruct_tokenizer.tokenizer
        readings = [read_tokenizer(source) for source in (path, own, wrapper)]
        for table, encode in readings:
            assert (table.count, table.end_ids) == (own.n_words, (own.eos_id,))
            assert table.special_ids == tuple(range(own.num_special_tokens))
            for token in rng.sample(range(own.num_special_tokens, own.n_words), 2000):
                assert table.token(token) == own.id_to_byte_piece(token)
            for token in range(own.num_special_tokens):
                assert table.token(token).decode() == own.id_to_piece(token)
            for text in TEXTS:
                assert encode(text) == own.encode(text, bos=False, eos=False)
