"""A document and a vocabulary: what all quotes have in common."""

from __future__ import annotations

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.substring import FIRST, Piece
from grammarlm.masks.protocol import ProgramDefaults
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.masks.runtime.shared_lock import PROGRAM, shared_lock
from grammarlm.masks.token_facts import token_facts
from grammarlm.vocab.vocabulary import Vocabulary

from .suffixes import Suffixes


class SubstringProgram(ProgramDefaults):
    """Each byte of the document is a token, so that tokens can complete every piece. All that kernels read is in `arena`."""

    tokens_spell_all = True

    def __init__(self, suffixes: Suffixes, vocab: Vocabulary, limits: Limits, clock: Clock):
        self.suffixes, self.vocab, self.limits, self.clock = suffixes, vocab, limits, clock
        self.facts = token_facts(vocab)
        self.lock = shared_lock(PROGRAM)
        self.start = suffixes.start + FIRST
        self.arena = self._arena()
        self.address = entries.address_of(self.arena)

    def _arena(self) -> np.ndarray:
        trie, vocab, facts, suffixes = self.vocab.trie, self.vocab, self.facts, self.suffixes
        arena = np.zeros(Piece.LENGTH, np.int64)
        for place, array in (
            (Piece.EDGES, suffixes.edges),
            (Piece.BYTE, suffixes.byte),
            (Piece.TARGET, suffixes.target),
            (Piece.LEFT, suffixes.left),
            (Piece.TREES, facts.trees),
            (Piece.NODE_BYTE, trie.byte),
            (Piece.DEPTH, trie.depth),
            (Piece.END, trie.end),
            (Piece.TOKEN, trie.token),
            (Piece.TWINS, trie.twins),
            (Piece.OFFSETS, vocab.offsets),
            (Piece.DATA, vocab.data),
            (Piece.IS_TEXT, facts.is_text),
        ):
            arena[place] = array.ctypes.data
        arena[Piece.NODES], arena[Piece.TWIN_COUNT] = len(trie.byte), len(trie.twins)
        arena[Piece.NOTHING], arena[Piece.DEEPEST] = vocab.words * 32, facts.deepest
        arena[Piece.VOCABULARY], arena[Piece.DATA_LENGTH] = len(facts.is_text), len(vocab.data)
        return arena
