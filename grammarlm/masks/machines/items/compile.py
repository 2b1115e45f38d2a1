"""compile() for sets of items (gl.Tokens) and lists of them (gl.TokenList).

An item is its tokens, whatever they are: text that a model may also write otherwise, or special ids such as <item_17>,
which no text spells. Two kinds of ids are refused by name: a stop id, which would end the text in the middle of an
item, and an id that has no token.
"""

from __future__ import annotations

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.items.token_list import TokenList
from grammarlm.grammars.items.tokens import Tokens
from grammarlm.masks.automaton import Automaton
from grammarlm.masks.report import Report
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

from .epoch import ItemsEpoch
from .program import ItemsProgram


def items_automaton(
    grammar: Tokens | TokenList, vocab: Vocabulary, limits: Limits, canonical_only: bool
) -> tuple[Automaton, Report]:
    if canonical_only:
        raise UnsupportedFeature(
            f"canonical_only=True with {grammar!r:.80}: an item is the very tokens that were given, which the tokenizer may cut "
            "otherwise; leave canonical_only out"
        )
    program = ItemsProgram(grammar, vocab, limits)
    return Automaton(program, ItemsEpoch), Report(repr(grammar)[:200], limits, 256, True)
