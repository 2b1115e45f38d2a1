"""forced="write": what must come is written as the tokenizer writes it, and the law is that of drawing the rest.

Every way through the random numbers of a call is taken (enumeration.py). The oracle knows a language as the list of its texts, and
BPE as its merges: nothing of masks.
"""

import itertools
import json
import re
from collections import defaultdict

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import grammarlm as gl
from tests.decoding.enumeration import outcomes
from tests.decoding.speculative.noise import Noise, furthest
from tests.rounding import LOG_P, embedded_model

STOP = 5
TOKENS = [b"a", b"b", b"c", b"ab", b"bc"]
MERGES = [("b", "c"), ("a", "b")]  # abc is a bc, where the longest tokens are ab c


def bpe_vocabulary() -> gl.Vocabulary:
    ids = {token.decode(): number for number, token in enumerate(TOKENS)} | {"</s>": STOP}
    tokenizer = Tokenizer(models.BPE(ids, MERGES))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["</s>"])
    return gl.Vocabulary.from_tokenizer(tokenizer, stop_ids=[STOP])


def merged(text: bytes) -> list[int]:
    """As BPE does, by its definition."""
    pieces = [text[at : at + 1] for at in range(len(text))]
    for left, right in MERGES:
        at = 0
        while at + 1 < len(pieces):
            if pieces[at : at + 2] == [left.encode(), right.encode()]:
                pieces[at : at + 2] = [b"".join(pieces[at : at + 2])]
            at += 1
    return list(map(TOKENS.index, pieces))


def longest(text: bytes) -> list[int]:
    """The longest token at each place."""
    found, at = [], 0
    while at < len(text):
        found.append(
            max((t for t, token in enumerate(TOKENS) if text.startswith(token, at)), key=lambda t: len(TOKENS[t]))
        )
        at += len(TOKENS[found[-1]])
    return found


class Model:
    """Logits that depend on all tokens so far: on the spelling, too."""

    def __init__(self, seed: int, width: int = STOP + 1):
        self.seed, self.width, self.calls = seed, width, 0

    def row(self, ids: list[int]) -> np.ndarray:
        return np.round(8 * np.random.default_rng([self.seed, len(ids), *ids]).normal(0, 1.5, self.width)) / 8

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        rows = [[self.row(text[: end + 1]) for end in range(len(text))] for text in ids.tolist()]
        return torch.tensor(np.array(rows), dtype=torch.float32)


def forced_text(members: list[bytes], said: bytes) -> bytes:
    """What all texts that go on have next; nothing where the text may end."""
    left = [member[len(said) :] for member in members if member.startswith(said)]
    columns = itertools.takewhile(lambda column: len(set(column)) == 1, zip(*left, strict=False))
    return bytes(column[0] for column in columns)


def law(model: Model, members: list[bytes], spell) -> dict[tuple[int, ...], float]:
    """Of each spelling of a member its probability: one drawn token after another; `spell` writes what is forced, or is None."""
    found: dict[tuple[int, ...], float] = defaultdict(float)
    waiting = [((), 1.0)]
    while waiting:
        ids, probability = waiting.pop()
        said = b"".join(TOKENS[i] for i in ids)
        if spell is not None and (forced := forced_text(members, said)):
            waiting.append(((*ids, *spell(forced)), probability))
            continue
        p = np.exp(model.row([0, *ids]))
        allowed = [t for t, token in enumerate(TOKENS) if any(member.startswith(said + token) for member in members)]
        allowed += [STOP] if said in members else []
        total = sum(p[t] for t in allowed)
        for t in allowed:
            if t == STOP:
                found[ids] += probability * p[t] / total
            else:
                waiting.append(((*ids, t), probability * p[t] / total))
    return found


def answer_law(model: Model, members: list[bytes], vocab: gl.Vocabulary, monkeypatch, **options):
    """The law of `generate`."""
    found: dict[tuple[int, ...], float] = defaultdict(float)
    regex = "|".join(member.decode() for member in members)

    def run(choices):
        Noise(choices).patch(monkeypatch)
        out = gl.generate(model, [0], vocab=vocab, regex=regex, temperature=1.0, seed=1, **options)
        assert out.finish_reason == "stop"
        return tuple(out.tokens)

    for probability, tokens in outcomes(run):
        found[tokens] += probability
    return found


