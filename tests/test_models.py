"""The embedded model: its corpus, its tokenizer, its training, and what `load_tiny` returns."""

import hashlib
import json
import socket
import subprocess
import sys

import pytest

from grammarlm.models.batching import BLOCK, batches
from grammarlm.models.corpus import KINDS, RECORDS, example, to_json
from grammarlm.models.tiny import FOLDER, load_tiny
from grammarlm.models.tokenizer import END, PAD, VOCABULARY_SIZE, train_tokenizer

torch = pytest.importorskip("torch")

KEYS = {
    "person": ["name", "age", "city", "job"],
    "order": ["customer", "item", "quantity", "price", "paid"],
    "event": ["title", "date", "time", "place"],
    "address": ["street", "number", "postcode", "city"],
    "call": ["function", "arguments"],
}
TEXTS = (
    "",
    " ",
    "a  b",
    "Ada Lovelace\n",
    '{"name":"Zoë","n":[1,-2.50e3]}',
    "日本語 \U0001f600\r\n\t",
    "snake_case CamelCase",
    "\x00",
)


@pytest.fixture(scope="module")
def tiny():
    return load_tiny()


def digest(split: str) -> str:
    texts = (example(split, index) for index in range(300))
    return hashlib.sha256("".join(one.prompt + one.answer for one in texts).encode()).hexdigest()[:16]


def test_corpus_is_a_function_of_split_and_index():
    """The model card speaks of this very text, on every Python version; a change of it needs a new model."""
    assert (digest("train"), digest("heldout")) == ("32be85e5275602a1", "9a70848c660db82b")


def test_corpus_covers_every_kind():
    assert {example("train", index).kind for index in range(100)} == set(KINDS)


@pytest.mark.parametrize("kind", RECORDS)
def test_answers_are_compact_json_with_fixed_keys(kind):
    for index in range(100):
        one = example("heldout", index, kind)
        record = json.loads(one.answer)
        assert list(record) == KEYS[kind]
        assert to_json(record) == one.answer
        assert one.prompt.count("\n") == 1
        assert one.prompt.endswith("\n")


@pytest.mark.parametrize("kind", ["person", "address"])
def test_sentences_state_every_value(kind):
    for index in range(100):
        one = example("heldout", index, kind)
        assert all(str(value) in one.prompt for value in json.loads(one.answer).values())


def test_plain_sentences_have_no_record():
    one = example("heldout", 0, "plain")
    assert one.answer == ""
    assert "\n" not in one.prompt


def test_a_resumed_run_sees_the_same_batches(tiny):
    tokenizer = tiny[1]
    whole = list(batches(tokenizer, 0, 2 * BLOCK, 4))
    rest = list(batches(tokenizer, BLOCK - 3, 2 * BLOCK, 4))
    assert len(whole) == 2 * BLOCK
    assert all(
        torch.equal(a[0], b[0]) and torch.equal(a[1], b[1]) for a, b in zip(whole[BLOCK - 3 :], rest, strict=True)
    )


def test_batches_hold_each_example_once_and_count_no_padding(tiny):
    tokenizer = tiny[1]
    texts = []
    for ids, weights in batches(tokenizer, 0, BLOCK, 4):
        assert ((weights == 0) == (ids == tokenizer.pad_token_id)).all()
        texts += tokenizer.batch_decode(ids, skip_special_tokens=True)
    examples = (example("train", index) for index in range(4 * BLOCK))
    assert sorted(texts) == sorted(one.prompt + one.answer for one in examples)


def test_tokenizer_training_is_deterministic():
    first, second = (train_tokenizer(300).backend_tokenizer.to_str() for _ in range(2))
    assert first == second


def test_tokenizer_has_all_bytes_and_its_special_tokens(tiny):
    from tokenizers.pre_tokenizers import ByteLevel

    model, tokenizer = tiny
    assert set(ByteLevel.alphabet()) <= set(tokenizer.get_vocab())
    assert len(tokenizer) == VOCABULARY_SIZE == model.config.vocab_size
    assert (tokenizer.pad_token, tokenizer.eos_token) == (PAD, END)
    assert (tokenizer.pad_token_id, tokenizer.eos_token_id) == (model.config.pad_token_id, model.config.eos_token_id)
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id
    added = json.loads((FOLDER / "tokenizer.json").read_text(encoding="utf-8"))["added_tokens"]
    assert [(token["content"], token["special"]) for token in added] == [(PAD, True), (END, True)]


