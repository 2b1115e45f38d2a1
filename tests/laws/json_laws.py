"""What gl.JsonSchema promises, as checks against the oracle: verdicts, spellings, metamorphic variants, walks, and whole masks.

Each check returns the outcomes that it met, by name, and raises AssertionError with schema and text where a promise is broken.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import grammarlm as gl
from tests.corpus_files import raw, tables
from tests.laws.laws import allowed_ids
from tests.oracles.json_schema_oracle import Judge, NoVerdict
from tests.oracles.json_spellings import (
    USUAL_CAPS,
    NumberCaps,
    has_plain_numbers,
    has_printed_numbers,
    integers_in_digits,
    is_spelled,
    is_within_caps,
    natural_spellings,
    respaced,
    spellings,
    usual_spellings,
    widest_caps,
)
from tests.oracles.random_json_instances import near
from tests.oracles.random_json_schemas import written

_PIECES = [raw(piece) for piece in tables("json_texts")["walked"]]
WALKED = gl.Vocabulary([bytes([byte]) for byte in range(256)] + _PIECES + [b"</s>"], stop_ids=[256 + len(_PIECES)])
_CLOSING = [b'"', b"}", b"]", b",", b":"]  # in the order in which they bring a text to its end
_LATE, _LONGEST = 60, 500  # tokens, for walks without a budget
_MISPLACED = [" ", "\n", "\n ", "\t", "\\", "\\/", "\\u0061", "\\u001f", "\\u001F", "\\n", "\\u000a"]
_BROKEN = '{}[]",:\\01-.eE+ntfu \n\x01é'


def compiled(schema: Any, vocab: gl.Vocabulary = WALKED, **options: Any) -> Any:
    return gl.compile(gl.JsonSchema(schema, **{"property_order": "any", **options}), vocab)


def text_of(tokens: list[int], vocab: gl.Vocabulary) -> bytes:
    return b"".join(vocab.token_bytes(token) for token in tokens)


def accepts(matcher: Any, data: bytes) -> bool:
    """The verdict on a whole text; the matcher is at its start again afterwards."""
    matcher.reset()
    verdict = bool(matcher.advance_bytes(data)) and bool(matcher.is_accepting)
    matcher.reset()
    return verdict


def accepts_by_masks(matcher: Any, data: bytes, vocab: gl.Vocabulary, rng: random.Random) -> bool:
    """The verdict by masks, cut into random tokens; a bit and `advance` say the same at every token."""
    matcher.reset()
    ids: dict[bytes, int] = {vocab.token_bytes(token): token for token in range(vocab.size)}
    longest, at, verdict = max(map(len, ids)), 0, True
    while at < len(data) and verdict:
        cuts = [end for end in range(at + 1, min(len(data), at + longest) + 1) if data[at:end] in ids]
        end = rng.choice(cuts)
        token = ids[data[at:end]]
        allowed = allowed_ids(matcher, vocab)
        verdict = bool(matcher.advance(token))
        assert verdict is (token in allowed), (
            f"after {data[:at]!r}, {data[at:end]!r}: bit {token in allowed}, advance {verdict}"
        )
        at = end
    verdict = verdict and bool(allowed_ids(matcher, vocab) & set(vocab.stop_ids))
    matcher.reset()
    return verdict


def texts_of(
    schema: Any, judge: Judge, rng: random.Random, wanted: int, is_plain: bool = False, caps: NumberCaps = USUAL_CAPS
) -> list[str]:
    """Texts near the edge of a schema: spelled as writers do or oddly, some no longer JSON."""
    texts = []
    for value, _ in near(schema, judge, rng, wanted):
        text = (
            spellings(value, rng, rng.choice([0.1, 0.4])) if rng.random() < 0.6 else rng.choice(usual_spellings(value))
        )
        if is_plain and rng.random() < 0.8:
            text = rng.choice(natural_spellings(value))
        if rng.random() < (0.3 if is_plain else 0.08):
            place = rng.randint(0, len(text))
            put = rng.choice(_MISPLACED if is_plain else ["", rng.choice(_BROKEN)])
            text = text[:place] + put + text[place + rng.choice([0, 1]) :]
        if is_within_caps(text, caps) and not (is_plain and not has_plain_numbers(text)):
            texts.append(text)
            if is_plain and integers_in_digits(text) != text:
                texts.append(integers_in_digits(text))
    return texts


def check_schema(schema: Any, rng: random.Random, wanted: int = 8, **options: Any) -> Counter[str]:
    """Engine and oracle say the same of texts near the edge of the schema.

    Of some texts only what the oracle refuses: of those with a number beyond the usual caps, which some places of the schema may
    name and others not, or with 12e5, which is read where nothing bounds the number, and with spelling="plain" those with 5.0,
    which is written 5 where an integer is asked for.
    """
    judge = Judge(schema, **{key: options[key] for key in ("draft", "formats", "registry") if key in options})
    try:
        texts = texts_of(schema, judge, rng, wanted, options.get("spelling") == "plain", widest_caps(schema))
        if options.get("whitespace") == "spaced":
            texts = [respaced(text) if rng.random() < 0.7 else text for text in texts]
        verdicts = [judge.valid(text) and is_spelled(text, **options) for text in texts]
    except NoVerdict:
        return Counter({"no verdict": 1})
    try:
        matcher = compiled(schema, **options).matcher()
    except gl.UnsatisfiableGrammar as error:
        if any(verdicts):
            wrong = said(schema, texts[verdicts.index(True)], True, f"unsatisfiable: {error}")
            raise AssertionError(wrong) from error
        return Counter(unsatisfiable=1)
    except (gl.UnsupportedFeature, gl.LimitExceeded) as error:
        return Counter({"refused": 1, f"refused: {type(error).__name__}": 1})
    outcomes, is_plain = Counter(compiled=1), options.get("spelling") == "plain"
    for text, is_valid in zip(texts, verdicts, strict=True):
        data = text.encode("utf-8", "surrogatepass")
        by_bytes = accepts(matcher, data)
        is_settled = is_within_caps(text) and has_printed_numbers(text)
        is_settled = is_settled and not (is_plain and integers_in_digits(text) != text)
        expected = is_valid and (by_bytes or is_settled)
        for way, verdict in (("bytes", by_bytes), ("masks", accepts_by_masks(matcher, data, WALKED, rng))):
            assert verdict is expected, said(schema, text, expected, f"{verdict} by {way}")
        outcomes["valid" if expected else "invalid"] += 1
    return outcomes


def check_spellings(schema: Any, tests: list[dict[str, Any]], rng: random.Random) -> Counter[str]:
    """The verdict on labelled instances is that of their labels, however they are spelled and cut into tokens."""
    judge = Judge(schema)
    try:
        matcher = compiled(schema).matcher()
    except gl.UnsatisfiableGrammar as error:
        if any(test["valid"] for test in tests):
            raise AssertionError(f"{json.dumps(_shown(schema))[:3000]}: {error}, but it has valid instances") from error
        return Counter(unsatisfiable=1)
    except (gl.UnsupportedFeature, gl.LimitExceeded) as error:
        return Counter({"refused": 1, f"refused: {type(error).__name__}": 1})
    outcomes = Counter(compiled=1)
    for test in tests:
        texts = [*usual_spellings(test["data"]), spellings(test["data"], rng, 0.05), spellings(test["data"], rng, 0.4)]
        for number, text in enumerate(texts):
            if not (is_within_caps(text) and has_printed_numbers(text)) or judge.valid(text) is not test["valid"]:
                continue  # draft 4 distinguishes 1.0 and 1
            data = text.encode()
            by_masks = number == len(texts) - 2 and len(data) < 1500
            verdict = accepts_by_masks(matcher, data, WALKED, rng) if by_masks else accepts(matcher, data)
            assert verdict is test["valid"], said(_shown(schema), text, test["valid"], verdict)
            outcomes["texts"] += 1
    return outcomes


def said(schema: Any, text: str, expected: Any, found: Any) -> str:
    return f"{written(schema)}\n{text!r}: the oracle says {expected}, the engine {found}"


# What may be moved to another place of a schema, keywords that speak of each other together.
_TOGETHER = (
    ("properties", "patternProperties", "additionalProperties"),
    ("items", "prefixItems", "additionalItems"),
    ("contains", "minContains", "maxContains"),
    ("if", "then", "else"),
    ("minimum", "exclusiveMinimum"),
    ("maximum", "exclusiveMaximum"),
)
_STAY = ("$schema", "$defs", "definitions", "$ref", "unevaluatedItems", "unevaluatedProperties")


def variants(schema: dict[str, Any], rng: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Schemas that say the same in other words, each with what was done."""
    kept = {key: schema[key] for key in ("$schema", "$defs") if key in schema}
    rest = {key: value for key, value in schema.items() if key not in kept}
    yield "all after $ref", {**kept, "$defs": {**kept.get("$defs", {}), "whole": rest}, "$ref": "#/$defs/whole"}
    yield "all in allOf", {**kept, "allOf": [rest, True]}
    yield "one of one", {**kept, "oneOf": [rest, False]}
    yield "any of itself twice", {**kept, "anyOf": [rest, rest]}
    yield "not not", {**kept, "not": {"not": rest}}
    yield "then", {**kept, "if": True, "then": rest}
    movable = [key for key in rest if key not in _STAY]
    if not movable or "$ref" in rest:
        return
    chosen = rng.choice(movable)
    group = next((names for names in _TOGETHER if chosen in names), (chosen,))
    moved = {key: rest[key] for key in group if key in rest}
    left = {key: value for key, value in schema.items() if key not in moved}
    if chosen != "allOf":
        yield f"{chosen} in allOf", {**left, "allOf": [*left.get("allOf", []), moved]}
    around = {**left, "$defs": {**left.get("$defs", {}), "moved": moved}}
    if "$schema" not in schema:  # where $ref hides its siblings, it cannot stand next to them
        yield f"{chosen} after $ref", {**around, "$ref": "#/$defs/moved"}
    yield (
        f"{chosen} after $ref in allOf",
        {**around, "allOf": [*left.get("allOf", []), {"$ref": "#/$defs/moved"}]}
        if (chosen != "allOf")
        else {**around, "allOf": [{"$ref": "#/$defs/moved"}]},
    )


