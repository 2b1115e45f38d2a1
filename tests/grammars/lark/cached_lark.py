"""Lark grammars that are kept on disk, and what is compared when they are read again."""

import hashlib
import random

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.lark.parser import LarkParser
from tests.internals import program_of
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


def parser_of(constraint: gl.Constraint) -> LarkParser:
    return program_of(constraint).parsers[0]


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