LANGUAGES = {
    "forced at first": [b"abcab", b"abcb", b"abccc"],
    "forced in the middle": [b"aabca", b"babcb", b"cabc"],
    "could have joined the last token": [b"bca", b"bcb", b"aab", b"aac"],
    "forced at the end": [b"aabcabc", b"cabcabc"],
    "may end before": [b"a", b"abc", b"abcabc"],
    "one text": [b"abcabcab"],
}


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("spell", [merged, longest], ids=["bpe", "longest"])
def test_the_law_is_that_of_drawing_the_rest(name: str, spell, monkeypatch) -> None:
    members = LANGUAGES[name]
    vocab = bpe_vocabulary() if spell is merged else gl.Vocabulary([*TOKENS, b"</s>"], stop_ids=[STOP])
    for seed in range(3):
        model = Model(seed)
        written, scored = law(model, members, spell), law(model, members, None)
        assert sum(written.values()) == pytest.approx(1)
        assert furthest(answer_law(model, members, vocab, monkeypatch, forced="write"), written) < 1e-6
        assert furthest(answer_law(model, members, vocab, monkeypatch, forced="score"), scored) < 1e-6
        assert furthest(written, scored) > 1e-3  # they are two laws


@pytest.mark.parametrize("name", LANGUAGES)
def test_where_spellings_are_unique_both_laws_are_one(name: str, monkeypatch) -> None:
    """Over single bytes; token for token with equal seeds, too."""
    members, vocab = LANGUAGES[name], gl.Vocabulary([*TOKENS[:3], b"", b"", b"</s>"], stop_ids=[STOP])
    model, regex = Model(7), "|".join(member.decode() for member in members)
    laws = [answer_law(model, members, vocab, monkeypatch, forced=forced) for forced in ("write", "score", "off")]
    assert furthest(laws[0], laws[1]) < 1e-12
    assert furthest(laws[0], laws[2]) < 1e-12
    monkeypatch.undo()
    for seed in range(5):
        found = [
            gl.generate(model, [0], vocab=vocab, regex=regex, temperature=1.0, seed=seed, forced=forced, n=2)
            for forced in ("write", "score", "off")
        ]
        assert len({str([(one.tokens, one.logprobs) for one in answers]) for answers in found}) == 1


@pytest.mark.parametrize("name", LANGUAGES)
def test_budgets_hold(name: str) -> None:
    """A budget may leave no room for the tokenizer's tokens: then others are drawn, and the text still ends in time."""
    members, vocab = LANGUAGES[name], bpe_vocabulary()
    regex, least = "|".join(member.decode() for member in members), None
    for most in range(1, 9):
        for seed in range(4):
            try:
                out = gl.generate(
                    Model(seed),
                    [0],
                    vocab=vocab,
                    regex=regex,
                    max_tokens=most,
                    temperature=1.0,
                    seed=seed,
                    forced="write",
                )
            except ValueError:
                assert least is None
                continue
            least = least or most
            assert out.text.encode() in members
            assert len(out.tokens) <= most
    assert least is not None


def test_a_predicate_is_asked_about_each_token_that_is_written() -> None:
    seen: list[str] = []

    def where(text: str) -> bool:
        seen.append(text)
        return "bc" not in text

    vocab = bpe_vocabulary()
    out = gl.generate(Model(0), [0], vocab=vocab, regex="abcab|abcb", where=where, forced="write")
    assert out.finish_reason == "unsatisfied"
    assert {"a", "abc"} <= set(seen)


# ------------------------------------------------------------------ the embedded model

TYPES = {"name": "string", "age": "integer", "email": "string", "city": "string", "active": "boolean"}
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": kind} for name, kind in TYPES.items()},
    "required": [*TYPES],
    "additionalProperties": False,
}
SPACED = gl.JsonSchema(SCHEMA, whitespace="spaced")
PROMPT = "Ada Lovelace is 36 and lives in London. ada@example.org\nAs JSON: "
TEMPLATE = gl.Template(
    "Name: {name}, age {age}.", name=gl.Regex("[A-Z][a-z]{1,9}( [A-Z][a-z]{1,9})?"), age=gl.Regex("[1-9][0-9]?")
)


@pytest.fixture(scope="module")
def tiny():
    return embedded_model()


def positions(text: str, pieces: list[bytes], parts: list[tuple[int, int]]) -> int:
    """How many tokens have bytes in the given spans."""
    ends = np.cumsum([0, *map(len, pieces)])
    return sum(any(begin < stop and end > start for start, stop in parts) for begin, end in itertools.pairwise(ends))


