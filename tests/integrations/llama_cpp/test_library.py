"""In the real llama-cpp-python, on the embedded model as a GGUF file."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.integrations.llama_cpp import LogitsProcessor, vocabulary_of
from training import gguf

llama_cpp = pytest.importorskip("llama_cpp")
PROMPTS = ["Ada Turing (36) is a writer from London.\n", "Kim Lee, 52, Oslo, nurse\n", "a\n"]
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "maximum": 130}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    gguf.write(path)
    return llama_cpp.Llama(
        str(path), n_ctx=512, verbose=False, seed=0, type_k=0, type_v=0
    )  # keys and values in float32


@pytest.fixture(scope="module")
def vocab(llm: Any) -> gl.Vocabulary:
    return vocabulary_of(llm)


def test_the_vocabulary_is_the_tokenizers(vocab: gl.Vocabulary) -> None:
    own = gl.Vocabulary.from_tokenizer(gguf.FOLDER)
    assert vocab.size == own.size
    assert set(own.stop_ids) <= set(vocab.stop_ids)
    text = [token for token in range(own.size) if token not in own.special_ids]
    assert [vocab.token_bytes(token) for token in text] == [own.token_bytes(token) for token in text]


def test_greedy_texts_are_those_of_transformers(llm: Any) -> None:
    transformers = pytest.importorskip("transformers")
    import torch

    model = transformers.LlamaForCausalLM.from_pretrained(gguf.FOLDER, local_files_only=True).float().eval()
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(gguf.FOLDER, local_files_only=True)
    for prompt in PROMPTS:
        ids = tokenizer(prompt).input_ids
        with torch.no_grad():
            wanted = model.generate(torch.tensor([ids]), max_new_tokens=40, do_sample=False)[0, len(ids) :].tolist()
        found = []
        for token in llm.generate(ids, temp=0.0, reset=True):
            found.append(token)
            if len(found) == 40 or token == 1:
                break
        assert found == wanted[: len(found)], prompt


@pytest.mark.parametrize("more", [{}, {"logit_bias": {"5": 3.0}}, {"temperature": 0.0}])
def test_answers_are_valid(llm: Any, vocab: gl.Vocabulary, more: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    person, date = gl.JsonSchema(PERSON), "20[0-9]{2}-[01][0-9]-[0-3][0-9]"
    held = LogitsProcessor(gl.compile(person, vocab), max_tokens=60)
    dates = LogitsProcessor(gl.compile(gl.Regex(date), vocab))
    for number in range(20):
        named = {"temperature": 1.0, "seed": number, "max_tokens": 60, **more}
        text = llm.create_completion(PROMPTS[number % 3], logits_processor=held, **named)["choices"][0]["text"]
        jsonschema.validate(json.loads(text), PERSON)
        text = llm.create_completion(PROMPTS[number % 3], logits_processor=dates, **named)["choices"][0]["text"]
        assert re.fullmatch(date, text)


def test_drafts_end_the_text(llm: Any, vocab: gl.Vocabulary, tmp_path: Path) -> None:
    class Repeats:
        def __call__(self, input_ids: np.ndarray, /, **_: Any) -> np.ndarray:
            return np.array([5, 5, 5], np.intc)

    gguf.write(tmp_path / "tiny.gguf")
    drafting = llama_cpp.Llama(
        str(tmp_path / "tiny.gguf"), n_ctx=256, verbose=False, draft_model=Repeats(), logits_all=True
    )
    held = LogitsProcessor(gl.compile(gl.Regex("[a-z]+"), vocab))
    text = drafting.create_completion("a\n", logits_processor=held, max_tokens=20)["choices"][0]["text"]
    assert "draft_model" in held.error
    assert re.fullmatch("[a-z]*", text)
