"""generate(): against loops without a cache, exact laws of small models, and Python's re."""

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.kernels.reference.apply_mask import mask_bits
from tests.decoding.random_models import random_model
from tests.rounding import LOG_P, P

torch = pytest.importorskip("torch")

DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]( the (cat|hat))?"
PATTERNS = [DATE, r"[a-z]{2,6}( [a-z]+){0,2}", r"(the|a) (cat|hat|café)!?", r"[^x]{1,9}", r"\{\"n\":-?[0-9]+\}"]


def recomputed(model, prompt, constraint, max_tokens):
    """Greedy decoding that reads the whole text anew at each step: tokens, log-probabilities, mass removed, how it ended."""
    matcher, free, ids, lines = constraint.matcher(max_tokens=max_tokens), constraint.matcher(), list(prompt), []
    masks, narrowed = gl.allocate_mask(2, constraint.vocab.size), False
    while True:
        matcher.fill_mask(masks, 0)
        free.fill_mask(masks, 1)
        narrowed = narrowed or not np.array_equal(masks[0], masks[1])
        if len(lines) == max_tokens:
            return lines, "closed"
        allowed = mask_bits(masks[:1], constraint.vocab.size)[0]
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].double().numpy()
        p = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        token = int(np.where(allowed, logits, -np.inf).argmax())
        assert matcher.advance(token)
        assert free.advance(token)
        if token in constraint.vocab.stop_ids:
            return lines, "closed" if narrowed else "stop"
        lines.append((token, math.log(p[token] / p[allowed].sum()), p[~allowed].sum()))
        ids.append(token)


def test_greedy_with_a_cache_is_greedy_without(model, tokenizer):
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    for pattern in PATTERNS:
        for prompt in ("the hat", "x"):
            out = gl.generate(model, prompt, tokenizer=tokenizer, regex=pattern, max_tokens=16)
            lines, reason = recomputed(model, tokenizer(prompt)["input_ids"], gl.compile(gl.Regex(pattern), vocab), 16)
            tokens, logprobs, removed = zip(*lines, strict=True)
            assert out.tokens == list(tokens)
            assert out.finish_reason == reason
            np.testing.assert_allclose(out.logprobs, logprobs, rtol=0, atol=LOG_P)
            np.testing.assert_allclose(out.stats.mass_removed, removed, rtol=0, atol=P)
            assert all(0 <= mass <= 1 for mass in out.stats.mass_removed)


@pytest.mark.parametrize("kind", ["GPT2", "Mistral", "Gemma2", "Mamba"])
def test_other_kinds_of_cache(kind, tokenizer):
    """Learned positions, a sliding window shorter than the text, one in every second layer, and no attention at all."""
    options = {
        "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
        "Mistral": {"sliding_window": 4},
        "Gemma2": {"sliding_window": 4},
    }
    model = random_model(kind, len(tokenizer), **options.get(kind, {}))
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    out = gl.generate(model, "the cat sat at", tokenizer=tokenizer, regex=DATE, max_tokens=12)
    lines, _ = recomputed(model, tokenizer("the cat sat at")["input_ids"], gl.compile(gl.Regex(DATE), vocab), 12)
    assert out.tokens == [token for token, _, _ in lines]


def test_complete_answers_match(model, tokenizer):
    reasons = Counter()
    for pattern, temperature, seed in itertools.product(PATTERNS, (0.0, 1.0, 3.0), range(4)):
        out = gl.generate(
            model, "a", tokenizer=tokenizer, regex=pattern, temperature=temperature, seed=seed, max_tokens=24
        )
        reasons[out.finish_reason] += 1
        assert out.stats.tokens == len(out.tokens) == len(out.logprobs) == len(out.stats.mass_removed) <= 24
        assert out.value == out.text
        assert re.fullmatch(pattern, out.text)
    assert reasons["stop"] > 20
    assert set(reasons) == {"stop", "closed"}


