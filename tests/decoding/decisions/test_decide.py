"""decide(): the probabilities of all answers, by brute force over all texts and by a forward over each answer alone."""

import enum
import itertools
import json
import math
import random
from typing import Annotated, Any, Literal

import pytest

import grammarlm as gl
from tests.decoding.planted import noise
from tests.decoding.random_models import random_model
from tests.decoding.readers.sources import SOURCES, WIDTH, Source

torch = pytest.importorskip("torch")

TOKENS = [b"a", b"b", b"ab", b"ba", b""]
TOY, LONGEST = gl.Vocabulary(TOKENS, stop_ids=[4]), 4
LETTERS = [bytes([97 + i]) for i in range(26)] + [b"ab", b"abc", b"ca", b"zz", b"st"]
WIDE = gl.Vocabulary([*LETTERS, *[b""] * (WIDTH - len(LETTERS))], stop_ids=[38, 39])


def ending(seed: int) -> Any:
    """A model of random logits, whose texts end after so many tokens at the latest: their probabilities sum to 1."""
    inner = noise(len(TOKENS), seed)

    def logits(ids: Any) -> Any:
        found = inner(ids)
        found[:, LONGEST:, :4] = -math.inf
        return found

    return logits


def law(model: Any) -> dict[tuple[int, ...], float]:
    """Of each sequence of tokens the probability that the model writes it and ends, by a forward of its own."""
    found = {}
    for length in range(LONGEST + 1):
        for text in itertools.product(range(4), repeat=length):
            logs = model(torch.tensor([[0, *text]]))[0].double().log_softmax(-1)
            found[text] = math.exp(sum(logs[at, token] for at, token in enumerate((*text, 4))))
    return found


def test_what_the_model_has_no_logits_for_it_never_writes() -> None:
    wider = gl.Vocabulary([*TOKENS, b"c"], stop_ids=[4])
    out = gl.decide(ending(3), [0], choices=["a", "ac", "c"], vocab=wider)
    assert dict(out.probabilities)["ac"] == dict(out.probabilities)["c"] == 0
    assert out.probabilities[0] == gl.decide(ending(3), [0], choices=["a"], vocab=TOY).probabilities[0]


def longest_matches(text: str) -> tuple[int, ...]:
    ids: list[int] = []
    while text:
        token = max((t for t in TOKENS[:4] if text.startswith(t.decode())), key=len)
        ids.append(TOKENS.index(token))
        text = text[len(token) :]
    return tuple(ids)


@pytest.mark.parametrize("seed", range(5))
def test_brute_force_over_all_texts(seed: int) -> None:
    rng, model = random.Random(seed), ending(seed)
    whole = law(model)
    assert math.isclose(math.fsum(whole.values()), 1, rel_tol=1e-5)
    texts = sorted({"".join(rng.choices("ab", k=rng.randint(0, 5))) for _ in range(8)} | {"", "a", "ab"})
    out = gl.decide(model, [0], choices=texts, vocab=TOY)
    expected = {text: whole.get(longest_matches(text), 0.0) for text in texts}
    assert dict(out.probabilities) == pytest.approx(expected, abs=1e-4)
    others = math.fsum(p for ids, p in whole.items() if ids not in set(map(longest_matches, texts)))
    assert out.outside == pytest.approx(others, abs=1e-4)
    assert math.fsum(p for _, p in out.probabilities) + out.outside == pytest.approx(1)
    assert out.value == out.text == max(texts, key=expected.__getitem__)
    figures = [p for _, p in out.probabilities]
    assert figures == sorted(figures, reverse=True)
    assert out.forwards == 2


@pytest.mark.parametrize("name", [name for name in SOURCES if name not in ("embedded", "blend", "bytes")])
def test_every_model_says_what_a_forward_over_each_answer_says(name: str, monkeypatch: Any) -> None:
    source, rng = Source(name), random.Random(name)
    prompt = [rng.randrange(26) for _ in range(6)]
    texts = sorted({"".join(rng.choices("abcst", k=rng.randint(1, 6))) for _ in range(64)})
    options: dict[str, Any] = {"choices": texts, "vocab": WIDE, "cache": source.cache or None}
    out = gl.decide(source.model, prompt, **options)
    assert out.forwards <= 2
    found = dict(out.probabilities)
    for text in rng.sample(texts, 8):
        ids = spelled(text)
        logs = source.oracle(prompt, ids).double().log_softmax(-1)
        written = sum(float(logs[at, token]) for at, token in enumerate(ids))
        assert found[text] == pytest.approx(math.exp(written) * float(logs[-1, 38:].exp().sum()), rel=1e-3)
    monkeypatch.setattr("grammarlm.decoding.scoring.scored_trie.MOST_NODES", 20)
    monkeypatch.setattr("grammarlm.decoding.scoring.scored_trie.MOST_BYTES", 4 * WIDTH * 20)
    apart = gl.decide(source.model, prompt, **options)
    assert apart.forwards > 2
    assert dict(apart.probabilities) == pytest.approx(found, rel=1e-3)


