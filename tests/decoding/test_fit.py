"""Vocabulary, prompts and model that do not belong together are told apart from those that do, before the first forward."""

import itertools
import warnings
from typing import Any

import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.fit import check_positions, warn_of_width
from tests.decoding.conftest import model, one_thread, tokenizer  # noqa: F401
from tests.texts import BYTES

transformers = pytest.importorskip("transformers")

OTHER, PADDED = 5_000, 300  # widths of logits: of another model, and of this one, padded
# (tokens, width of the logits) of published models and their own tokenizers
OWN = {
    "qwen3": (151_669, 151_936), "qwen2.5": (151_665, 152_064), "phi-2": (50_295, 51_200), "gpt-oss": (200_019, 201_088),
    "pythia-12b": (50_277, 50_688), "t5": (32_100, 32_128), "command-r": (255_029, 256_000), "llama-2 + pad": (32_001, 32_000),
    "deepseek-v3": (128_815, 129_280), "gpt2": (50_257, 50_257), "bloom": (250_680, 250_880), "toy": (30, 500),
}  # fmt: skip
OTHERS = {"gpt2 on qwen3": (50_257, 151_936), "qwen3 on gpt2": (151_669, 50_257), "llama3 on qwen3": (128_256, 151_936)}


@pytest.mark.parametrize("name", OWN)
def test_padding_is_silent(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_width(*OWN[name])


@pytest.mark.parametrize("name", OTHERS)
def test_another_models_tokenizer_is_told(name: str) -> None:
    with pytest.warns(UserWarning, match="is its tokenizer this model's?") as told:
        warn_of_width(*OTHERS[name])
    assert len(str(told[0].message)) <= 500


def of_width(width: int) -> Any:
    return lambda ids: torch.zeros(*ids.shape, width)


CALLS = {
    "generate": lambda width: gl.generate(of_width(width), [65], vocab=BYTES, regex="a{3}"),
    "generate, batches": lambda width: gl.generate(of_width(width), [[65], [66]], vocab=BYTES, regex="a{3}", batch_size=1),
    "stream": lambda width: list(gl.stream(of_width(width), [65], vocab=BYTES, regex="a{3}")),
    "beam": lambda width: gl.generate(of_width(width), [65], vocab=BYTES, regex="a{3}", method="beam"),
    "infill": lambda width: gl.infill(of_width(width), [-1] * 3, vocab=BYTES, mask_id=0, regex="a{3}"),
    "LogitsProcessor": lambda width: processed(gl.LogitsProcessor(gl.compile(gl.Regex("a{3}"), BYTES)), width),
}  # fmt: skip


def processed(processor: gl.LogitsProcessor, width: int) -> None:
    ids = torch.zeros(1, 2, dtype=torch.long)
    for _ in range(3):
        scores = processor(ids, torch.zeros(1, width))
        ids = torch.cat([ids, scores.argmax(1, keepdim=True)], 1)


@pytest.mark.parametrize("name", CALLS)
def test_logits_of_another_width(name: str) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        CALLS[name](OTHER)
    (one,) = told
    assert str(one.message).startswith(
        "the vocabulary has 257 tokens, and the model's logits are 5,000 wide: is its tokenizer"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CALLS[name](PADDED)


def test_a_transformers_model(tokenizer) -> None:  # noqa: F811
    with pytest.warns(UserWarning, match=f"has {len(tokenizer)} tokens, and the model's logits are 5,000 wide"):
        gl.generate(llama(16, vocab_size=OTHER), [5], tokenizer=tokenizer, regex="a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gl.generate(llama(16, vocab_size=PADDED), [5], tokenizer=tokenizer, regex="a")


def llama(positions: int, vocab_size: int = 300) -> Any:
    config = transformers.LlamaConfig(
        vocab_size=vocab_size, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=positions, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


def gpt2(positions: int) -> Any:
    config = transformers.GPT2Config(
        vocab_size=300, n_positions=positions, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=1
    )
    return transformers.GPT2LMHeadModel(config).eval()


def test_positions_that_end_in_a_table(tokenizer) -> None:  # noqa: F811
    """Each length of a prompt that fits is generated from, up to the model's last position; the next one is refused."""
    small = gpt2(8)
    for length, most in itertools.product((1, 5, 8, 9), (1, 4, 9)):
        arguments = {"tokenizer": tokenizer, "regex": f"a{{{most}}}", "max_tokens": most}
        if length + most - 1 <= 8:
            assert gl.generate(small, [5] * length, **arguments).text == "a" * most
            continue
        message = "shorten the prompt$" if length > 8 else rf"or pass max_tokens={9 - length}$"
        for call in (gl.generate, gl.stream):
            with pytest.raises(
                ValueError, match=rf"the prompt has {length} ids, and the model has 8 positions.*{message}"
            ):
                call(small, [5] * length, **arguments)


def test_positions_that_are_computed(tokenizer) -> None:  # noqa: F811
    with pytest.warns(UserWarning, match="the prompt has 9 ids, and the model is made for 8"):
        assert gl.generate(llama(8), [5] * 9, tokenizer=tokenizer, regex="aa").text == "aa"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gl.generate(llama(8), [5] * 8, tokenizer=tokenizer, regex="aa")


def test_a_model_in_training_that_drops_is_told(tokenizer) -> None:  # noqa: F811
    """Two greedy calls gave two answers, and nothing said why."""
    for small, is_told in (
        (gpt2(8).train(), True),
        (gpt2(8), False),
        (llama(8).train(), False),
        (dropping().train(), True),
    ):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            gl.generate(small, [5], tokenizer=tokenizer, regex="aa", max_tokens=4)
        assert [("in training mode" in str(one.message)) for one in told] == [True] * is_told
        assert all(one.filename == __file__ for one in told)


def test_infilling_is_told_too(tokenizer) -> None:  # noqa: F811
    with pytest.warns(UserWarning, match="in training mode") as told:
        gl.infill(dropping().train(), [5, -1], tokenizer=tokenizer)
    assert told[0].filename == __file__


def dropping() -> Any:
    small = llama(8)
    small.model.layers[0].self_attn.attention_dropout = 0.1
    return small


def test_an_encoder_has_positions_of_its_own() -> None:
    config = transformers.BartConfig(
        vocab_size=30, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=1, decoder_attention_heads=1,
        encoder_ffn_dim=8, decoder_ffn_dim=8, max_position_embeddings=8,
    )  # fmt: skip
    small = transformers.BartForConditionalGeneration(config).eval()
    check_positions(small, [[5] * 8], 8)
    for prompt, room in ((9, 1), (1, 9)):
        with pytest.raises(ValueError, match="and the model has 8 positions"):
            check_positions(small, [[5] * prompt], room)


@pytest.mark.parametrize("arguments", [{}, {"n": 3}, {"method": "beam"}, {"schema": [], "batch_size": 2}])
def test_no_prompts_no_answers(arguments: dict[str, Any]) -> None:
    arguments = {"vocab": BYTES, **({} if "schema" in arguments else {"regex": "a"}), **arguments}
    assert gl.generate(of_width(257), [], **arguments) == []
    assert gl.generate(of_width(257), (), **arguments) == []
    if arguments.get("method") is None:
        (event,) = gl.stream(of_width(257), [], **arguments)
        assert (event.kind, event.result) == ("end", [])
    assert gl.Generator(of_width(257), gl.Regex("a"), vocab=BYTES)([]) == []
    with pytest.raises(gl.GrammarError):
        gl.generate(of_width(257), [], vocab=BYTES, regex="(")


def test_a_budget_that_is_too_small_says_what_to_pass() -> None:
    for call in (gl.generate, lambda *a, **k: list(gl.stream(*a, **k))):
        with pytest.raises(
            ValueError, match="4 tokens are known to be; raise max_tokens, or pass close=False, and a text"
        ) as told:
            call(of_width(257), [65], vocab=BYTES, regex="aaaa", max_tokens=3)
        assert " ... " not in str(told.value)
    assert gl.generate(of_width(257), [65], vocab=BYTES, regex="aaaa", max_tokens=3, close=False).text == "aaa"
