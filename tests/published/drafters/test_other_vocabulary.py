"""Drafts of models that have other tokens: bytes stay what they are, in any language, and the table of spellings learns."""

import json

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.published.drafters.other_vocabulary import OtherVocabulary
from grammarlm.published.drafters.spellings import Spellings
from tests.decoding.planted import Planted, noise
from tests.decoding.random_models import random_model
from tests.decoding.speculative.byte_ngrams import ByteNgrams
from tests.decoding.speculative.draft_models import STOP, VOCAB, WIDTH, HashModel, transformers_model
from tests.decoding.speculative.equal_answers import same_answers
from tests.texts import BYTES

torch = pytest.importorskip("torch")

COUNT = [3, pytest.param(60, marks=pytest.mark.proof)]
SENTENCES = [
    "The quick brown fox jumps over the lazy dog near the river bank.",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία σήμερα.",
    "いろはにほへと ちりぬるを わかよたれそ つねならむ",
    "我能吞下玻璃而不伤身体，今天天气很好。",
    "अंग्रेज़ी और हिन्दी दोनों भाषाएँ यहाँ लिखी हैं।",
    "نص حكيم له سر قاطع وذو شأن عظيم مكتوب.",
    "emoji 👩‍💻🎉 naïve café — 100 % ½ 🇫🇷",
]


@pytest.fixture(scope="module")
def vocab():
    return gl.Vocabulary.from_tokenizer(gl.load_tiny()[1])


@pytest.mark.parametrize("count", COUNT)
def test_other_vocabularies_change_nothing(count):
    """OmniDraft: EQ; a random model over bytes, and a transformers model of a shuffled vocabulary with a cache."""
    order = np.random.default_rng(1).permutation(WIDTH)
    tokens = [VOCAB.token_bytes(int(token)) for token in order]
    special = [at for at, token in enumerate(order) if token in VOCAB.special_ids]
    shuffled = gl.Vocabulary(tokens, stop_ids=[int(np.flatnonzero(order == STOP)[0])], special_ids=special)
    target = transformers_model("Llama")
    for model, own in ((HashModel(3, 2, BYTES.size), BYTES), (random_model("Qwen2", WIDTH), shuffled)):
        make = lambda tree, model=model, own=own: gl.Draft(model, vocab=own, tree=tree)  # noqa: E731
        assert same_answers(target, make, count)[0] > 20


@pytest.mark.parametrize("sentence", SENTENCES)
def test_bytes_stay_what_they_are(vocab, sentence):
    """OmniDraft: whatever the table has learned, a translated draft spells what the draft said, cut anywhere."""
    rng = np.random.default_rng(len(sentence))
    table = Spellings(BYTES, vocab)
    data = sentence.encode()
    for _ in range(30):
        first, last = sorted(rng.integers(0, len(data) + 1, 2).tolist())
        found = table.translated(list(data[first:last]))
        assert b"".join(map(vocab.token_bytes, found)) == data[first:last]
        for token in found[:2]:
            table.remember(table.of(token), token)
    assert table.hits


@pytest.mark.parametrize(
    "schema", [None, {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}]
)
def test_counted_bytes_draft_in_every_language(vocab, schema):
    """OmniDraft: texts in nine scripts, free and as JSON, drafted by a byte n-gram model; the answers are the targets'."""
    texts = [
        sentence if schema is None else json.dumps({"text": sentence}, ensure_ascii=False) for sentence in SENTENCES
    ]
    prompts = [[5, 6, 7 + number] for number in range(len(texts))]
    tokenizer = gl.load_tiny()[1]
    planted = {
        tuple(prompt): [*tokenizer.encode(text), vocab.stop_ids[0]] for prompt, text in zip(prompts, texts, strict=True)
    }
    target = Planted(lambda ids: torch.zeros(*ids.shape, vocab.size), planted)
    draft = gl.Draft(ByteNgrams(texts), vocab=BYTES, length=12)
    outs = gl.generate(target, prompts, vocab=vocab, schema=schema, max_tokens=160, draft=draft)
    for text, out in zip(texts, outs, strict=True):
        assert out.text == text
        assert "\ufffd" not in out.text
    tokens, forwards = sum(len(out.tokens) for out in outs), sum(out.stats.forwards for out in outs)
    print(f"tokens a forward {tokens / forwards:.2f}, hit rate {draft.drafter.spellings.hit_rate:.2f}")
    assert tokens >= 2.5 * forwards
    assert 0 < draft.drafter.spellings.hit_rate < 1


class Current:
    """A model that is another one for each text."""

    def __call__(self, ids):
        return self.model(ids)


class Empty(Spellings):
    def remember(self, spelling, token):
        pass


class Forgetful(OtherVocabulary):
    """Without the table."""

    table = Empty


def test_the_table_learns_how_the_target_spells():
    """OmniDraft: a target that never uses the tokens which its tokenizer would; the table finds them, look-up by bytes does not."""
    words = [b"tr", b"ue", b"re", b"d", b"fal", b"se"]  # the longest tokens would be true, red and false
    rng = np.random.default_rng(4)
    texts = [[words[2 * pick + half] for pick in rng.integers(0, 3, 12) for half in (0, 1)] for _ in range(5)]
    forwards, rates = {}, []
    for kind in (OtherVocabulary, Forgetful):
        current = Current()
        drafter = kind(current, BYTES)
        draft, forwards[kind] = gl.Draft(drafter, length=10), []
        for pieces in texts:
            said = [TOKENS_OF[piece] for piece in pieces]
            current.model = ByteNgrams([b"".join(pieces).decode()])
            target = Planted(noise(WIDTH, deviation=0.3), {(5, 6): [*said, STOP]})
            out = gl.generate(target, [5, 6], vocab=VOCAB, max_tokens=40, draft=draft)
            assert out.tokens == said
            forwards[kind].append(out.stats.forwards)
        rates.append(drafter.spellings.hit_rate)
    assert rates[0] > 0.8
    assert rates[1] == 0
    assert sum(forwards[Forgetful]) > 1.4 * sum(forwards[OtherVocabulary])


TOKENS_OF = {VOCAB.token_bytes(token): token for token in range(2, STOP)}
