"""Surveys on disk: a second constraint goes on where the first one stopped, and no file makes a mask crash."""

import contextlib
import gc
import io
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.array_files import _sum_of
from grammarlm.grammars.lark import lalr
from grammarlm.grammars.lark.lalr_states import States, construct
from grammarlm.kernels import entries
from grammarlm.kernels.cpu.jit import kernel_folder
from grammarlm.layout.stack import ACCEPT, CALL, ENTER, EXIT, EXPANDED, FULL, Field
from grammarlm.masks.machines.stack import program as stack_program
from grammarlm.masks.machines.stack import survey_keeper
from grammarlm.models.tiny import FOLDER
from tests.internals import current_epoch, forget_survey_file, is_resolved, supplier, survey_file, surveys_read
from tests.mask_bits import ids_of

GRAMMARS = {
    "json": gl.Lark.library("json"),
    "arithmetic": gl.Lark.library("arithmetic"),
    "sqlite": gl.Lark.library("sqlite"),
    "keywords": gl.Lark(
        'start: (statement ";")*\nstatement: "let" NAME "=" expr | "if" expr "then" statement\n'
        'expr: expr "+" NAME | NAME\nNAME: /[a-z]+/\n%ignore " "\n'
    ),
    "look-around": gl.Lark('start: (A | B)+\nA: /a(?=b|;)/\nB: /b(?<=b)b*;/ | /b(?!b)/ | ";"\n'),
}


@pytest.fixture(autouse=True)
def a_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path))
    monkeypatch.setattr(survey_keeper, "LARGE_TRIE", 0)
    monkeypatch.setattr(survey_keeper, "WORTH_SAVING", 1)
    return tmp_path


def keep(constraint) -> Path:
    epoch = current_epoch(constraint)
    epoch.save_surveys()
    return survey_file(epoch)


def walk(constraint, seed: int, steps: int = 60) -> tuple[list[bytes], list[int]]:
    """The masks of a random walk, and its tokens."""
    draw, mask = random.Random(seed), gl.allocate_mask(1, constraint.vocab.size)
    matcher = constraint.matcher()
    rows, tokens = [], []
    for _ in range(steps):
        matcher.fill_mask(mask)
        rows.append(mask.tobytes())
        allowed = ids_of(mask)
        token = draw.choice(allowed)
        assert matcher.advance(token)
        tokens.append(token)
        if matcher.is_finished:
            break
    return rows, tokens


def before_and_after(name: str, vocab):
    """The epoch of a constraint whose surveys were kept, and that of one that has read them."""
    first = gl.compile(GRAMMARS[name], vocab)
    for seed in range(4):
        walk(first, seed)
    keep(first)
    return current_epoch(first), current_epoch(gl.compile(GRAMMARS[name], vocab))


@pytest.fixture(scope="module")
def vocab():
    return gl.Vocabulary.from_tokenizer(FOLDER)


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_after_a_file_are_those_without_one(name, vocab, a_cache):
    first = gl.compile(GRAMMARS[name], vocab)
    known = [walk(first, seed) for seed in range(4)]
    assert keep(first).exists()
    again = gl.compile(GRAMMARS[name], vocab)
    assert surveys_read(current_epoch(again)) > 0
    assert [walk(again, seed) for seed in range(4)] == known
    assert not is_resolved(current_epoch(again)) or name == "look-around"
    fresh = [walk(first, seed) for seed in range(100, 104)]  # texts that the file knows nothing of
    assert [walk(again, seed) for seed in range(100, 104)] == fresh
    keep(again)
    assert [walk(gl.compile(GRAMMARS[name], vocab), seed) for seed in range(100, 104)] == fresh


