"""gl.infill as a whole: models, rows, pieces, what is returned, what is refused."""

import dataclasses
import gc
import json
import re

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.compiled_caches import compiler_of
from grammarlm.decoding.diffusion import SAMPLERS
from grammarlm.decoding.diffusion.filling import MASKED_ROWS, Filling
from grammarlm.decoding.diffusion.free import FreeCanvas
from grammarlm.decoding.systems import SAMPLERS as NAMES
from grammarlm.models.network import Network, Shape
from tests.decoding.diffusion.languages import LANGUAGES
from tests.decoding.diffusion.mock_models import (
    MASK,
    STOP,
    VOCAB,
    WIDTH,
    Adversary,
    Context,
    Counting,
    Fixed,
    infill,
    steps_of,
)

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def tokenizer():
    return gl.load_tiny()[1]


@pytest.fixture(scope="module")
def network(tokenizer):
    torch.manual_seed(5)
    return Network(Shape(len(tokenizer), hidden=32, layers=1, causal=False)).eval()


# ------------------------------------------------------------------ models


class Like(transformers.BertConfig):
    model_type = "Dream"


class DreamLike(transformers.BertForMaskedLM):
    config_class = Like


class LlamaLike(transformers.LlamaConfig):
    model_type = "llada"


class LladaLike(transformers.LlamaForCausalLM):
    config_class = LlamaLike


SMALL = {
    "vocab_size": WIDTH,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


def model_of(kind):
    torch.manual_seed(3)
    made = {
        "bert": lambda: transformers.BertForMaskedLM(transformers.BertConfig(**SMALL, mask_token_id=MASK)),
        "dream": lambda: DreamLike(Like(**SMALL, mask_token_id=MASK)),
        "llada": lambda: LladaLike(LlamaLike(**SMALL, mask_token_id=MASK)),
        "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL)),
        "gpt2": lambda: transformers.GPT2LMHeadModel(
            transformers.GPT2Config(vocab_size=WIDTH, n_embd=16, n_layer=1, n_head=2)
        ),
    }[kind]()
    for parameter in made.parameters():  # fresh weights are nearly uniform
        parameter.data.mul_(8)
    return made.eval()


def one_by_one(model, holes, shift, sees_right):
    """From left to right, by the model's own logits."""
    row = list(holes)
    for at in [at for at, token in enumerate(row) if token < 0]:
        ids = [MASK if token < 0 else token for token in (row if sees_right else row[:at])]
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, at - shift if at else 0]
        row[at] = 1 + int(logits[1:STOP].argmax())
    return row


@pytest.mark.parametrize(("kind", "shift"), [("bert", 0), ("llada", 0), ("dream", 1)])
def test_logits_are_read_where_the_model_has_them(kind, shift) -> None:
    model = model_of(kind)
    for holes in ([3, -1, -1, 7, -1, -1], [-1, -1, 4, -1, -1, 2]):
        out = gl.infill(model, holes, vocab=VOCAB, block=1)
        assert out.tokens == one_by_one(model, holes, shift, sees_right=True)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_autoregressive_models_fill_in_from_left_to_right(kind) -> None:
    model, holes = model_of(kind), [3, -1, -1, 7, -1, -1]
    out = gl.infill(model, holes, vocab=VOCAB)
    assert out.tokens == one_by_one(model, holes, 1, sees_right=False)
    assert steps_of(out) == [[1], [2], [4], [5]]
    with pytest.raises(ValueError, match="begin with a piece of text"):
        gl.infill(model, [-1, 3], vocab=VOCAB)
    assert gl.infill(model, [-1, 3], vocab=VOCAB, prompt=[5]).tokens[1] == 3
    for other in ({"sampler": "confidence"}, {"block": 4}, {"tau": 0.5}):
        with pytest.raises(ValueError, match="one id after another"):
            gl.infill(model, holes, vocab=VOCAB, **other)
    with pytest.raises(TypeError, match="goes on with texts"):
        gl.generate(model, [5], vocab=VOCAB, method="diffusion")


def test_the_prompt_is_seen_and_not_part_of_the_row() -> None:
    class Sees(Counting):
        def row(self, ids):
            assert ids[:2] == [9, 8]
            return np.tile(np.where(np.arange(WIDTH) == sum(ids) % 5 + 1, 9.0, 0.0), (len(ids), 1))

    out = gl.infill(Sees(), [-1, 4, -1], vocab=VOCAB, mask_id=MASK, prompt=[9, 8])
    assert len(out.tokens) == 3
    assert out.tokens[1] == 4


