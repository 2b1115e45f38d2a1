"""What a model reads: its prompt, and each token once. Counted in the ids of every forward, by the names of every transformers."""

from functools import wraps
from types import SimpleNamespace

import pytest

import grammarlm as gl
from grammarlm.decoding.readers import model_cache
from grammarlm.decoding.readers.cached import static_caches_are_right
from grammarlm.decoding.readers.model_cache import cache_name, taken_by
from grammarlm.decoding.readers.reader import open_reader
from tests.decoding.random_models import encoder_decoder, given_cache, random_model
from tests.decoding.readers.sources import CAUSAL, WIDTH, bare
from tests.decoding.speculative.state_space import LinearStates

transformers = pytest.importorskip("transformers")

PROMPT = [5, 6, 7, 8, 9]
TOKENS = 48
LETTERS = [bytes([letter]) for letter in range(ord("a"), ord("z") + 1)]
VOCAB = gl.Vocabulary([b"", b"", b"", *LETTERS], stop_ids=[2], special_ids=[0, 1, 2], size=WIDTH)
NATIVE = cache_name(taken_by(transformers.LlamaForCausalLM))
NEO = {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 4}


class Named(transformers.LlamaForCausalLM):
    """A model whose forward calls its cache `cache`, as transformers does from 5.24 on, or by another of its names."""

    def _named(self, cache, **options):
        output = super().forward(**options, **{NATIVE: cache})
        return output.logits, given_cache(output)


class ByCache(Named):
    def forward(self, input_ids, attention_mask=None, position_ids=None, cache=None, use_cache=None, **options):
        given = {"attention_mask": attention_mask, "position_ids": position_ids, "use_cache": use_cache, **options}
        logits, cache = self._named(cache, input_ids=input_ids, **given)
        return SimpleNamespace(logits=logits, cache=cache)


class ByPastKeyValues(Named):
    def forward(
        self, input_ids, attention_mask=None, position_ids=None, past_key_values=None, use_cache=None, **options
    ):
        given = {"attention_mask": attention_mask, "position_ids": position_ids, "use_cache": use_cache, **options}
        logits, cache = self._named(past_key_values, input_ids=input_ids, **given)
        return SimpleNamespace(logits=logits, past_key_values=cache)


class WithoutCache(Named):
    """Its forward takes none."""

    def forward(self, input_ids, **options):
        return SimpleNamespace(logits=self._named(None, input_ids=input_ids, use_cache=False)[0])


class ReturnsNone(ByCache):
    """Its forward takes a cache, and returns none."""

    def forward(self, input_ids, cache=None, use_cache=None, **options):
        return SimpleNamespace(logits=self._named(None, input_ids=input_ids, use_cache=False)[0], cache=None)


MODELS = {
    **dict.fromkeys(("Llama", "GPT2", "Mistral", "Gemma3Text"), None),
    "ByCache": ByCache,
    "ByPastKeyValues": ByPastKeyValues,
}


def model_of(kind):
    found = random_model("Llama" if MODELS[kind] else kind, WIDTH, **({} if MODELS[kind] else CAUSAL[kind]))
    found.__class__ = MODELS[kind] or type(found)
    return found


def of_class(kind):
    model = random_model("Llama", WIDTH)
    model.__class__ = kind
    return model


def watched(model):
    """How many ids each forward of the model reads: a list that grows."""
    read, forward = [], model.forward

    @wraps(forward)
    def counting(**options):
        ids = [options[name] for name in ("input_ids", "decoder_input_ids") if name in options]
        read.append(tuple(each.numel() for each in ids))
        return forward(**options)

    model.forward = counting
    return read


def written(model, prompt=PROMPT, **options):
    """Answers of TOKENS tokens each; of random letters, so that nothing is forced."""
    return gl.generate(
        model,
        prompt,
        vocab=VOCAB,
        regex=f"[a-z]{{{TOKENS}}}",
        max_tokens=TOKENS + 1,
        temperature=1.0,
        seed=3,
        **options,
    )


@pytest.mark.parametrize("kind", MODELS)
def test_a_prompt_is_read_once_and_each_token_once(kind):
    model = model_of(kind)
    read = watched(model)
    assert len(written(model, cache="dynamic").tokens) == TOKENS
    assert read == [(len(PROMPT),)] + [(1,)] * (TOKENS - 1)  # none after the last token