def test_what_ends_a_text(model, tokenizer):
    """A text that can only end does not ask the model again; one that may go on does, and its stop id is no token."""
    fixed = gl.generate(model, "a", tokenizer=tokenizer, regex="[0-9]{4}", max_tokens=5)
    assert (fixed.finish_reason, fixed.stats.forwards) == ("stop", len(fixed.tokens))
    full = gl.generate(model, "a", tokenizer=tokenizer, regex="[0-9]{4,}", max_tokens=4)
    assert (full.finish_reason, full.value, full.stats.forwards) == ("closed", full.text, len(full.tokens))
    cut = gl.generate(model, "a", tokenizer=tokenizer, regex="[0-9]{4,}", max_tokens=3, close=False)
    assert (cut.finish_reason, cut.value, cut.stats.forwards) == ("length", None, len(cut.tokens))
    whole = gl.generate(model, "a", tokenizer=tokenizer, regex="[0-9]{4}", max_tokens=4, close=False)
    assert whole.finish_reason == "stop"  # nothing could follow: it was not cut
    vocab = gl.Vocabulary([b"a", b"", b""], stop_ids=[1, 2])
    ending = gl.generate(scripted([[9, 0, 0], [9, 0, 0], [0, 0, 9]]), [0], vocab=vocab, regex="a*")
    assert (ending.text, ending.finish_reason, ending.stats.forwards) == ("aa", "stop", 3)


def scripted(rows):
    """A callable whose logits after t ids (the prompt is one) are row t - 1, whatever the ids are."""

    def call(ids):
        table = torch.tensor(rows, dtype=torch.float32)[: ids.shape[1]]
        return table.expand(ids.shape[0], -1, -1)

    return call


def test_draws_hang_on_seed_and_position_alone(model, tokenizer):
    options = {"tokenizer": tokenizer, "regex": "[a-z ]{12,}", "temperature": 1.5, "close": False}
    long = gl.generate(model, "a", seed=7, max_tokens=12, **options)
    short = gl.generate(model, "a", seed=7, max_tokens=5, **options)
    assert long.tokens[:5] == short.tokens
    assert long.stats.seed == 7
    drawn = gl.generate(model, "a", max_tokens=12, **options)
    again = gl.generate(model, "a", seed=drawn.stats.seed, max_tokens=12, **options)
    assert drawn.tokens == again.tokens
    assert len({tuple(gl.generate(model, "a", seed=s, max_tokens=12, **options).tokens) for s in range(8)}) == 8


def test_sampled_logprobs_are_those_of_the_masked_and_scaled_distribution(model, tokenizer):
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    for thinned in ({}, {"top_k": 3, "top_p": 0.8, "min_p": 0.05}):
        out = gl.generate(
            model, "a", tokenizer=tokenizer, regex=DATE, temperature=0.7, seed=1, max_tokens=20, **thinned
        )
        prompt = tokenizer("a")["input_ids"]
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([prompt + out.tokens])).logits[0].double()
        matcher = gl.compile(gl.Regex(DATE), vocab).matcher()
        mask = gl.allocate_mask(1, vocab.size)
        for position, token in enumerate(out.tokens):
            matcher.fill_mask(mask)
            allowed = torch.from_numpy(mask_bits(mask, vocab.size)[0])
            row = torch.where(allowed, logits[len(prompt) - 1 + position] / 0.7, -torch.inf)
            assert out.logprobs[position] == pytest.approx(float(row.log_softmax(0)[token]), abs=LOG_P)
            assert matcher.advance(token)


def test_the_law_of_the_answers_is_exact():
    """All token sequences of a small language, counted over 2000 seeds, against the product of their masked softmaxes."""
    tokens = [b"a", b"b", b"ab", b"aa", b"c", b""]
    vocab, stop = gl.Vocabulary(tokens, stop_ids=[5]), 5
    table = torch.tensor([[0.3, 1.0, -0.5, 0.1, 2.0, 0.4], [1.1, 0.2, 0.7, -1.0, 0.5, 0.0]])
    words = ["ab", "aab", "b", "ba", "aa"]

    def model(ids):
        return table[ids % 2].float()

    def law(prefix, last, path):
        """(path, probability) of each way to go on, with the allowed tokens worked out from the list of words."""
        rest = [w for w in words if w.startswith(prefix)]
        can = [t for t in range(5) if any(w.startswith(prefix + tokens[t].decode()) for w in rest)]
        can += [stop] if prefix in words else []
        if can == [stop]:
            yield path, 1.0
            return
        p = torch.softmax(table[last % 2].double()[can] / 0.8, 0)
        for token, share in zip(can, p.tolist(), strict=True):
            if token == stop:
                yield path, share
            else:
                for whole, further in law(prefix + tokens[token].decode(), token, (*path, token)):
                    yield whole, share * further

    expected = dict(law("", 4, ()))
    assert sum(expected.values()) == pytest.approx(1)
    draws = 2000
    counts = Counter(
        tuple(gl.generate(model, [4], vocab=vocab, choices=words, temperature=0.8, seed=seed).tokens)
        for seed in range(draws)
    )
    assert set(counts) <= set(expected)
    chi_square = sum((counts[path] - draws * p) ** 2 / (draws * p) for path, p in expected.items())
    freedom = len(expected) - 1
    assert chi_square < freedom + 4 * math.sqrt(2 * freedom)


