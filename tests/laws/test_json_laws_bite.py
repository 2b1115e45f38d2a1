"""The laws for JSON schemas pass for a language that is right and fail for each that is not; stood in for by choices of texts."""

import random

import pytest

import grammarlm as gl
from tests.laws import json_laws

SCHEMA = {"enum": [1, "a"]}
PIECES = [b'"', b"a", b"1", b'a"']
RIGHT = ["1", '"a"']
WRONG = {"too much": [*RIGHT, '"1"'], "too little": ["1"], "a broken end": ["1", '"a"', '"a"1']}


def stand_in(monkeypatch, texts: list[str]) -> None:
    monkeypatch.setattr(
        json_laws, "compiled", lambda schema, vocab=json_laws.WALKED, **_: gl.compile(gl.Choices(texts), vocab)
    )


def test_what_is_right_passes(monkeypatch) -> None:
    stand_in(monkeypatch, RIGHT)
    rng = random.Random(1)
    assert json_laws.check_whole_masks(SCHEMA, PIECES, 4, rng)["bits"] >= 20
    assert json_laws.check_walks(SCHEMA, rng, json_laws.WALKED, 20)["walks"] == 20
    assert json_laws.check_variants(SCHEMA, rng)["variants"] > 5


def check_often(times: int) -> None:
    for seed in range(times):
        json_laws.check_schema(SCHEMA, random.Random(seed))


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_fails(monkeypatch, name: str) -> None:
    stand_in(monkeypatch, WRONG[name])
    with pytest.raises(AssertionError):
        json_laws.check_whole_masks(SCHEMA, PIECES, 4, random.Random(1))
    with pytest.raises(AssertionError):
        check_often(20)
    if name != "too little":
        with pytest.raises(AssertionError):
            json_laws.check_walks(SCHEMA, random.Random(1), json_laws.WALKED, 40)


def test_other_masks_are_seen(monkeypatch) -> None:
    languages = iter([RIGHT, WRONG["too much"]])
    monkeypatch.setattr(
        json_laws, "compiled", lambda *_, **__: gl.compile(gl.Choices(next(languages)), json_laws.WALKED)
    )
    with pytest.raises(AssertionError, match="masks differ"):
        json_laws.check_variants(SCHEMA, random.Random(1))
