"""Eight threads on one constraint with a stack and little memory see the masks that each sees alone, with memory enough.

Where memory is little a generation of states is full again and again: it is replaced while others hold states of it, fork, go back
into it and ask for its rows. Rows of a real vocabulary fill 4 MB; for a small one the limit is made as small as the grammar bears.
"""

import contextlib
import os
import threading
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.layout.stack import Place
from grammarlm.masks.machines.stack import arena
from tests.counts import record_counts
from tests.internals import current_epoch, epoch_of, grow
from tests.laws.vocabularies import every_byte
from tests.masks.machines.stack.stack_examples import COMPILED
from tests.masks.machines.stack.stack_in_threads import GRAMMARS, LITTLE, check, in_a_child
from tests.real_data import needs_data


@pytest.mark.parametrize("grammar", ["c-like", "nested", "not LALR", "json gbnf", "no two b in a row", "json"])
def test_eight_threads_with_4_mb(grammar: str) -> None:
    check(grammar, COMPILED["hostile"], 30, LITTLE)


@pytest.mark.parametrize("grammar", ["nested", "no two b in a row"])
def test_eight_threads_with_little_memory(grammar: str) -> None:
    assert in_a_child(grammar, "merged", 30, None)["generations that a thread met"] > 1


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
    """Of Python a single mask may need 6 MB, in one thread as well."""
    outcomes = in_a_child(grammar, "llama3_1", 150, 2 * LITTLE if grammar == "python" else LITTLE)
    assert outcomes["generations that a thread met"] > 1 or grammar == "json"
    record_counts(record_property, outcomes)


# Arrays of one length, as many rows as kernels believe them to have, and the hash table that finds these rows.
OF_ONE_LENGTH = {
    "S_CAPACITY": (["S_PARENT", "S_SYMBOL", "S_CLASS"], ["S_HASH"]),
    "K_CAPACITY": (["K_LEXER", "K_LIVE"], []),
    "C_CAPACITY": (["C_OFFSET", "C_LENGTH", "C_ACCEPTS", "C_ROW", "C_KIND"], ["C_HASH"]),
    "X_NODE_CAPACITY": (["X_BYTE", "X_DEPTH", "X_END", "X_FIRST", "X_COUNT"], []),
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
                grow(epoch, *(Place[name] for name in arrays + hashes))
        assert epoch.is_full
        short |= {name for name in arrays if len(epoch.array(Place[name])) < epoch.arena[Place[capacity]]}
    assert not short


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_in_the_midst_of_a_survey() -> None:
    """The thread that writes it is not there in the child: masks are made in a new epoch."""
    vocab = every_byte().vocabulary()
    constraint = gl.compile(GRAMMARS["json"](), vocab)
    epoch = current_epoch(constraint)
    mask = gl.allocate_mask(1, vocab.size)
    epoch.arena[Place.TURN] = 1
    child = os.fork()
    if not child:
        try:
            constraint.matcher().fill_mask(mask)
            right = bool(mask[0, ord("{") >> 5] >> (ord("{") & 31) & 1) and current_epoch(constraint) is not epoch
            os._exit(0 if right else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    epoch.arena[Place.TURN] = 0
    constraint.matcher().fill_mask(mask)
    assert current_epoch(constraint) is epoch


def test_who_waits_for_a_turn_gets_it() -> None:
    vocab = every_byte().vocabulary()
    constraint = gl.compile(GRAMMARS["json"](), vocab)
    mask, expected = gl.allocate_mask(1, vocab.size), gl.allocate_mask(1, vocab.size)
    gl.compile(GRAMMARS["json"](), vocab).matcher().fill_mask(expected)
    words = current_epoch(constraint).arena
    matcher = constraint.matcher()
    words[Place.TURN] = 1
    timer = threading.Timer(0.2, lambda: words.__setitem__(Place.TURN, 0))
    timer.start()
    matcher.fill_mask(mask)
    assert not timer.is_alive() or timer.finished.is_set()
    assert np.array_equal(mask, expected)


def test_a_turn_that_never_comes_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena, "LONGEST_TURN", 0.2)
    vocab = every_byte().vocabulary()
    constraint = gl.compile(GRAMMARS["json"](), vocab, limits=gl.Limits(max_ms=300))
    mask = gl.allocate_mask(1, vocab.size)
    matcher = constraint.matcher()
    current_epoch(constraint).arena[Place.TURN] = 1
    with pytest.raises(gl.LimitExceeded, match="another thread"):
        matcher.fill_mask(mask)
    with pytest.raises(gl.LimitExceeded, match="max_ms"):
        matcher.advance_bytes(b"{")