def test_models_may_return_an_object_and_any_float_type_and_width() -> None:
    plain = Context(1)
    want = infill(Context(1), [-1] * 6, "confidence")

    def narrow(ids):
        logits = plain(ids)[..., :STOP].to(torch.float64)
        return type("AnswerFormat", (), {"logits": logits})()

    def wide(ids):
        return torch.cat([plain(ids), torch.full((*ids.shape, 9), 99.0)], -1)

    assert infill(narrow, [-1] * 6).tokens == infill(wide, [-1] * 6).tokens == want.tokens


def test_a_model_may_write_into_the_same_tensor_again() -> None:
    """As models do whose calls are captured."""
    for sampler in SAMPLERS:
        plain, buffer = Context(4), torch.empty(8, 9, WIDTH)

        def reused(ids, plain=plain, buffer=buffer):
            out = buffer[: len(ids), : ids.shape[1]]
            out.copy_(plain(ids))
            return out

        drawn = {"temperature": 1.0, "seed": 3}
        assert (
            infill(reused, [-1] * 9, sampler, **drawn).tokens == infill(Context(4), [-1] * 9, sampler, **drawn).tokens
        )


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda ids: torch.zeros(*ids.shape), ValueError),
        (lambda ids: torch.zeros(1, 99, WIDTH), ValueError),
        (lambda ids: torch.zeros(*ids.shape, WIDTH, dtype=torch.long), ValueError),
        (lambda ids: torch.full((*ids.shape, WIDTH), float("nan")), ValueError),
        (lambda ids: torch.full((*ids.shape, WIDTH), float("inf")), ValueError),
        (lambda ids: ids.tolist(), TypeError),
    ],
)
def test_what_is_no_logits_is_refused(answer, error) -> None:
    with pytest.raises(error, match="model"):
        infill(answer, [-1, -1])


def test_models_of_other_kinds_are_refused_by_name() -> None:
    t5 = transformers.T5Config(vocab_size=WIDTH, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    with pytest.raises(TypeError, match="AutoModelForMaskedLM"):
        gl.infill(transformers.T5ForConditionalGeneration(t5), [-1], vocab=VOCAB, mask_id=MASK)
    with pytest.raises(TypeError, match="callable"):
        gl.infill("bert", [-1], vocab=VOCAB, mask_id=MASK)
    uniform = Context(0)
    uniform.config = type("Config", (), {"model_type": "diffusion_gemma"})()
    with pytest.raises(TypeError, match="knows no mask"):
        gl.infill(uniform, [-1], vocab=VOCAB, mask_id=MASK)


# ------------------------------------------------------------------ rows and pieces


def test_a_row_without_holes_needs_no_model() -> None:
    model = Context(0)
    out = infill(model, [3, 4, 5])
    assert (out.tokens, out.stats.trace, model.calls) == ([3, 4, 5], [], 0)


def test_pieces_and_holes(network, tokenizer) -> None:
    pattern = r"Say [a-c]{1,4}\."
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    given = len(vocab.encode("Say ")) + len(vocab.encode("."))
    for n in (1, 2, 4):
        exact = gl.infill(network, ["Say ", gl.Hole(n), "."], tokenizer=tokenizer, regex=pattern)
        assert re.fullmatch(pattern, exact.text)
        assert len(exact.tokens) == given + n
        shrunk = gl.infill(network, ["Say ", gl.Hole(most=n), "."], tokenizer=tokenizer, regex=pattern)
        assert re.fullmatch(pattern, shrunk.text)
        assert given < len(shrunk.tokens) <= given + n
    ids = gl.infill(network, ["Say ", vocab.encode("ab"), gl.Hole(1)], tokenizer=tokenizer, regex=r"Say ab[ab]")
    assert ids.text[:-1] == "Say ab"


def test_a_hole_shrinks_where_the_model_ends_the_text(tokenizer) -> None:
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    stop, mask = min(vocab.stop_ids), min(vocab.special_ids)
    [letter] = vocab.encode("b")

    def ends(ids):
        logits = torch.zeros(*ids.shape, vocab.size)
        logits[..., letter] = 1.0
        if (ids == mask).sum() == 5:
            logits[:, -2:, stop] = 5.0  # the last place of the hole, and the full stop behind it
        return logits

    out = gl.infill(ends, ["Say ", gl.Hole(most=5), "."], tokenizer=tokenizer, mask_id=mask, regex=r"Say b+\.")
    assert out.text == "Say bbbb."
    full = gl.infill(ends, ["Say ", gl.Hole(5), "."], tokenizer=tokenizer, mask_id=mask, regex=r"Say b+\.")
    assert full.text == "Say bbbbb."


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_sampler_fills_holes_that_shrink(sampler, tokenizer) -> None:
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    mask, pattern = min(vocab.special_ids), r"(?s)a, [b-d]{0,3}\. [b-d,]{1,6}!"
    lengths = set()
    for seed in range(4):
        model = Adversary(vocab.size, vocab.stop_ids, seed)
        pieces = ["a, ", gl.Hole(most=3), ". ", gl.Hole(most=4), "!"]
        drawn = {"temperature": float(seed % 2), "seed": seed}
        out = gl.infill(model, pieces, tokenizer=tokenizer, mask_id=mask, regex=pattern, sampler=sampler, **drawn)
        assert re.fullmatch(pattern, out.text)
        lengths.add(len(out.tokens))
    assert len(lengths) > 1


def test_holes_are_checked() -> None:
    with pytest.raises(TypeError, match="number of tokens"):
        gl.Hole()
    with pytest.raises(TypeError, match="bound on it"):
        gl.Hole(2, most=3)
    with pytest.raises(ValueError, match="most"):
        gl.Hole(most=0)
    for wrong, error in (([-2], ValueError), ([99], ValueError), ([], ValueError), (7, TypeError), ([1.5], TypeError)):
        with pytest.raises(error):
            infill(Context(0), wrong) if isinstance(wrong, list) else gl.infill(
                Context(0), wrong, vocab=VOCAB, mask_id=MASK
            )


def test_a_piece_that_is_no_text_is_named() -> None:
    with pytest.raises(ValueError, match=r"piece 'a\\ud800' holds '\\ud800' at position 1, half of a surrogate pair"):
        gl.infill(Context(0), ["a\ud800", gl.Hole(1)], vocab=VOCAB, mask_id=MASK)


def test_a_row_that_nothing_completes_is_refused_before_the_model_is_asked() -> None:
    language, model = LANGUAGES["pairs"], Context(0, 5)
    with pytest.raises(ValueError, match="no text of the constraint has 5 tokens"):
        language.infill(model, [1, 2, -1, -1, -1])
    assert model.calls == 0


@pytest.mark.parametrize(
    ("regex", "given", "said"),
    [
        ("ab[0-9]{9}", b"ab__de", "6 tokens; check the sizes"),
        ("abc?[0-9]*de", b"ab_cde", r"b'c' at position 3 behind b'ab_'"),
        ("abc?[0-9]*de", b"b_____", r"b'b' at position 0;"),
        ("abc?[0-9]*de", b"a__d_d", r"b'd' at position 5 behind b'a__d_'"),
    ],
)
def test_what_is_given_and_leaves_no_text_is_named(regex: str, given: bytes, said: str) -> None:
    vocab = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"<m>", b"."], [257], [256, 257])
    row = [-1 if byte == ord("_") else byte for byte in given]
    with pytest.raises(ValueError, match=said):
        gl.infill(Context(0), row, vocab=vocab, mask_id=256, regex=regex)