def test_what_numbers_stand_for_is_found_again(vocab):
    old, new = before_and_after("sqlite", vocab)
    assert not is_resolved(new)
    assert len(new.numbers.objects) == len(old.numbers.objects) > 20
    for ours, theirs in zip(new.numbers.objects[3:], old.numbers.objects[3:], strict=True):
        assert type(ours) is type(theirs)
        assert getattr(ours, "terminals", None) == getattr(theirs, "terminals", None)
    assert [content(term) for term in new.numbers.border_terms] == [content(term) for term in old.numbers.border_terms]


@pytest.mark.usefixtures("only_new_objects")
def test_what_nobody_uses_any_more_is_written_at_the_next_compile(vocab, a_cache):
    """Not where Python collects it, which may be in the middle of anything."""
    first = gl.compile(GRAMMARS["keywords"], vocab)
    walk(first, 0)
    path = survey_file(current_epoch(first))
    del first
    gc.collect()
    assert not path.exists()
    gl.compile(GRAMMARS["json"], vocab)
    assert path.exists()


def test_states_that_are_missing_when_an_array_is_full(vocab):
    """A walk notes what is missing and then meets a full array: both are made, of a file that was only read so far."""
    _, epoch = before_and_after("sqlite", vocab)
    assert not is_resolved(epoch)
    known = epoch.numbers._objects
    number = len(known) - 1
    assert known[number] is None
    epoch.arena.array(Field.Q_STATUS)[number] &= 255 - EXPANDED
    epoch.arena.array(Field.NEEDED)[0], epoch.arena.words[Field.NEEDED_COUNT] = number, 1
    supplier()(epoch.maker, -(1 << 3 | FULL))
    assert epoch.arena.array(Field.Q_STATUS)[number] & EXPANDED
    assert is_resolved(epoch)


@pytest.mark.parametrize("most_terms", [stack_program.MOST_TERMS, 0])
@pytest.mark.parametrize("name", ["sqlite", "c"])
def test_an_epoch_begun_anew_finds_what_the_file_of_the_one_before_stands_for(name, most_terms, vocab, monkeypatch):
    """Terms that the lexer holds and terms made anew would not be the same; where they are dropped, no file is read any more."""
    grammar = gl.Lark.library(name)
    monkeypatch.setattr(stack_program, "MOST_TERMS", most_terms)
    constraint = gl.compile(grammar, vocab)
    for seed in range(30):
        walk(constraint, seed)
    keep(constraint)
    current_epoch(constraint).is_full = True
    fresh = [walk(constraint, seed) for seed in range(100, 120)]
    renewed = current_epoch(constraint)
    assert (survey_file(renewed) is None) == (most_terms == 0)
    assert len(renewed.numbers.objects) > 3  # which looks for them
    shutil.rmtree(os.environ["GRAMMARLM_CACHE"])
    alone = gl.compile(grammar, vocab)
    assert [walk(alone, seed) for seed in range(100, 120)] == fresh


def content(term) -> tuple:
    return term.kind, repr(term.data), term.nullable, tuple(content(part) for part in term.parts)


def test_another_grammar_or_vocabulary_is_another_file(vocab):
    paths = {
        survey_file(current_epoch(gl.compile(grammar, words)))
        for grammar in GRAMMARS.values()
        for words in (vocab, gl.Vocabulary([bytes([i]) for i in range(256)] + [b"<end>"], stop_ids=[256]))
    }
    assert len(paths) == 2 * len(GRAMMARS)


def test_tight_limits_take_no_file(vocab):
    first = gl.compile(GRAMMARS["sqlite"], vocab)
    for seed in range(6):
        walk(first, seed)
    assert keep(first).exists()
    fewer = len(current_epoch(first).numbers.objects) - 1
    tight = gl.compile(GRAMMARS["sqlite"], vocab, limits=gl.Limits(max_states=fewer))
    assert surveys_read(current_epoch(tight)) == 0


def opened(whole: bytes) -> tuple[dict, np.ndarray]:
    """Where which array lies, and the arrays."""
    line, rest = whole.split(b"\n", 1)
    return json.loads(line)[0], np.frombuffer(rest, np.uint8).copy()