def check_variants(schema: Any, rng: random.Random) -> Counter[str]:
    """Said in other words, a schema has the same masks along the same texts."""
    judge, outcomes = Judge(schema), Counter[str]()
    try:
        texts = texts_of(schema, judge, rng, 4)
        plain = compiled(schema).matcher()
    except (NoVerdict, gl.UnsatisfiableGrammar, gl.UnsupportedFeature, gl.LimitExceeded) as error:
        return Counter({type(error).__name__: 1})
    for how, variant in variants(schema, rng):
        try:
            other = compiled(variant).matcher()
        except (gl.UnsupportedFeature, gl.LimitExceeded):
            outcomes["variant refused"] += 1
            continue
        except gl.UnsatisfiableGrammar as error:
            raise AssertionError(
                f"{how}: {json.dumps(variant)} is unsatisfiable ({error}), {json.dumps(schema)} is not"
            ) from None
        for text in texts:
            place = first_difference(plain, other, text.encode("utf-8", "surrogatepass"))
            assert place is None, (
                f"{how}: {json.dumps(variant)}\n{json.dumps(schema)}\n{text!r}: masks differ after {place}"
            )
        outcomes["variants"] += 1
    return outcomes


def first_difference(one: Any, other: Any, data: bytes) -> "bytes | None":
    """The part of a text after which two matchers have other masks, or None."""
    one.reset()
    other.reset()
    for at in range(len(data) + 1):
        if allowed_ids(one, WALKED) != allowed_ids(other, WALKED):
            return data[:at]
        if at < len(data):
            taken = one.advance(data[at])
            if other.advance(data[at]) is not taken:
                return data[: at + 1]
            if not taken:
                break
    return None


