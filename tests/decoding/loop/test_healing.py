"""heal=True: which tokens of a prompt are taken back, against tokenizing the whole text; what may be written, by brute force."""

import random

import pytest

import grammarlm as gl
from grammarlm.decoding.loop.healing import row_of, take_back
from grammarlm.kernels.reference.apply_mask import mask_bits
from tests.decoding.random_models import encoder_decoder
from tests.vocab import built

torch = pytest.importorskip("torch")

TOKENS = [
    b"h",
    b"t",
    b"p",
    b"s",
    b":",
    b"/",
    b"ht",
    b"tp",
    b"http",
    b"://",
    b"s://",
    b"https",
    b"p:",
    b"//w",
    b"w",
    b"/",
    b"<s>",
    b"",
]
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[17], special_ids=[16])


def ids(*tokens):
    return [TOKENS.index(token) for token in tokens]


def test_what_is_taken_back():
    for prompt, stay, rest in (
        (ids(b"w", b"http", b":"), 2, b":"),  # '://' goes on with ':'
        (ids(b"w", b"http"), 1, b"http"),  # 'https' with 'http'
        (ids(b"w", b"ht", b"tp"), 1, b"http"),
        (ids(b"w", b"http", b"s"), 2, b"s"),
        (ids(b"w", b"ht", b"p:"), 2, b"p:"),  # '://' with ':', whose token began before it
        (ids(b"w", b"<s>"), 2, b""),  # a special token is no text
        (ids(b"<s>", b"h"), 1, b"h"),
        (ids(b"h"), 1, b""),  # one id must stay
        (ids(b"w", b"w"), 2, b""),  # nothing goes on with 'w'
    ):
        assert take_back(prompt, VOCAB) == (prompt[:stay], rest), prompt


def splits(count, seed):
    rng = random.Random(seed)
    words = [*built.corpus(60), "a  b\n\n c", "the   cat's", "x = [1, 2]", "über-größe 日本"]
    for _ in range(count):
        text = " ".join(rng.sample(words, 2))
        at = rng.randrange(1, len(text))
        yield text[:at], text[at:]


@pytest.mark.parametrize("name", ["byte_level", "llama_like"])
def test_what_stays_is_what_the_whole_text_begins_with(name):
    """Where a token of the whole text spans the end of the prompt, the tokens that stay are the first ones of the whole text.

    Nearly always: merges of the whole text can change tokens before the one that spans the end, too.
    """
    tokenizer = getattr(built, name)()
    vocab = gl.Vocabulary.from_tokenizer(tokenizer, stop_ids=[2])
    spanned = right = 0
    for prompt, rest in splits(400, name):
        before, whole = vocab.encode(prompt), vocab.encode(prompt + rest)
        ends, at = set(), 0
        for token in whole:
            at += len(vocab.token_bytes(token))
            ends.add(at)
        length = sum(len(vocab.token_bytes(token)) for token in before)
        if length in ends or length > at or len(before) < 2:
            continue
        stay, taken = take_back(before, vocab)
        spanned += 1
        right += stay == whole[: len(stay)]
        assert b"".join(map(vocab.token_bytes, stay)) + taken == b"".join(map(vocab.token_bytes, before))
    assert spanned >= (10 if name == "llama_like" else 100)
    assert right >= 0.97 * spanned


def test_what_may_be_written():
    """By brute force over all tokens: within the rest, or over its end with the beginning of a text."""
    texts = ["s://w", "://w/", "//", "w"]
    constraint = gl.compile(gl.Choices(texts), VOCAB)
    for rest in (b"http", b"h", b":", b"p:", b"tp"):
        allowed = set()
        for token, data in enumerate(TOKENS[:16]):
            inside = rest.startswith(data)  # what is left can be spelled: all its bytes are tokens
            beyond = data.startswith(rest) and any(text.encode().startswith(data[len(rest) :]) for text in texts)
            if inside or beyond:
                allowed.add(token)
        free = {t for t, data in enumerate(TOKENS[:16]) if rest.startswith(data) or data.startswith(rest)}
        for given, expected in ((constraint, allowed), (None, free)):
            row = row_of(VOCAB, given, rest)
            assert set(mask_bits(row[None], VOCAB.size)[0].nonzero()[0]) == expected, (rest, given)