@pytest.mark.parametrize("kind", ["Llama", "ByCache"])
def test_a_batch_reads_an_id_of_each_text(kind):
    """The prompts are of unequal length: padded, once."""
    model = model_of(kind)
    read = watched(model)
    assert [len(one.tokens) for one in written(model, [PROMPT, [7, 8], [9]])] == [TOKENS] * 3
    assert read == [(3 * len(PROMPT),)] + [(3,)] * (TOKENS - 1)


@pytest.mark.skipif(not static_caches_are_right(), reason="static caches are refused")
@pytest.mark.parametrize("kind", ["Llama", "GPT2", "Mistral", "ByCache"])
def test_a_static_cache_reads_as_much(kind):
    model = model_of(kind)
    read = watched(model)
    written(model, cache="static")
    assert read == [(len(PROMPT),)] + [(1,)] * (TOKENS - 1)


@pytest.mark.parametrize("kind", ["T5", "Bart"])
def test_an_encoder_decoder_reads_the_prompt_once(kind):
    model = encoder_decoder(kind, WIDTH)
    encoder = model.get_encoder()
    read, encoded = watched(model), watched(encoder)
    assert [len(one.tokens) for one in written(model, [PROMPT, PROMPT[1:]])] == [TOKENS] * 2
    assert encoded == [(2 * len(PROMPT),)]
    assert read == [(2,)] * TOKENS


@pytest.mark.parametrize("kind", ["Llama", "GPT2", "ByCache", "ByPastKeyValues"])
@pytest.mark.parametrize("draft", ["copy", "model", "tree"])
def test_drafts_cost_only_what_is_refused_of_them(kind, draft):
    model, small = model_of(kind), random_model("Llama", WIDTH)
    read, read_by_draft = watched(model), watched(small)
    drafts = {"copy": "copy", "model": gl.Draft(small), "tree": gl.Draft(small, tree="fixed")}
    out = written(model, [*PROMPT, *range(3, 29), *range(3, 29)], draft=drafts[draft])
    stats, prompt = out.stats, len(PROMPT) + 2 * 26
    assert len(out.tokens) == TOKENS
    assert stats.draft_tokens > 10
    most = prompt + TOKENS + stats.draft_tokens - stats.accepted_tokens
    assert sum(ids for (ids,) in read) in (most - 1, most)  # the last token is read where it was drafted
    assert sum(ids >= prompt for (ids,) in read_by_draft) == (draft != "copy")  # once, and never a whole text again


@pytest.mark.parametrize("kind", [WithoutCache, ReturnsNone])
def test_a_model_without_a_cache_says_so_once(kind, capsys):
    """And an explicit cache is refused, by its name and the model's; what is written is the same."""
    model_cache.warn_once.cache_clear()
    model = of_class(kind)
    expected = written(random_model("Llama", WIDTH)).tokens
    capsys.readouterr()
    assert written(model, cache="off").tokens == expected
    assert capsys.readouterr().err == ""
    assert [written(model).tokens for _ in range(2)] == [expected] * 2
    said = capsys.readouterr().err
    assert said.count("grammarlm: ") == 1
    assert f"{kind.__name__} has no key-value cache (its forward " in said
    for cache in ("dynamic", "static")[: 1 + static_caches_are_right()]:
        with pytest.raises(gl.UnsupportedFeature, match=f"cache='{cache}': {kind.__name__} has no such cache"):
            written(model, cache=cache)


@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_what_never_has_such_a_cache_refuses_it(cache):
    with pytest.raises(gl.UnsupportedFeature, match=f"cache='{cache}': function has no such cache"):
        open_reader(bare, [PROMPT], 9, cache)
    if cache == "static":
        for model in (encoder_decoder("T5", WIDTH), random_model("GPTNeo", WIDTH, **NEO), LinearStates(1, WIDTH)):
            with pytest.raises(gl.UnsupportedFeature, match="cache='static'"):
                open_reader(model, [PROMPT], 9, cache)
    for model in (bare, LinearStates(1, WIDTH)):
        open_reader(model, [PROMPT], 9, "off")
