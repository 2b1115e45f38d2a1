"""A tokenizer.json, read without the `tokenizers` library (which takes several times as long to load one).

The library does not take the ids of added tokens from the file: a token that the model has gets the model's id,
the others get the next ids from the end on. Where that disagrees with the file, the file's model and the library's
tokenizer are two different things, and the file is refused.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from grammarlm.errors import TokenizerError

from .components import Components

MODELS = ("BPE", "WordPiece", "WordLevel", "Unigram")
OPTIONS = ("byte_fallback", "continuing_subword_prefix", "end_of_word_suffix")


def parse_object(data: bytes, name: str) -> dict[str, Any]:
    """A JSON object; `name` is its file's, for errors."""
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"{name} is not JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise TokenizerError(f"{name} is a JSON {type(parsed).__name__}, not an object")
    return parsed


class TokenizerFile:
    """A parsed tokenizer.json, to which the other files of its folder may add tokens and flags."""

    def __init__(self, parsed: dict[str, Any], name: str):
        model = parsed.get("model")
        kind = model.get("type", "BPE") if isinstance(model, dict) else None
        if not isinstance(model, dict) or kind not in MODELS:
            raise TokenizerError(f"{name} has a model of the type {str(kind)[:80]!r}; accepted: {', '.join(MODELS)}")
        self.name = name
        self.special: set[int] = set()
        self._parsed, self._model = parsed, model
        self._tokens, self._ids = _vocabulary(model.get("vocab"), name)
        self._id_of = dict(zip(self._tokens, self._ids, strict=True))
        self._added: dict[int, str] = {}
        self._added_id: dict[str, int] = {}
        self._highest_added = -1
        added = parsed.get("added_tokens")
        self.add(added if isinstance(added, list) else ())

    def id_of(self, content: str) -> int | None:
        return self._added_id.get(content, self._id_of.get(content))

    def add(self, entries: Iterable[Any]) -> None:
        """Adds tokens, {"id": 5, "content": "<x>", "special": true}, in the order in which the library adds them."""
        for entry in entries:
            try:
                claimed, content, special = entry["id"], entry["content"], entry.get("special", False)
            except (TypeError, KeyError, AttributeError):
                claimed = content = special = None
            if not isinstance(content, str) or type(claimed) is not int:
                raise TokenizerError(f"{self.name} has the added token {str(entry)[:80]}: it needs an id and a content")
            if content:  # the library skips an empty one
                self._add(claimed, content)
                (self.special.add if special else self.special.discard)(claimed)

    def _add(self, claimed: int, content: str) -> None:
        actual = self.id_of(content)
        if actual is None:
            actual = max(len(self._id_of), 1 + self._highest_added)
        if actual != claimed:
            raise TokenizerError(
                f"{self.name} gives the added token {content[:80]!r} the id {claimed}, the tokenizers library "
                "loads it as "
                f"{actual}: what the id means is not known. Load the tokenizer and pass the object instead"
            )
        self._highest_added = max(self._highest_added, actual)
        self._added[actual] = content
        self._added_id[content] = actual

    def components(self) -> Components:
        return Components(
            self._tokens,
            self._ids,
            self._added,
            self.special,
            decoder=self._parsed.get("decoder"),
            pre_tokenizer=self._parsed.get("pre_tokenizer"),
            normalizer=self._parsed.get("normalizer"),
            model={option: self._model.get(option) for option in OPTIONS},
        )


def _vocabulary(vocab: Any, name: str) -> tuple[Sequence[str], Sequence[int]]:
    """Tokens and ids of a {token: id} object, or of Unigram's list of [token, score]."""
    if isinstance(vocab, dict) and all(type(i) is int for i in vocab.values()):
        return list(vocab), list(vocab.values())
    if isinstance(vocab, list) and all(isinstance(pair, list) and pair and isinstance(pair[0], str) for pair in vocab):
        return [pair[0] for pair in vocab], range(len(vocab))
    raise TokenizerError(
        f"{name} has no vocabulary: model.vocab is {{token: id}}, or a list of [token, score] in Unigram"
    )