def test_bytes_that_tokens_cannot_spell_are_not_begun():
    vocab = gl.Vocabulary([b"ab", b"a", b"bc", b"abcd", b"c", b"x", b""], stop_ids=[6])
    row = row_of(vocab, None, b"abc")  # 'a' + 'bc', 'ab' + 'c', 'abcd'
    assert set(mask_bits(row[None], 7)[0].nonzero()[0]) == {0, 1, 3}
    row = row_of(vocab, None, b"abb")  # no token is 'b'
    assert not row.any()


class Chars:
    """A tokenizer of TOKENS: longest match."""

    def encode(self, text):
        data, found = text.encode(), []
        while data:
            token = max((t for t in range(16) if data.startswith(TOKENS[t])), key=lambda t: len(TOKENS[t]))
            found.append(token)
            data = data[len(TOKENS[token]) :]
        return found


def wanting(text):
    """A callable that prefers tokens that go on with this text, and long ones."""

    def call(ids):
        logits = torch.full((*ids.shape, len(TOKENS)), -5.0)
        for row, given in enumerate(ids.tolist()):
            written = ""
            for at, token in enumerate(given):
                written += TOKENS[token].decode()
                rest = text[len(written) :] if text.startswith(written) else ""
                for t in range(16):
                    if rest.encode().startswith(TOKENS[t]):
                        logits[row, at, t] = len(TOKENS[t])
                if not rest:
                    logits[row, at, 17] = 9.0
        return logits

    return call


def test_a_word_goes_on_over_the_end_of_the_prompt():
    model, options = wanting("whttps://w"), {"tokenizer": Chars(), "vocab": VOCAB}
    for constraint in ({}, {"regex": "s?://w?"}, {"choices": ["s://w", "s"]}):
        out = gl.generate(model, "whttp", heal=True, **options, **constraint)
        assert out.text == "s://w"
        assert TOKENS[out.tokens[0]] == b"https"
        assert out.value == "s://w"
        assert len(out.logprobs) == len(out.tokens) == out.stats.tokens
    assert gl.generate(model, "whttp", regex="s?://w?", **options).tokens != out.tokens


def test_the_healed_part_is_not_counted():
    model, options = wanting("whttps://w"), {"tokenizer": Chars(), "vocab": VOCAB, "heal": True}
    tight = gl.generate(model, "whttp", regex="s://w", max_tokens=3, **options)
    assert (tight.text, tight.value) == ("s://w", "s://w")
    assert len(tight.tokens) <= 3
    for budget in range(3, 8):
        for seed in range(8):
            out = gl.generate(model, "whttp", regex="s://w+", max_tokens=budget, temperature=9.0, seed=seed, **options)
            assert out.value is not None
            assert len(out.tokens) <= budget
            assert out.text.startswith("s://w")
    cut = gl.generate(model, "whttp", max_tokens=1, **options)
    assert (len(cut.tokens), cut.finish_reason) == (1, "length")


def test_steps_tell_what_they_add():
    from grammarlm.decoding.generate import start

    decoding = start(wanting("whttps://w"), "whttp", tokenizer=Chars(), vocab=VOCAB, heal=True, regex="s://w")
    assert b"".join(step.data for step in decoding).decode() == decoding.result().text == "s://w"


def test_what_healing_is_not_for(tokenizer):
    with pytest.raises(ValueError, match="heal=True is for prompts that are texts; this one is a list of ids"):
        gl.generate(wanting("w"), [1, 2], vocab=VOCAB, heal=True)
    with pytest.raises(ValueError, match="an item is its tokens"):
        gl.generate(wanting("w"), "wh", tokenizer=Chars(), vocab=VOCAB, heal=True, items=[[1, 2]])
    with pytest.raises(ValueError, match="an encoder-decoder model answers"):
        gl.generate(encoder_decoder("T5", len(tokenizer)), "wh", tokenizer=tokenizer, heal=True)