def test_a_model_keeps_its_dtype(tokenizer):
    model = random_model("Llama", len(tokenizer)).to(torch.bfloat16)
    out = gl.generate(model, "a", tokenizer=tokenizer, regex=DATE)
    assert re.fullmatch(DATE, out.value)
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}


def test_logits_wider_and_narrower_than_the_tokenizer(tokenizer):
    wide = random_model("Llama", 352)
    with torch.no_grad():
        wide.lm_head.weight[300:] = 1e3 * torch.sign(wide.lm_head.weight[300:])
    assert re.fullmatch(DATE, gl.generate(wide, "a", tokenizer=tokenizer, regex=DATE).value)
    free = gl.generate(random_model("Llama", 352), "a", tokenizer=tokenizer, temperature=2.0, seed=1, max_tokens=40)
    assert free.stats.tokens <= 40

    narrow = random_model("Llama", 270)
    out = gl.generate(narrow, [70], tokenizer=tokenizer, regex=DATE)
    assert re.fullmatch(DATE, out.value)
    assert max(out.tokens) < 270


def test_logits_wider_and_narrower_than_the_vocabulary():
    vocab = gl.Vocabulary([b"a", b"b", b"c", b""], stop_ids=[3])
    wide = gl.generate(scripted([[0, 1, 2, 0, 99], [0, 1, 2, 3, 99]]), [0], vocab=vocab, regex="[ab]+", max_tokens=5)
    assert (wide.text, wide.stats.mass_removed[0] > 0.99) == ("b", True)
    free = gl.generate(scripted([[0, 1, 2, 0, 99], [0, 1, 2, 3, 99]]), [0], vocab=vocab, max_tokens=5)
    assert (free.text, free.value, free.finish_reason) == ("c", "c", "stop")
    narrow = scripted([[0.0, 1.0]] * 3)
    assert gl.generate(narrow, [0], vocab=vocab, regex="[bc]{2}").text == "bb"
    out = gl.generate(narrow, [0], vocab=vocab, regex="c")
    assert out.finish_reason == "error"
    assert out.error.startswith(
        "ValueError: after 0 tokens each token that the grammar allows has the logit -inf, or lies"
    )


def test_every_stop_id_ends_a_text(tokenizer):
    model = random_model("Llama", len(tokenizer))
    model.generation_config.eos_token_id = [2, 3]
    with torch.no_grad():
        model.lm_head.weight.zero_()  # all tokens equally probable: over some seeds each stop id is drawn
    ends, texts = set(), 0
    from grammarlm.decoding.compiled_caches import stop_ids_of

    assert stop_ids_of(model, tokenizer) == [2, 3]
    for seed in range(60):
        out = gl.generate(
            model, "a", tokenizer=tokenizer, regex="[ab]*", temperature=1.0, seed=seed, max_tokens=30, top_k=6
        )
        texts += out.finish_reason == "stop"
        ends.add(out.finish_reason)
        assert not {2, 3} & set(out.tokens)
    assert texts > 50


def test_a_callable_sees_all_ids_and_keeps_its_table():
    vocab = gl.Vocabulary([b"a", b"b", b""], stop_ids=[2])
    table, seen = torch.tensor([[0.0, 0.0, -9.0], [3.0, 1.0, 0.0]]), []

    def model(ids):
        seen.append(ids.tolist())
        return table[ids]

    before = table.clone()
    out = gl.generate(model, (1, 0), vocab=vocab, regex="b?a?", max_tokens=2)
    assert out.text == "a"  # equal logits: the lower id
    assert seen == [[[1, 0]]]
    assert torch.equal(table, before)
    gl.generate(model, np.array([1]), vocab=vocab, regex="ab{2}", forced="off")
    assert seen[1:] == [[[1]], [[1, 0]], [[1, 0, 1]]]


