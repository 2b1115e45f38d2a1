"""Eight threads on one constraint with a stack and little memory see the masks that each sees alone, with memory enough.

Where memory is little a generation of states is full again and again: it is replaced while others hold states of it, fork, go back
into it and ask for its rows. Rows of a real vocabulary fill 4 MB; for a small one the limit is made as small as the grammar bears.
"""

import contextlib
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.layout.stack import Field
from tests.counts import record_counts
from tests.internals import epoch_of, grow
from tests.masks.machines.stack.stack_examples import COMPILED
from tests.masks.machines.stack.stack_in_threads import GRAMMARS, LITTLE, check, in_a_child
from tests.real_data import needs_data


@pytest.mark.parametrize("grammar", ["c-like", "nested", "not LALR", "json gbnf", "no two b in a row", "json"])
def test_eight_threads_with_4_mb(grammar: str) -> None:
    check(grammar, COMPILED["hostile"], 30, LITTLE)


@pytest.mark.parametrize("grammar", ["nested", "no two b in a row"])
def test_eight_threads_with_little_memory(grammar: str) -> None:
    assert in_a_child(grammar, "merged", 100, None)["generations that a thread met"] > 1


@pytest.mark.proof
@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_eight_threads_with_4_mb_for_long(grammar: str, name: str, record_property: Any) -> None:
    record_counts(record_property, check(grammar, COMPILED[name], 400, LITTLE))


@pytest.mark.proof
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_eight_threads_with_as_little_memory_as_the_grammar_bears(grammar: str, record_property: Any) -> None:
    record_counts(record_property, in_a_child(grammar, "hostile", 400, None))


@needs_data
@pytest.mark.proof
@pytest.mark.parametrize("grammar", ["json", "sqlite", "c", "go", "python"])
def test_eight_threads_with_4_mb_and_a_real_tokenizer(grammar: str, record_property: Any) -> None:
    """Of Python a single mask may need 6 MB, of Go 5, in one thread as well."""
    more = {"python": LITTLE, "go": LITTLE // 4}
    outcomes = in_a_child(grammar, "llama3_1", 600, LITTLE + more.get(grammar, 0))
    assert outcomes["generations that a thread met"] > 1 or grammar == "json"
    record_counts(record_property, outcomes)


# Arrays of one length, as many rows as kernels believe them to have, and the hash table that finds these rows.
OF_ONE_LENGTH = {
    "S_CAPACITY": (["S_PARENT", "S_SYMBOL", "S_CLASS"], ["S_HASH"]),
    "K_CAPACITY": (["K_LEXER", "K_LIVE"], []),
    "C_CAPACITY": (["C_OFFSET", "C_LENGTH", "C_ACCEPTS", "C_ROW", "C_KIND"], ["C_HASH"]),
    "X_NODE_CAPACITY": (["X_BYTE", "X_DEPTH", "X_END", "X_FIRST"], []),
    "ANSWER_COUNT": (["ANSWERS"], ["ANSWER_HASH"]),
    "SURVEY_CAPACITY": (["SURVEY", "SURVEY_KEY"], ["SURVEY_HASH"]),
}


@pytest.mark.parametrize("capacity", OF_ONE_LENGTH)
def test_a_full_generation_may_still_be_written_to(capacity: str) -> None:
    """Others stand in it and read on, so no kernel may believe an array to be longer than it is."""
    arrays, hashes = OF_ONE_LENGTH[capacity]
    vocab, short = COMPILED["hostile"], set[str]()
    for limit in range(500_000, 4_000_000, 100_000):
        epoch = epoch_of(gl.compile(gl.Lark.library("json"), vocab, limits=gl.Limits(max_bytes=limit)).matcher())
        with contextlib.suppress(gl.LimitExceeded):
            while True:
                grow(epoch, *(Field[name] for name in arrays + hashes))
        assert epoch.is_full
        short |= {name for name in arrays if len(epoch.arena.array(Field[name])) < epoch.arena.words[Field[capacity]]}
    assert not short