def walk(
    constraint: Any, vocab: gl.Vocabulary, rng: random.Random, extra: "int | None", path: Sequence[int] = ()
) -> "bytes | None":
    """A text drawn from masks alone that begins with `path`.

    With `extra` it is at most so many tokens longer than it must be, or None where that is refused by name: an integer of hundreds
    of digits is no end that could be written down. With None it closes what it can after a while, and is given up, None, where that
    leads to no end.
    """
    stops, tokens = set(vocab.stop_ids), list(path)
    matcher = constraint.matcher()
    assert all(map(matcher.advance, path)), text_of(tokens, vocab)
    most = _LONGEST
    if extra is not None:
        try:
            most = max(len(path) + matcher.min_tokens_left, constraint.matcher().min_tokens_left) + extra
        except gl.LimitExceeded as error:
            if "too long to be written down" not in str(error):
                raise
            return None
        matcher = constraint.matcher(max_tokens=most)
        while not all(map(matcher.advance, path)):  # what is known to be enough may be more on the way than at its end
            assert most <= len(path) + _LONGEST, f"{text_of(tokens, vocab)!r} under a budget of {most}"
            most += 1
            matcher = constraint.matcher(max_tokens=most)
    while True:
        allowed = allowed_ids(matcher, vocab)
        assert allowed, f"an empty mask after {text_of(tokens, vocab)!r}"
        assert bool(allowed & stops) is bool(matcher.is_accepting), text_of(tokens, vocab)
        is_late = len(tokens) > len(path) + _LATE
        if allowed & stops and (is_late or rng.random() < 0.3 or not allowed - stops):
            return text_of(tokens, vocab)
        if extra is None and len(tokens) >= most:
            return None
        closing = [t for t in sorted(allowed - stops) if vocab.token_bytes(t) in _CLOSING]
        closes = extra is None and is_late and closing and rng.random() < 0.8
        tokens.append(
            min(closing, key=lambda t: _CLOSING.index(vocab.token_bytes(t)))
            if closes
            else rng.choice(sorted(allowed - stops))
        )
        assert matcher.advance(tokens[-1]), f"refused what the mask allows: {text_of(tokens, vocab)!r}"
        assert len(tokens) <= most, f"over the budget: {text_of(tokens, vocab)!r}"