# ------------------------------------------------------------------ results


def test_what_is_returned(network, tokenizer) -> None:
    out = gl.infill(network, [-1] * 6, tokenizer=tokenizer, regex="[0-9]{1,3}")
    assert re.fullmatch("[0-9]{1,3}", out.text)
    assert out.value == out.text
    assert out.finish_reason == "stop"
    assert len(out.tokens) == len(out.logprobs) == 6
    assert all(p <= 0 for p in out.logprobs)
    assert "trace" not in repr(out.stats)
    json.dumps(dataclasses.asdict(out))


def test_log_probabilities_are_those_under_the_constraint() -> None:
    model = Fixed([{1: 0.6, 2: 0.2}] * 2)
    out = infill(model, [-1, 3])
    others = 1 - 0.2 / 20 * 2  # the mask and the stop id are not allowed
    assert out.logprobs == pytest.approx([np.log(0.6 / others), 0.0], abs=1e-5)
    drawn = infill(model, [-1, 3], temperature=2.0, seed=5)
    weights = np.sqrt([{1: 0.6, 2: 0.2}.get(token, 0.2 / 20) for token in range(1, STOP)])
    assert drawn.logprobs[0] == pytest.approx(np.log(weights[drawn.tokens[0] - 1] / weights.sum()), abs=1e-5)


def test_the_same_seed_gives_the_same_row_and_another_seed_another() -> None:
    rows = {
        tuple(infill(Context(0, sharpness=0.3), [-1] * 8, temperature=1.0, seed=seed).tokens) for seed in (1, 1, 2, 3)
    }
    assert len(rows) == 3
    drawn = infill(Context(0), [-1] * 4, temperature=1.0)
    assert infill(Context(0), [-1] * 4, temperature=1.0, seed=drawn.stats.seed).tokens == drawn.tokens
    assert infill(Context(0), [-1] * 4).stats.seed is None


# ------------------------------------------------------------------ refusals of arguments


