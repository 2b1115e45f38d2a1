"""Canvases fill JSON in as a model spells it, whatever the matchers of their constraint read besides."""

from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.grammars.generated import as_filled, as_generated

VOCAB = gl.Vocabulary(
    [*(bytes([i]) for i in range(256)), b'{"a":', b"\\u00", b"61", b" " * 41, b"</s>"], stop_ids=[260]
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "string"}},
    "required": ["a"],
}
SPELLED = gl.JsonSchema(SCHEMA, whitespace="any", spelling="plain")
GRAMMARS = {
    "a schema": (gl.JsonSchema(SCHEMA), SPELLED),
    "a part": (gl.Regex("x?") + gl.JsonSchema(SCHEMA), gl.Regex("x?") + SPELLED),
}


def ids(text: bytes) -> list[int]:
    return list(text)


@pytest.mark.parametrize("name", GRAMMARS)
def test_rows_are_those_of_the_schema_spelled_so(name: str) -> None:
    default, spelled = (gl.compile(grammar, VOCAB) for grammar in GRAMMARS[name])
    ours, theirs = default.canvas(20, room=3), spelled.canvas(20, room=3)
    for given in (b"", b'{"a":', b'{"a" :', b'{"a":1', b'{"a":1.5,"b":"'):
        row = [*given, *[-1] * (20 - len(given))]
        assert np.array_equal(ours.allowed(row).row(len(given)), theirs.allowed(row).row(len(given)))
    assert default.canvas(12).is_completable([*b'{"a":', *[259] * 3, *b"1}", 260, 260]), "no cap on blanks"
    for otherwise in (b'{"\\u0061":1}', b'{"a":1e5}', b'{"a":1.50}'):
        assert default.matcher().advance_bytes(otherwise)
        assert not default.canvas(len(otherwise)).is_completable(ids(otherwise))


@pytest.mark.parametrize("name", GRAMMARS)
def test_after_a_matcher_of_the_constraint(name: str) -> None:
    default, spelled = (gl.compile(grammar, VOCAB) for grammar in GRAMMARS[name])
    for steps in ([], [256], [b'{"a":', ord("1"), b'.5, "b":"x'], [*b'{"a":1}', 260]):
        matcher, other = default.matcher(), spelled.matcher()
        for step in steps:
            assert all(m.advance_bytes(step) if isinstance(step, bytes) else m.advance(step) for m in (matcher, other))
        ours, theirs = default.canvas(9, after=matcher, room=4), spelled.canvas(9, after=other, room=4)
        for at in (0, 4):
            row = ours.allowed([-1] * 9).row(at)
            assert np.array_equal(row, theirs.allowed([-1] * 9).row(at))
    matcher = default.matcher()
    assert matcher.advance_bytes(b'{"\\u0061":')
    with pytest.raises(gl.UnsupportedFeature, match="another spelling"):
        default.canvas(9, after=matcher)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"whitespace": "flexible"}, 'whitespace="flexible"'),
        ({"whitespace": "natural"}, 'whitespace="natural"'),
        ({"whitespace": "spaced"}, 'whitespace="spaced"'),
        ({"spelling": "any"}, 'spelling="any"'),
    ],
)
def test_what_is_not_filled_in_is_refused_by_name(options: dict[str, str], says: str) -> None:
    for grammar in (gl.JsonSchema(SCHEMA, **options), gl.Regex("x") + gl.JsonSchema(SCHEMA, **options)):
        with pytest.raises(gl.UnsupportedFeature, match=says):
            gl.compile(grammar, VOCAB).canvas(9)


def test_what_was_not_asked_for_is_spelled_anew_each_time() -> None:
    natural, filled = (spell(gl.JsonSchema(SCHEMA)) for spell in (as_generated, as_filled))
    assert filled == SPELLED
    assert as_generated(filled) == natural != filled == as_filled(natural)
    assert as_filled(SPELLED) is SPELLED
    assert as_filled(filled) is filled
    compact = gl.JsonSchema(SCHEMA, whitespace="compact")
    assert as_filled(compact) == gl.JsonSchema(SCHEMA, whitespace="compact", spelling="plain")


def test_infill_says_how_given_text_is_spelled() -> None:
    def model(rows: Any) -> Any:
        raise AssertionError("it is not asked")

    for text in (b'{"\\u0061":', b'{"a":1e2'):
        with pytest.raises(ValueError, match=r"json\.dumps"):
            gl.infill(model, [*text, -1, -1, -1], vocab=VOCAB, mask_id=0, schema=SCHEMA)


def test_a_compiled_constraint_is_filled_in_plainly() -> None:
    """A model that likes escapes and long gaps best writes none of the first; its row is one of the schema spelled so."""
    import torch

    liked = torch.zeros(VOCAB.size)
    liked[[ord("\\"), 257, 258, 259]] = 9
    for grammar in (gl.JsonSchema(SCHEMA), gl.compile(gl.JsonSchema(SCHEMA), VOCAB)):
        out = gl.infill(lambda ids: liked.expand(*ids.shape, -1), [-1] * 30, vocab=VOCAB, mask_id=0, grammar=grammar)
        assert gl.compile(SPELLED, VOCAB).matcher().advance_bytes(out.text.encode())
        assert " " * 41 in out.text
        assert "a" in out.value