@pytest.mark.parametrize("text", TEXTS)
def test_tokenizer_round_trip(tiny, text):
    tokenizer = tiny[1]
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_copied_words_are_the_same_tokens_in_sentence_and_record(tiny):
    """What the pre-tokenizer is for: a space or a quote before a name does not change the name's tokens."""
    encode = tiny[1].encode
    assert encode("I met Ada Tolan")[-3:] == encode('"Ada Tolan')[-3:]
    assert len(encode('{"name":"')) == 3
    assert len(encode("2048")) == 4


def test_load_tiny_is_float32_silent_and_offline(monkeypatch, capfd):
    def refuse(*_):
        raise AssertionError("load_tiny opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    state = torch.get_rng_state()
    model, tokenizer = load_tiny()
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert not model.training
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    assert torch.equal(state, torch.get_rng_state())
    assert tokenizer("Ada")["input_ids"]
    assert capfd.readouterr() == ("", "")


def test_files_are_small_and_complete():
    sizes = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert {"model.safetensors", "config.json", "generation_config.json", "tokenizer.json", "README.md"} <= set(sizes)
    assert sizes["model.safetensors"] <= 8_000_000
    assert sum(sizes.values()) <= 8_500_000


def test_importing_the_models_needs_no_torch():
    modules = ["batching", "checkpoint", "corpus", "evaluate", "export", "tiny", "tokenizer", "train"]
    imports = "; ".join(f"import grammarlm.models.{name}" for name in modules)
    code = f"import sys; {imports}; sys.exit(bool({{'torch', 'transformers', 'tokenizers'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_greedy_answers_are_records_of_the_right_kind(tiny):
    """The card gives the exact match; here only that most held-out prompts get a record with the keys of their kind."""
    from grammarlm.models.evaluate import write_records

    model, tokenizer = tiny
    examples = [example("heldout", index, kind) for kind in RECORDS for index in range(4)]
    answers = write_records(model, tokenizer, examples)
    right = 0
    for one, answer in zip(examples, answers, strict=True):
        try:
            right += list(json.loads(answer)) == KEYS[one.kind]
        except (ValueError, TypeError):
            continue
    assert right > len(examples) / 2


def test_padding_does_not_change_an_answer(tiny):
    from grammarlm.models.evaluate import write_records

    model, tokenizer = tiny
    examples = [example("heldout", 0, "call"), example("heldout", 0, "event")]
    alone = [write_records(model, tokenizer, [one])[0] for one in examples]
    assert write_records(model, tokenizer, examples) == alone


def test_a_written_folder_loads_again(tiny, tmp_path):
    from grammarlm.models.export import write_tokenizer, write_weights
    from grammarlm.models.tiny import load_folder

    model, tokenizer = tiny
    write_weights(model, tmp_path)
    write_tokenizer(tokenizer, tmp_path)
    again, its_tokenizer = load_folder(tmp_path)
    assert its_tokenizer.get_vocab() == tokenizer.get_vocab()
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="training needs torch 2.9 for its Muon optimizer")
def test_a_resumed_run_ends_where_an_unbroken_one_does(tiny, tmp_path):
    from grammarlm.models.train import Settings, build_model, train

    def settings(steps: int) -> Settings:
        return Settings(steps=steps, batch=2, hidden=32, layers=1, warm_up=2, level=1.0)

    tokenizer = tiny[1]
    whole, broken = (build_model(tokenizer, settings(4)) for _ in range(2))
    run = train(whole, tokenizer, settings(4), tmp_path / "whole", resume=False)
    train(broken, tokenizer, settings(2), tmp_path / "broken", resume=False)
    resumed = build_model(tokenizer, settings(4))
    assert train(resumed, tokenizer, settings(4), tmp_path / "broken", resume=True).tokens == run.tokens
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        torch.testing.assert_close(a, b)