def test_the_command_lines_table_is_the_registry() -> None:
    assert list(SAMPLERS) == list(NAMES)


# ------------------------------------------------------------------ generate


def test_generate_takes_models_that_fill_in_masks(network, tokenizer) -> None:
    out = gl.generate(network, "Ada.\n", tokenizer=tokenizer, regex="[a-z]{2,6}", max_tokens=5)
    assert re.fullmatch("[a-z]{2,6}", out.text)
    assert len(out.tokens) <= 5
    assert out.finish_reason in ("stop", "closed")
    assert (
        out.tokens
        == gl.generate(
            network, "Ada.\n", tokenizer=tokenizer, regex="[a-z]{2,6}", max_tokens=5, method="diffusion"
        ).tokens
    )
    many = gl.generate(
        network,
        ["Ada.\n", "Tom.\n"],
        tokenizer=tokenizer,
        regex=["[0-9]+", None],
        max_tokens=3,
        n=2,
        temperature=1.0,
        seed=4,
    )
    assert [bool(re.fullmatch("[0-9]+", one.text)) for one in many] == [True, True, False, False]
    assert many[0].tokens != many[1].tokens


def test_generate_of_a_bare_callable_by_name() -> None:
    for sampler in SAMPLERS:
        out = gl.generate(
            Context(3),
            [5],
            vocab=VOCAB,
            mask_id=MASK,
            method="diffusion",
            sampler=sampler,
            regex="[a-e]{2,4}",
            max_tokens=6,
        )
        assert re.fullmatch("[a-e]{2,4}", out.text)
        assert out.finish_reason == "stop"


def test_text_without_a_grammar_may_end() -> None:
    rows = [{2: 0.99}, {3: 0.95}, *[{STOP: 0.9}] * 4]

    class Prompted(Counting):
        def row(self, ids):
            return np.concatenate([np.zeros((1, WIDTH)), Fixed(rows).table])[: len(ids)]

    out = gl.generate(Prompted(), [5], vocab=VOCAB, mask_id=MASK, method="diffusion", max_tokens=6)
    assert (out.text, out.finish_reason) == ("bc", "stop")
    cut = gl.generate(Prompted(), [5], vocab=VOCAB, mask_id=MASK, method="diffusion", max_tokens=2)
    assert (cut.text, cut.finish_reason, cut.value) == ("bc", "length", None)


def test_what_needs_a_left_to_right_text_is_refused(network, tokenizer) -> None:
    with pytest.raises(TypeError, match="fills in masks"):
        next(gl.stream(network, "Ada.\n", tokenizer=tokenizer))
    with pytest.raises(TypeError, match="fills in masks"):
        gl.generate(network, "Ada.\n", tokenizer=tokenizer, method="smc", regex="a")
    with pytest.raises(ValueError, match="where"):
        gl.generate(network, "Ada.\n", tokenizer=tokenizer, where=lambda text: True)
    with pytest.raises(ValueError, match="has 3 tokens"):
        gl.generate(network, "Ada.\n", tokenizer=tokenizer, regex="[0-9]{900}", max_tokens=3)
    with pytest.raises(TypeError, match="tau"):
        gl.generate(network, "Ada.\n", tokenizer=tokenizer, tua=1)


def test_a_generator_holds_a_diffusion_model(network, tokenizer) -> None:
    write = gl.Generator(network, gl.Regex("[0-9]{2}"), tokenizer=tokenizer, sampler="entropy", max_tokens=4)
    assert re.fullmatch("[0-9]{2}", write("Ada.\n").text)


def test_the_matcher_is_the_arbiter(monkeypatch):
    """A canvas that allows what the constraint does not: the row is refused by name, never handed out."""
    for name in ("canvas", "masked_canvas"):
        monkeypatch.setattr(Filling, name, lambda self, length: FreeCanvas(length, self.vocab))
    with pytest.raises(gl.LimitExceeded, match="no text of the constraint"):
        infill(Adversary(WIDTH, [], 3), [-1] * 4, regex="(ab){2}")


def test_constraints_that_nobody_holds_are_dropped(network, tokenizer) -> None:
    """Of the latest rows without known ids a few are kept, with their constraints; all others go with the cache of constraints."""

    def alive() -> int:
        gc.collect()
        return sum(type(each) is gl.Constraint for each in gc.get_objects())

    for grammar in (gl.Regex("[a-f]+"), *(gl.Regex(f"[a-f{number}]+") for number in range(8))):
        out = gl.infill(network, [gl.Hole(8)], tokenizer=tokenizer, grammar=grammar)
        assert re.fullmatch(grammar.pattern, out.text)
    many = alive()
    compiler_of.cache_clear()
    assert alive() <= many - 9 + MASKED_ROWS.MOST