def test_prompts(model, tokenizer):
    ids = tokenizer("the hat")["input_ids"]
    expected = gl.generate(model, "the hat", tokenizer=tokenizer, regex=DATE).tokens
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    for prompt in (ids, tuple(ids), np.array(ids), torch.tensor(ids)):
        assert gl.generate(model, prompt, tokenizer=tokenizer, regex=DATE).tokens == expected
    assert gl.generate(model, "the hat", vocab=vocab, regex=DATE).tokens == expected
    assert gl.generate(model, "the hat", tokenizer=tokenizer.backend_tokenizer, regex=DATE).tokens == expected


def test_text_is_the_bytes_of_the_tokens(tokenizer):
    """Cut inside of a character, a replacement character stands for it; special tokens of a free text are none."""
    vocab = gl.Vocabulary([b"\xc3", b"\xa9", b" ", b"<s>", b""], stop_ids=[4], special_ids=[3])
    rows = [[9, 0, 0, 0, 0], [0, 9, 0, 0, 0], [0, 0, 9, 0, 0], [0, 0, 0, 9, 0], [0, 0, 0, 0, 9]]
    cut = gl.generate(scripted(rows), [0], vocab=vocab, regex="[é ]+", max_tokens=1, close=False)
    assert cut.text == "\N{REPLACEMENT CHARACTER}"
    out = gl.generate(scripted(rows), [0], vocab=vocab)
    assert (out.text, out.value, out.tokens) == ("é ", "é ", [0, 1, 2, 3])
    raw = gl.generate(scripted([[9, 0, 0, 0, 0]] * 2), [0], vocab=vocab, regex=rb"\xc3")
    assert raw.value == b"\xc3"


@dataclass(frozen=True)
class Counted(gl.Regex):
    """A regex that counts how often it is compiled."""

    compiled = 0

    def language(self, algebra):
        type(self).compiled += 1
        return super().language(algebra)


def test_a_second_call_compiles_nothing(model, tokenizer):
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    for options in ({"tokenizer": tokenizer}, {"vocab": vocab}):
        Counted.compiled = 0
        outs = [gl.generate(model, "a", grammar=Counted(f"[a-f]{{{len(options)}}}x"), **options) for _ in range(3)]
        assert Counted.compiled <= 1
        assert outs[0].tokens == outs[1].tokens == outs[2].tokens
    gl.generate(model, "a", grammar=Counted("[a-f]{2}y"), tokenizer=tokenizer)
    assert Counted.compiled == 1


def test_a_tokenizer_that_grew_is_another_one(tokenizer):
    import copy

    grown = copy.deepcopy(tokenizer)
    model = random_model("Llama", 310)
    gl.generate(model, "a", tokenizer=grown, regex="[0-9]")
    grown.add_tokens(["zebra"])
    with torch.no_grad():
        model.lm_head.weight.zero_()
    drawn = {
        gl.generate(model, "a", tokenizer=grown, choices=["zebra"], temperature=1.0, seed=s).tokens[0]
        for s in range(20)
    }
    assert len(tokenizer) in drawn


def flat(ids):
    return torch.zeros(*ids.shape, 3)


VOCAB = gl.Vocabulary([b"a", b"b", b""], stop_ids=[2])


