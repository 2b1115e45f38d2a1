"""The text of the embedded models: a function of (split, index), answers of their forms, a hard split that is harder."""

import functools
import hashlib
import json

import jsonschema
import pytest
from lark import Lark

from training.corpus import TASKS, constraint, example, to_json, words

FOREIGN = (*words.FOREIGN_GIVEN_NAMES, *words.FOREIGN_SURNAMES, *words.FOREIGN_CITIES, *words.FOREIGN_STARTS)
ANSWERED = [task for task in TASKS if task != "plain"]


def digest(split: str) -> str:
    texts = (example(split, index) for index in range(300))
    return hashlib.sha256("".join(one.prompt + one.answer for one in texts).encode()).hexdigest()[:16]


def test_it_is_a_function_of_split_and_index():
    """The model card speaks of this very text, on every Python version; a change of the first needs new models."""
    assert digest("train") == "07b118941243cae1"
    assert digest("heldout") == "7d0c32b1da46a114"


parser = functools.cache(Lark)


@functools.cache
def validator(schema):
    return jsonschema.Draft202012Validator(json.loads(schema))


@pytest.mark.parametrize("split", ["train", "heldout", "hard"])
@pytest.mark.parametrize("task", ANSWERED)
def test_answers_have_their_form(split, task):
    for index in range(100):
        one = example(split, index, task)
        given = constraint(one.form)
        assert one.prompt.endswith("\n")
        if "schema" in given:
            value = json.loads(one.answer)
            validator(json.dumps(given["schema"])).validate(value)
            assert to_json(value) == one.answer
        elif "grammar" in given:
            parser(given["grammar"].text).parse(one.answer)
        else:
            assert str(int(one.answer)) == one.answer


@pytest.mark.parametrize("kind", ["person", "address"])
def test_sentences_state_every_value(kind):
    def said(value):
        return all(map(said, value)) if isinstance(value, list) else str(value) in one.prompt

    drawn = (example("heldout", index, "record") for index in range(300))
    chosen = [one for one in drawn if one.form == kind]
    assert len(chosen) > 20
    for one in chosen:
        assert all(map(said, json.loads(one.answer).values()))


def test_no_text_but_of_the_hard_split_has_foreign_pieces():
    for split, share in (("train", 0.0), ("heldout", 0.0), ("hard", 0.1)):
        texts = [example(split, index).prompt for index in range(1500)]
        found = sum(any(name in text for name in FOREIGN if len(name) > 3) for text in texts) / len(texts)
        assert (found > share) == (split == "hard"), (split, found)