def spelled(text: str) -> list[int]:
    """By the longest matches."""
    ids: list[int] = []
    while text:
        token = max((one for one in LETTERS if text.startswith(one.decode())), key=len)
        ids.append(LETTERS.index(token))
        text = text[len(token) :]
    return ids


class Mood(enum.Enum):
    good = "good"
    bad = "bad"


NUMBERS = {"type": "integer", "minimum": -2, "maximum": 11}
MIXED = ["a,b:\"c'", 1, True, None, 1.5, [1, {"x": 2}]]
OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "boolean"}, "b: ,": NUMBERS},
    "required": ["a"],
    "additionalProperties": False,
}
OBJECTS = [{"a": a} | b for a in (True, False) for b in [{}, *({"b: ,": n} for n in range(-2, 12))]]
ARRAY = {"type": "array", "items": {"enum": ["x", "y"]}, "maxItems": 2}
FINITE: dict[str, tuple[Any, list[Any]]] = {
    "boolean": ({"type": "boolean"}, [False, True]),
    "enum of all kinds": ({"enum": MIXED}, MIXED),
    "integers": (NUMBERS, list(range(-2, 12))),
    "object": (OBJECT, OBJECTS),
    "array": (ARRAY, [list(items) for n in range(3) for items in itertools.product("xy", repeat=n)]),
    "nothing but null": ({"const": None}, [None]),
}