def sealed(name: str, header: dict, data: np.ndarray) -> bytes:
    known = entries.row_key(data.ctypes.data, len(data) // 4)
    line = json.dumps([header, _sum_of(name, header, known), known]).encode()
    return line + b" " * (-len(line) % 8 + 7) + b"\n" + data.tobytes()


def damaged(path: Path, draw: random.Random) -> bytes:
    """The file with a few numbers changed and the right checksum."""
    header, data = opened(path.read_bytes())
    for _ in range(draw.randint(1, 4)):
        kind, shape, begin = header[draw.choice([name for name, where in header.items() if np.prod(where[1])])]
        values = data[begin : begin + int(np.prod(shape)) * np.dtype(kind).itemsize].view(kind)
        at = draw.randrange(len(values))
        values[at] = draw.choice([values[at] ^ (1 << draw.randrange(8)), values[draw.randrange(len(values))], 0])
    return sealed(path.name, header, data)


def read_damaged(vocab, name: str, count: int) -> int:
    """How many of the damaged files were taken for sound; masks must come or be refused, nothing else."""
    first = gl.compile(GRAMMARS[name], vocab)
    walk(first, 0)
    path = keep(first)
    whole, taken = path.read_bytes(), 0
    for seed in range(count):
        draw = random.Random(seed)
        path.write_bytes(whole)
        path.write_bytes(damaged(path, draw))
        again = gl.compile(GRAMMARS[name], vocab, limits=gl.Limits(max_ms=2000))
        forget_survey_file(current_epoch(again))
        taken += surveys_read(current_epoch(again)) > 0
        try:
            matcher, mask = again.matcher(), gl.allocate_mask(1, vocab.size)
            for token in walk_tokens(first):
                matcher.fill_mask(mask)
                if not matcher.advance(token):
                    break
        except gl.LimitExceeded:
            pass
    return taken


def walk_tokens(constraint) -> list[int]:
    return walk(constraint, 0, 30)[1]


@pytest.mark.parametrize("name", ["json", "keywords"])
def test_damaged_numbers(vocab, name):
    assert 0 < read_damaged(vocab, name, 60) < 60


@pytest.mark.proof
@pytest.mark.parametrize("name", list(GRAMMARS))
def test_many_damaged_numbers(vocab, name, record_property):
    record_property("cases", 400)
    record_property("taken for sound", read_damaged(vocab, name, 400))


@pytest.mark.parametrize(("move", "operand", "wrong"), [(ENTER, 1, None), (CALL, 2, ACCEPT), (CALL, 2, EXIT)])
def test_a_move_that_leads_astray(move, operand, wrong, vocab):
    """A parser that begins in the middle reduces below its stack; after a pseudo-state nothing is left to return to."""
    first = gl.compile(GRAMMARS["json"], vocab)
    walk(first, 0)
    path = keep(first)
    whole = path.read_bytes()
    header, data = opened(whole)
    kind, shape, begin = header["MOVES"]
    moves = data[begin : begin + int(np.prod(shape)) * np.dtype(kind).itemsize].view(kind).reshape(shape)
    place = int(np.flatnonzero(moves[:, 0] == move)[0])
    right = int(moves[place, operand])
    states = len(current_epoch(first).program.lr.action) if wrong is None else 0
    for value in [wrong] if wrong is not None else [state for state in range(states) if state != right]:
        moves[place, operand] = value
        path.write_bytes(sealed(path.name, header, data))
        assert surveys_read(current_epoch(gl.compile(GRAMMARS["json"], vocab))) == 0, value
    path.write_bytes(whole)
    assert surveys_read(current_epoch(gl.compile(GRAMMARS["json"], vocab))) > 0


def renumbered(*arguments):
    """The states of an LALR parser with other numbers; the start keeps its own."""
    states = construct(*arguments)
    count = len(states.kernels)
    order = [0, *range(count - 1, 0, -1)]  # its own inverse
    moved = [{symbol: order[target] for symbol, target in states.transitions[old].items()} for old in order]
    return States([states.kernels[old] for old in order], moved, [states.lookaheads[old] for old in order])


@pytest.mark.parametrize("name", GRAMMARS)
def test_surveys_of_tables_with_other_numbers_are_not_taken(name, vocab, a_cache, monkeypatch):
    """Two processes make a grammar's tables at once: one's entry is there afterwards, and the other one's surveys."""
    first = gl.compile(GRAMMARS[name], vocab)
    known = [walk(first, seed) for seed in range(4)]
    surveys = keep(first)
    shutil.rmtree(a_cache / "lark")
    monkeypatch.setattr(lalr, "construct", renumbered)
    other = gl.compile(GRAMMARS[name], vocab)
    tables = current_epoch(first).program.lr.action, current_epoch(other).program.lr.action
    assert not np.array_equal(*tables)
    assert survey_file(current_epoch(other)) != surveys
    assert [walk(other, seed) for seed in range(4)] == known


NUMBERS = """
import hashlib
import grammarlm as gl
from grammarlm.masks.machines.stack import survey_store
vocab = gl.Vocabulary([bytes([byte]) for byte in range(256)] + [b""], stop_ids=[256])
for name in ("json", "sqlite"):
    constraint = gl.compile(gl.Lark.library(name), vocab)
    lr = constraint._automaton.epoch.program.lr
    print(name, survey_store._numbering(lr).hex(), hashlib.sha256(repr((lr.items, lr.expansions, lr.names)).encode()).hexdigest())
"""


def test_tables_are_the_same_in_every_process(tmp_path):
    """Whatever strings hash to: lark's own numbers depend on that. A child makes the tables anew, and so does this process."""
    (tmp_path / "child").mkdir()
    (tmp_path / "child" / "numba").symlink_to(kernel_folder().parent)
    other_seed = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    other = os.environ | {"GRAMMARLM_CACHE": str(tmp_path / "child"), "PYTHONHASHSEED": other_seed}
    child = subprocess.run([sys.executable, "-c", NUMBERS], capture_output=True, check=True, env=other, text=True)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(NUMBERS, "<here>", "exec"), {})
    assert child.stdout == printed.getvalue()
    assert child.stdout.count("\n") == 2


