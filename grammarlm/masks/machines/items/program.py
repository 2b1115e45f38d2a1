"""What all texts of a set of items have in common: the index of the items, and how they are read."""

from __future__ import annotations

import numpy as np

from grammarlm.errors import GrammarError, UnsatisfiableGrammar, UnsupportedFeature
from grammarlm.grammars.items.token_list import TokenList
from grammarlm.grammars.items.tokens import Tokens
from grammarlm.masks.protocol import ProgramDefaults
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.masks.runtime.shared_lock import PROGRAM, shared_lock
from grammarlm.masks.token_facts import token_facts
from grammarlm.vocab.vocabulary import Vocabulary

from .index import ItemIndex
from .separator import Separator
from .threads import ItemList, Thread


class ItemsProgram(ProgramDefaults):
    reads_whole_tokens = True
    tokens_spell_all = True  # an item is tokens, so tokens can always complete it

    def __init__(self, grammar: Tokens | TokenList, vocab: Vocabulary, limits: Limits):
        self.vocab, self.limits = vocab, limits
        self.facts = token_facts(vocab)
        self.special = frozenset(vocab.special_ids)
        self.lock = shared_lock(PROGRAM)
        items = grammar if isinstance(grammar, Tokens) else grammar.items
        if not len(items):
            raise UnsatisfiableGrammar("Tokens([]) has no items to choose from; give at least one")
        items = items.spelled(vocab.encode)
        _check_ids(items, vocab)
        self.index = ItemIndex.build(items)
        self.clock = Clock(limits)  # begins here: sorting millions of items is not counted
        self.reader = self._reader(grammar, items.facts.longest)
        self.start: frozenset[Thread] = frozenset([self.reader.start])

    def _reader(self, grammar: Tokens | TokenList, longest: int) -> ItemList:
        if isinstance(grammar, Tokens):
            return ItemList(self.index, longest, (1, 1), False, Separator("", self.vocab, self.clock.check))
        if self.index.is_end(self.index.root):
            raise UnsupportedFeature("a TokenList of items one of which has no tokens; leave the empty item out")
        separator = Separator(grammar.separator, self.vocab, self.clock.check)
        return ItemList(self.index, longest, (grammar.fewest, grammar.most), grammar.distinct, separator)


def _check_ids(items: Tokens, vocab: Vocabulary) -> None:
    """GrammarError where an item holds an id that no text can have."""
    has_token = np.diff(vocab.offsets) > 0
    allowed = np.zeros(max(items.facts.largest_token + 2, len(has_token) + 1), bool)
    allowed[: len(has_token)] = has_token
    allowed[[i for i in vocab.stop_ids if i < len(allowed)]] = False
    allowed[-1] = True  # looked up for -1, the padding of shorter items
    row = 0
    for chunk in items.chunks():
        wrong = ~allowed[chunk]
        if wrong.any():
            at, column = (int(i) for i in np.argwhere(wrong)[0])
            raise _refused(row + at, int(chunk[at, column]), vocab)
        row += len(chunk)


def _refused(row: int, token: int, vocab: Vocabulary) -> GrammarError:
    if token in vocab.stop_ids:
        return GrammarError(
            f"item {row} holds the stop id {token} ({vocab.token_bytes(token)!r:.60}), which ends a text; leave it out: a text "
            "may end where an item does"
        )
    if token >= vocab.size:
        return GrammarError(
            f"item {row} holds the token {token}; the ids of this vocabulary are 0 to {vocab.size - 1:,}: compile with the "
            "vocabulary whose tokens the items are"
        )
    return GrammarError(
        f"item {row} holds the id {token}, which has no token in this vocabulary, so no mask can allow it; add its token to "
        "the tokenizer"
    )