@pytest.mark.parametrize("name", FINITE)
def test_a_schemas_answers_are_its_values_as_json_dumps_writes_them(model, tokenizer, name: str) -> None:
    schema, values = FINITE[name]
    out = gl.decide(model, "the cat ", schema=schema, tokenizer=tokenizer)
    texts = [json.dumps(value) for value in values]
    found = [(json.dumps(value), p) for value, p in out.probabilities]
    assert sorted(text for text, _ in found) == sorted(texts)
    prompt = tokenizer("the cat ")["input_ids"]
    for text, p in found[:: max(1, len(found) // 5)]:
        ids = [*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
        with torch.no_grad():
            logs = model(torch.tensor([[*prompt, *ids]])).logits[0].double().log_softmax(-1)
        assert p == pytest.approx(math.exp(sum(logs[len(prompt) - 1 + at, id] for at, id in enumerate(ids))), rel=1e-3)


def test_values_have_their_types(model, tokenizer) -> None:
    pydantic = pytest.importorskip("pydantic")

    class Order(pydantic.BaseModel):
        size: Literal["S", "L"]
        count: Annotated[int, pydantic.Field(ge=1, le=3)]

        @pydantic.model_validator(mode="after")
        def few_are_large(self) -> "Order":
            assert self.size == "S" or self.count < 3
            return self

    def values(**asked: Any) -> set[Any]:
        out = gl.decide(model, "a hat ", tokenizer=tokenizer, **asked)
        assert out.probabilities[0][0] == out.value
        assert out.outside > 0
        return {repr(value) for value, _ in out.probabilities}

    assert values(choices=Mood) == values(schema=Mood) == {repr(Mood.good), repr(Mood.bad)}
    assert values(choices=[1, "one"]) == {"1", "'one'"}
    assert values(schema=bool) == {"True", "False"}
    made = {repr(Order(size="S", count=n)) for n in (1, 2, 3)} | {repr(Order(size="L", count=n)) for n in (1, 2)}
    assert values(schema=Order) == made  # what its validator refuses is outside
    compact = gl.JsonSchema({"enum": [[1, 2]]}, whitespace="compact")
    assert gl.decide(model, "a", schema=compact, tokenizer=tokenizer).text == "[1,2]"


def test_prompts_and_conversations() -> None:
    model, tokenizer = gl.load_tiny()
    one, two = "Count 15 minutes.\n", "Ada, 36.\n"
    both = gl.decide(model, [one, two], choices=[["a", "b"], ["c"]])
    alone = [gl.decide(model, one, choices=["a", "b"]), gl.decide(model, two, choices=["c"])]
    assert [each.probabilities for each in both] == [each.probabilities for each in alone]
    messages = [{"role": "user", "content": "Count 15 minutes."}]
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    ids = ids["input_ids"] if hasattr(ids, "keys") else ids
    talk = gl.decide(model, messages, choices=["a", "b"])
    assert dict(talk.probabilities) == pytest.approx(dict(gl.decide(model, ids, choices=["a", "b"]).probabilities))


def test_generate_says_them_of_its_choices() -> None:
    model, _ = gl.load_tiny()
    prompts = ["Count 15 minutes.\n", "Ada, 36.\n"]
    outs = gl.generate(model, prompts, schema=bool, probabilities=True, n=2, temperature=1.0, seed=3)
    decided = [decision for decision in gl.decide(model, prompts, schema=bool) for _ in range(2)]
    assert [out.probabilities for out in outs] == [decision.probabilities for decision in decided]
    again = gl.generate(model, prompts, schema=bool)
    assert [out.probabilities for out in again] == [None, None]


ENDLESS = {
    "text": ({"type": "string"}, "are endless"),
    "integer": ({"type": "integer"}, "are"),
    "anything": (True, "are endless"),
    "list": ({"type": "array", "items": {"type": "boolean"}}, "are endless"),
    "many": ({"type": "integer", "minimum": 1, "maximum": 4097}, "are more than 4,096"),
    "numbers": ({"type": "number", "minimum": 0, "maximum": 1}, "are"),
    "long": ({"type": "string", "maxLength": 3}, "are more than 4,096"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_endless_and_many_answers_are_refused(model, tokenizer, name: str) -> None:
    schema, said = ENDLESS[name]
    with pytest.raises(gl.UnsupportedFeature, match=rf"of at most 4,096 answers, and .* {said}"):
        gl.decide(model, "a", schema=schema, tokenizer=tokenizer)


def test_as_many_answers_as_there_may_be(model, tokenizer) -> None:
    out = gl.decide(model, "a", choices=map(str, range(4096)), tokenizer=tokenizer)
    assert len(out.probabilities) == 4096
    with pytest.raises(gl.UnsupportedFeature, match="there are 4,097 choices"):
        gl.decide(model, "a", choices=map(str, range(4097)), tokenizer=tokenizer)


def test_what_is_refused(model, tokenizer) -> None:
    def refuses(said: str, kind: type[Exception] = ValueError, **asked: Any) -> None:
        with pytest.raises(kind, match=said):
            gl.decide(model, "a", tokenizer=tokenizer, **asked)

    refuses("takes choices= or schema=, and neither is given")
    refuses("takes choices= or schema=, and both are given", choices=["a"], schema=bool)
    refuses("did you mean choices=", TypeError, choice=["a"])
    refuses("no answer has a value; the first one: ", schema=never())
    narrow = random_model("GPT2", len(tokenizer), n_embd=32, n_layer=2, n_head=4, n_positions=16)
    with pytest.raises(ValueError, match=r"16 positions, too few for 20 more; .* leave out answers of more than"):
        gl.decide(narrow, [5], choices=["\x01" * 20], tokenizer=tokenizer)
    broken = lambda ids: torch.full((*ids.shape, 5), math.nan)  # noqa: E731
    with pytest.raises(ValueError, match="no distribution"):
        gl.decide(broken, [0], choices=["a"], vocab=TOY)
    for options, said in {
        "regex": ({"regex": "a|b"}, "which has no choices"),
        "nothing": ({}, "which has no choices"),
        "where": ({"choices": ["a"], "where": str.islower}, "takes no where="),
        "heal": ({"choices": ["a"], "heal": True}, "takes no heal=True"),
        "kind": ({"choices": ["a"], "probabilities": 1}, "it takes True or False"),
    }.values():
        with pytest.raises(ValueError, match=said):
            gl.generate(model, "a", tokenizer=tokenizer, **{"probabilities": True, **options})
    with pytest.raises(ValueError, match="stream"):
        gl.stream(model, "a", tokenizer=tokenizer, choices=["a"], probabilities=True)


def never() -> Any:
    pydantic = pytest.importorskip("pydantic")

    class Never(pydantic.BaseModel):
        is_it: bool

        @pydantic.field_validator("is_it")
        @classmethod
        def refused(cls, value: bool) -> bool:
            raise ValueError("no")

    return Never
