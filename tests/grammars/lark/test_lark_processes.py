"""Masks of Lark grammars are the same in every process, whatever the hashes of its strings, and need no lark."""

import hashlib
import os
import random
import subprocess
import sys

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from tests.laws.vocabularies import every_byte
from tests.mask_bits import ids_of

VOCAB = every_byte().vocabulary()

LALR = """
start: (assign | call)*
assign: NAME "=" value ";"
call: "print" value ";"
value: NAME | NUMBER | STRING | "(" value ")"
NAME: /[^\\W\\d]\\w*/
NUMBER: /-?[0-9]+(\\.[0-9]+)?(?![0-9a-z])/i
STRING: /"[^"\\n]*?"/
COMMENT: /#[^\\n]*/
%ignore /[ \\t\\n]+/
%ignore COMMENT
"""
NOT_LALR = 'start: a | b\na: X X "!"\nb: X Y "?"\nX: /[a-c]+/\nY: /[b-d]+/\n%ignore " "'
BLOCKS = """
start: (line | _NEWLINE)*
line: NAME ":" _NEWLINE _INDENT line+ _DEDENT | NAME _NEWLINE
NAME: /[a-z]+/
_NEWLINE: /(\\r?\\n[\\t ]*)+/
%declare _INDENT _DEDENT
%ignore / +/
"""
GRAMMARS: dict[str, Grammar] = {
    "tables": gl.Lark(LALR),
    "rules": gl.Lark(NOT_LALR),
    "blocks": gl.Lark(BLOCKS, indent=gl.Indent()),
    "tables in a sequence": gl.Regex("[0-9]+:") + gl.Lark(LALR),
    "rules in a sequence": gl.Lark(NOT_LALR) + gl.Regex("\\.[x-z]*"),
}


def masks_of(constraint: gl.Constraint, seed: int = 0, steps: int = 60) -> str:
    """A digest of the masks along random texts: equal iff they are."""
    rng, digest, mask = random.Random(seed), hashlib.sha256(), gl.allocate_mask(1, constraint.vocab.size)
    for _ in range(4):
        matcher = constraint.matcher()
        for _ in range(steps):
            matcher.fill_mask(mask)
            digest.update(mask.tobytes())
            allowed = ids_of(mask)
            if not matcher.advance(rng.choice(allowed)) or matcher.is_finished:
                break
    return digest.hexdigest()


CHILD = """
import sys
import grammarlm as gl
from tests.grammars.lark.test_lark_processes import GRAMMARS, VOCAB, masks_of
for grammar in GRAMMARS.values():
    print(masks_of(gl.compile(grammar, VOCAB)))
print("lark" in sys.modules)
"""


@pytest.mark.parametrize("seed", ["0", "1"])
def test_another_process_makes_the_same_without_lark(seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, "-c", CHILD], env=environment, capture_output=True, text=True, check=True)
    expected = [masks_of(gl.compile(grammar, VOCAB)) for grammar in GRAMMARS.values()]
    assert done.stdout.splitlines() == [*expected, "False"]