@pytest.mark.parametrize(
    ("changed", "kind", "message"),
    [
        ({"vocab": None}, ValueError, "nothing says what the model's token ids mean, and no tokenizer lies where"),
        ({"vocab": "gpt2"}, TypeError, "vocab is str; pass a gl.Vocabulary"),
        ({"choices": ["a"]}, ValueError, "regex= and choices= are given; give one of them"),
        (
            {"regex": None, "grammar": "a"},
            TypeError,
            "grammar is str: 'a', and a text does not say what it is written in",
        ),
        ({"regex": 7}, TypeError, "takes a pattern as str or bytes"),
        ({"regex": "("}, gl.GrammarError, "line 1, column 1"),
        ({"prompt": 7}, TypeError, "prompt is int: 7; it takes one text .str. or one list of token ids"),
        ({"prompt": ["a", 1]}, TypeError, "prompt is list"),
        ({"prompt": [0.5]}, TypeError, "prompt is list"),
        ({"prompt": b"a"}, TypeError, "prompt is bytes: b'a'; it takes one text"),
        ({"prompt": {0: 1}}, TypeError, "prompt is dict"),
        ({"prompt": "a\ud800"}, ValueError, r"the prompt holds '\\ud800' at position 1, half of a surrogate pair"),
        ({"temperature": 10**400}, ValueError, "temperature=1000.*; it takes a number, 0 .greedy. or more"),
        ({"model": lambda ids: torch.zeros(*ids.shape, 0)}, ValueError, r"returned torch.float32 \[1, 1, 0\] for ids"),
        ({"prompt": [True]}, TypeError, "prompt is list"),
        ({"prompt": torch.zeros(1, 2, dtype=torch.long)}, TypeError, "prompt is Tensor"),
        ({"prompt": "a"}, gl.TokenizerError, "no tokenizer to encode with"),
        (
            {"prompt": torch.zeros(0, dtype=torch.long)},
            ValueError,
            "the prompt has no ids, and a model needs at least one; give",
        ),
        ({"prompt": [-1]}, ValueError, "the prompt has the id -1"),
        ({"max_tokens": 0}, ValueError, "max_tokens=0; it takes an integer of 1 or more"),
        ({"max_tokens": 2.5}, TypeError, "max_tokens is 2.5"),
        ({"max_tokens": None}, TypeError, "max_tokens is None"),
        ({"temperature": -1}, ValueError, "temperature=-1; it takes a number, 0 .greedy. or more"),
        ({"temperature": math.nan}, ValueError, "temperature=nan"),
        ({"temperature": "hot"}, TypeError, "temperature is 'hot'"),
        ({"temperature": None}, TypeError, "temperature is None"),
        ({"top_k": 0}, ValueError, "top_k=0; it takes an integer of 1 or more"),
        ({"top_k": True}, TypeError, "top_k is True"),
        ({"top_p": 0}, ValueError, "top_p=0; it takes a number, above 0 and at most 1"),
        ({"top_p": 1.1}, ValueError, "top_p=1.1"),
        ({"min_p": 1.1}, ValueError, "min_p=1.1; it takes a number, from 0 to 1"),
        ({"seed": -1}, ValueError, "seed=-1; it takes an integer from 0"),
        ({"seed": 1.0}, TypeError, "seed is 1.0"),
        ({"model": 7}, TypeError, "model is int; pass a transformers model that generates, or a callable"),
        ({"model": lambda ids: None}, TypeError, "the model returned NoneType; it returns its logits as one tensor"),
        (
            {"model": lambda ids: torch.zeros(1, 3)},
            ValueError,
            "the model returned torch.float32 .1, 3. for ids .1, 1.",
        ),
        ({"model": lambda ids: torch.zeros(1, 1, 3, dtype=torch.long)}, ValueError, "the model returned torch.int64"),
    ],
)
def test_refused(changed, kind, message):
    arguments = {"model": flat, "prompt": [0], "vocab": VOCAB, "regex": "aa", "forced": "off", **changed}
    with pytest.raises(kind, match=message) as caught:
        gl.generate(arguments.pop("model"), arguments.pop("prompt"), **arguments)
    assert len(str(caught.value)) <= 500


def test_models_that_cannot_continue_texts(tokenizer):
    from transformers import LlamaModel

    headless = LlamaModel(random_model("Llama", 300).config)
    with pytest.raises(TypeError, match="LlamaModel does not continue texts; load it with AutoModelForCausalLM"):
        gl.generate(headless, "a", tokenizer=tokenizer, regex="a")


def test_ids_of_another_tokenizer(model, tokenizer):
    with pytest.raises(ValueError, match="the prompt has the id 5000; the model knows ids from 0 to 294"):
        gl.generate(model, [5000], tokenizer=tokenizer, regex="a")
    with pytest.raises(ValueError, match="the prompt has no ids"):
        gl.generate(model, "", tokenizer=tokenizer, regex="a")
