"""A schema without values says which of its keywords contradict each other, and where."""

import json
import random
import re
from typing import Any

import pytest

import grammarlm as gl
from tests.corpus_files import tables
from tests.oracles.keyword_schemas import VALUES, document
from tests.texts import BYTES


@pytest.mark.parametrize(("schema", "pointer", "said"), tables("json_schema")["contradictions"]["named"])
@pytest.mark.parametrize("options", [{}, {"registry": {}}, {"draft": "declared"}, {"strict": False}], ids=str)
def test_what_contradicts_is_named(schema: str, pointer: str, said: str, options: dict[str, Any]) -> None:
    with pytest.raises(gl.UnsatisfiableGrammar) as refused:
        gl.compile(gl.JsonSchema(json.loads(schema), **options), BYTES)
    assert said in str(refused.value)
    assert refused.value.pointer == pointer
    assert len(str(refused.value)) <= 500


def is_satisfiable(schema: Any) -> bool:
    try:
        gl.compile(gl.JsonSchema(document(schema)), BYTES)
    except gl.UnsatisfiableGrammar:
        return False
    return True


def test_the_keywords_that_are_named_contradict_each_other_and_no_fewer_do() -> None:
    rng, checked = random.Random(3), 0
    words = [
        word
        for word in VALUES
        if not re.match(r"\$|if|then|else|unevaluated|.*[iI]tems$|.*Contains|contains|.*ropert", word)
    ]
    while checked < 40:
        schema = {word: rng.choice(VALUES[word]) for word in rng.sample(words, 4)}
        schema["type"] = rng.choice(["object", "string", "integer"])
        try:
            gl.compile(gl.JsonSchema(document(schema)), BYTES)
            continue
        except gl.UnsupportedFeature:
            continue
        except gl.UnsatisfiableGrammar as error:
            said = str(error)
        if "allOf" in schema or "required" in schema:
            continue  # named by their parts
        named = [word for word in schema if f'"{word}": ' in said.partition(" at # ")[2]]
        assert named, (schema, said)
        assert not is_satisfiable({word: schema[word] for word in named}), (schema, said)
        for left_out in named:
            assert is_satisfiable({word: schema[word] for word in named if word != left_out}), (schema, left_out, said)
        checked += 1


def test_a_large_schema_without_values_is_not_taken_apart() -> None:
    schema = {"allOf": [{"enum": [f"k{i}", f"k{i + 1}"]} for i in range(200)]}
    with pytest.raises(gl.UnsatisfiableGrammar, match="its keywords contradict each other"):
        gl.compile(gl.JsonSchema(schema), BYTES)


def test_a_message_can_be_printed_whatever_the_schema_holds() -> None:
    """Half of a surrogate pair stood in it as it is, and print() raised in place of the program's own error."""
    with pytest.raises(gl.UnsatisfiableGrammar, match=r'nothing admits "const": "\\ud800"') as found:
        gl.compile(gl.JsonSchema({"const": "\ud800"}), BYTES)
    assert str(found.value).encode()