def check_walks(schema: Any, rng: random.Random, vocab: gl.Vocabulary, walks: int, **options: Any) -> Counter[str]:
    """Texts drawn from masks are valid; where the oracle finds something valid, so does the engine."""
    judge = Judge(schema)
    try:
        constraint = compiled(schema, vocab, **options)
    except gl.UnsatisfiableGrammar:
        return Counter(unsatisfiable=1)
    except (gl.UnsupportedFeature, gl.LimitExceeded):
        return Counter(refused=1)
    outcomes, caps = Counter(compiled=1), widest_caps(schema)
    for _ in range(walks):
        data = walk(constraint, vocab, rng, rng.choice([None, 0, 2, 15, 80]))
        if data is None:
            outcomes["no end"] += 1
            continue
        try:
            verdict = judge.valid(data)
        except NoVerdict:
            return outcomes + Counter({"no verdict": 1})
        assert verdict, f"{json.dumps(_shown(schema))[:3000]}\nthe engine wrote {data!r}, which is invalid"
        assert is_within_caps(data.decode(), caps), data
        assert is_spelled(data.decode(), **options), data
        outcomes["walks"] += 1
    return outcomes


def _shown(value: Any) -> Any:
    if isinstance(value, (Fraction, Decimal)):
        return str(value)
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    return [_shown(item) for item in value] if isinstance(value, list) else value


class FewTokens:
    """All texts of a few tokens, judged one by one: which of them begin a valid text of so many tokens."""

    def __init__(self, judge: Judge, pieces: list[bytes], longest: int, options: dict[str, Any]):
        self.pieces, self.longest = pieces, longest
        self._judge, self._options = judge, options
        self._verdicts: dict[bytes, bool] = {}
        self._alive: dict[tuple[bytes, int], bool] = {}

    def valid(self, text: bytes) -> bool:
        if text not in self._verdicts:
            fits = self._judge.valid(text) and is_within_caps(text.decode()) and has_printed_numbers(text.decode())
            self._verdicts[text] = fits and is_spelled(text.decode(), **self._options)
        return self._verdicts[text]

    def alive(self, text: bytes, left: int) -> bool:
        """Whether a valid text begins so and needs at most `left` tokens more."""
        key = text, left
        if key not in self._alive:
            self._alive[key] = self.valid(text) or (
                left > 0 and any(self.alive(text + p, left - 1) for p in self.pieces)
            )
        return self._alive[key]


def check_whole_masks(
    schema: Any, pieces: list[bytes], longest: int, rng: random.Random, **options: Any
) -> Counter[str]:
    """The masks on the way to every text of few pieces: a bit is set iff the piece can be read and the text be ended after it.

    That it can be ended is seen within `longest` pieces, or by a walk, over all bytes, whose text the oracle takes.
    """
    others = [bytes([byte]) for byte in range(256) if bytes([byte]) not in pieces]  # JSON needs a token for each
    vocab = gl.Vocabulary([*pieces, *others, b"</s>"], stop_ids=[len(pieces) + len(others)])
    judge = Judge(schema)
    few = FewTokens(judge, pieces, longest, options)
    try:
        constraint = compiled(schema, vocab, **options)
    except gl.UnsatisfiableGrammar:
        assert not few.alive(b"", longest), f"{json.dumps(schema)} with {pieces} is called unsatisfiable"
        return Counter(unsatisfiable=1)
    except (gl.UnsupportedFeature, gl.LimitExceeded):
        return Counter(refused=1)
    outcomes: Counter[str] = Counter(compiled=1)
    matcher, seen = constraint.matcher(), set()

    def visit(text: bytes, path: list[int], left: int) -> None:
        if text in seen:
            return
        seen.add(text)
        allowed = allowed_ids(matcher, vocab)
        where = f"{json.dumps(schema)}, tokens {pieces}, after {text!r}"
        may_end = bool(set(vocab.stop_ids) & allowed)
        may_odd = may_end and not has_printed_numbers(text.decode())  # where nothing bounds its numbers
        assert may_end is (judge.valid(text) if may_odd else few.valid(text)), f"{where}: the end is {may_end}"
        for token, piece in enumerate(pieces):
            short = few.alive(text + piece, left - 1)
            assert token in allowed or not short, f"{where}: {piece!r} is not allowed"
            taken = matcher.advance(token)
            assert taken is (token in allowed), f"{where}: {piece!r} advance {taken}"
            outcomes["bits"] += 1
            if not taken:
                continue
            if not short:
                data = walk(constraint, vocab, rng, 0, [*path, token])
                assert data is None or (judge.valid(data) and is_spelled(data.decode(), **options)), (
                    f"{where}: after {piece!r} it ends in {data!r}, which is invalid"
                )
                outcomes["no end" if data is None else "ended by walks"] += 1
            if left > 1:
                visit(text + piece, [*path, token], left - 1)
            matcher.rollback(1)

    visit(b"", [], longest)
    return outcomes