def test_a_file_that_is_cut_or_flipped_is_none(vocab):
    first = gl.compile(GRAMMARS["json"], vocab)
    walk(first, 0)
    path = keep(first)
    whole, draw = path.read_bytes(), random.Random(1)
    for _ in range(60):
        broken = bytearray(whole[: draw.randrange(len(whole))] if draw.random() < 0.5 else whole)
        if len(broken) == len(whole):
            broken[draw.randrange(broken.index(b"\n") + 1, len(broken))] ^= 1 << draw.randrange(8)
        path.write_bytes(broken)
        assert surveys_read(current_epoch(gl.compile(GRAMMARS["json"], vocab))) == 0
    path.write_bytes(whole)
    assert surveys_read(current_epoch(gl.compile(GRAMMARS["json"], vocab))) > 0


def test_numbers_that_stand_for_other_states_are_noticed(vocab):
    """Rows from the disk say what their states do; states found for the numbers that do something else would make wrong masks."""
    _, epoch = before_and_after("sqlite", vocab)
    pairs = [
        (one, two)
        for one, (kind, of, which) in enumerate(epoch.numbers.origins[:-1])
        for two in (one + 1,)
        if kind == 0 and epoch.numbers.origins[two][:2] == (kind, of) and epoch.numbers.origins[two][2] != which
    ]
    one, two = pairs[len(pairs) // 2]
    epoch.numbers.origins[one], epoch.numbers.origins[two] = epoch.numbers.origins[two], epoch.numbers.origins[one]
    with pytest.raises(gl.LimitExceeded, match="begin the text again"):
        len(epoch.numbers.objects)
    assert not survey_file(epoch).exists()
