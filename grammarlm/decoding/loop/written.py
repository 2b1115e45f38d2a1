"""forced="write": what must come next, in the tokens of the tokenizer.

Where all texts that are left begin with the same bytes, these are written: the longest such text, cut into tokens as the
tokenizer cuts it by itself. These tokens alone are left of the mask, one after the other, so that they are forced (row.py) and
have no forward of their own. The token before is left as it was drawn, also where the tokenizer would have joined both.

The law: a drawn token follows softmax(masked logits), given all tokens before it, and a written one has probability 1. Under
"score" it is drawn like any other, so that the model's mass is spread over all spellings of the forced text, and what follows
depends on which was drawn. Where each forced text has one spelling, both laws are one, and equal seeds give equal answers.
"""

from __future__ import annotations

import numpy as np

from grammarlm.errors import TokenizerError
from grammarlm.masks.filters import greedy
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.token_facts import allowed_bytes, token_facts
from grammarlm.vocab.vocabulary import Vocabulary

MOST_BYTES = 4096  # written at once; what is forced after them is written next
MOST_BEFORE = 3  # tokens of a line's end, and of what a tokenizer puts before a text


def tokens(vocab: Vocabulary, matcher: Matcher, mask: np.ndarray) -> list[int]:
    """What is written here; empty where nothing is forced. `mask`: the matcher's row."""
    if allowed_bytes(mask, token_facts(vocab).byte_tokens).sum() > 1:  # a fast check; the answer is mostly no
        return []
    forced = matcher.forced_bytes(MOST_BYTES)
    text = forced.decode(errors="ignore")  # whole characters, at whose end another one may have begun
    return spelled(vocab, text) if text and forced.startswith(text.encode()) else []


def spelled(vocab: Vocabulary, text: str) -> list[int]:
    """The tokenizer's own tokens of a text. Some tokenizers begin every text with a blank: there, those after a line's end. Where
    these are not its bytes, or a vocabulary has no tokenizer, the longest ones."""
    data, text_ids = text.encode(), token_facts(vocab).is_text
    for before in ("", "\n"):
        try:
            ids = vocab.encode(before + text)
        except TokenizerError:
            break
        pieces = [vocab.token_bytes(i) if i < len(text_ids) and text_ids[i] else None for i in ids]
        for at in range(min(len(ids), MOST_BEFORE + 1)):
            if None not in pieces[at:] and b"".join(pieces[at:]) == data:  # type: ignore[arg-type]
                return ids[at:]
    return greedy.cut(vocab, data) or []