@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.0, "seed": 5}, {"temperature": 1.5, "seed": 6}], ids=str)
def test_a_record_needs_few_forwards(tiny, sampling) -> None:
    model, tokenizer = tiny
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    out = gl.generate(model, PROMPT, tokenizer=tokenizer, grammar=SPACED, forced="write", max_tokens=200, **sampling)
    assert out.text == json.dumps(out.value, ensure_ascii=False)
    spans, at = [], 0
    data = out.text.encode()
    for name, value in out.value.items():
        written = json.dumps(value, ensure_ascii=False).encode()
        at = data.index(f'"{name}": '.encode() + written, at) + len(f'"{name}": ')
        spans.append((at, at + len(written)))
        at += len(written)
    in_values = positions(out.text, [vocab.token_bytes(token) for token in out.tokens], spans)
    assert out.stats.forwards <= in_values + len(TYPES) + 2
    assert out.tokens[: len(vocab.encode('{"name": "'))] == vocab.encode('{"name": "')


@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.0, "seed": 5}, {"temperature": 1.5, "seed": 6}], ids=str)
def test_a_template_needs_few_forwards(tiny, sampling) -> None:
    model, tokenizer = tiny
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    out = gl.generate(model, PROMPT, tokenizer=tokenizer, grammar=TEMPLATE, **sampling)
    assert out.value == {"name": out["name"], "age": out["age"]}
    in_holes = sum(len(part.tokens) for part in out.parts)
    assert out.stats.forwards <= in_holes + 2 + 1
    first = vocab.encode("Name: ")
    assert out.tokens[: len(first)] == first
    assert (
        out.tokens
        == gl.generate(model, PROMPT, tokenizer=tokenizer, grammar=TEMPLATE, forced="write", **sampling).tokens
    )


@pytest.mark.parametrize("grammar", [SPACED, gl.JsonSchema(SCHEMA), TEMPLATE], ids=["spaced", "natural", "template"])
def test_answers_depend_on_nothing_else(tiny, grammar) -> None:
    """Drafts, caches, batches, n and streams change no token."""
    model, tokenizer = tiny
    common = {"tokenizer": tokenizer, "grammar": grammar, "forced": "write", "temperature": 1.0, "max_tokens": 60}
    alone = gl.generate(model, PROMPT, seed=3, **common)
    for options in ({"draft": "skeleton"}, {"draft": "auto"}, {"cache": "off"}):
        other = gl.generate(model, PROMPT, seed=3, **common, **options)
        assert other.tokens == alone.tokens
        assert other.logprobs == pytest.approx(alone.logprobs, rel=0, abs=LOG_P)
    batch = gl.generate(model, [PROMPT, "Tom, 7.\n", "A letter"], seed=3, **common)
    assert batch[0].tokens == alone.tokens
    assert gl.generate(model, PROMPT, seed=3, n=2, **common)[0].tokens == alone.tokens
    *_, last = gl.stream(model, PROMPT, seed=3, **common)
    assert last.result.tokens == alone.tokens


def test_what_is_written_is_never_another_text(tiny) -> None:
    """Names of special tokens, half characters and bytes that no character has are letters, or are drawn."""
    model, tokenizer = tiny
    special = gl.Vocabulary.from_tokenizer(tokenizer)
    name = special.token_bytes(special.stop_ids[0]).decode()
    for regex in (f"x{re.escape(name)}y", "(?u)né[àâ]", "\\u00e9(\\u00e0|\\u00e2)"):
        for seed in range(3):
            out = gl.generate(model, "a", tokenizer=tokenizer, regex=regex, forced="write", temperature=1.0, seed=seed)
            assert out.text in (f"x{name}y", "néà", "néâ", "éà", "éâ")


@pytest.mark.parametrize(
    "options",
    [
        {"method": "best_of", "candidates": 2},
        {"method": "vote", "candidates": 2},
        {"method": "contrast", "against": "A letter."},
        {"heal": True},
        {"stop": "q"},
    ],
    ids=str,
)
def test_beside_other_settings(tiny, options) -> None:
    model, tokenizer = tiny
    out = gl.generate(model, PROMPT, tokenizer=tokenizer, grammar=TEMPLATE, seed=1, **options)
    assert out.text == f"Name: {out['name']}, age {out['age']}."
    assert out.value == {"name": out["name"], "age": out["age"]}
    assert out.stats.forced_tokens >= 5
    assert out.stats.forwards < len(out.tokens)


def test_methods_that_choose_among_whole_texts_refuse_it(tiny) -> None:
    model, tokenizer = tiny
    with pytest.raises(ValueError, match="method='beam' takes no forced=\"write\""):
        gl.generate(model, PROMPT, tokenizer=tokenizer, grammar=TEMPLATE, method="beam", forced="write")
    found = gl.generate(model, PROMPT, tokenizer=tokenizer, grammar=TEMPLATE, method="beam", beams=2)
    assert set(found.value) == {"name", "age"}
