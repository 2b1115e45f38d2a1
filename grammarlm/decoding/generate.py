"""generate(): a text from a model, held to a grammar.

    model, tokenizer = gl.load_tiny()
    out = gl.generate(model, 'Wake me at 6.\\n{"function":"', tokenizer=tokenizer, choices=["set_alarm", "set_timer"])
    out.text, out.finish_reason

At each step the tokens that could not be continued to a text of the grammar lose their logits, and one of the others is
taken. No end is forced: the text ends where the model wants it to and the grammar lets it, or where nothing can follow.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..grammars.compose import Grammar
from ..kernels.cpu.jit import load_all
from ..vocab.vocabulary import Vocabulary
from .arguments import check_integer, check_vocabulary, one_grammar, prompt_ids
from .decoding import Decoding, timed
from .model_steps import open_model
from .prepared import constraint_of, stop_ids_of, vocabulary_of
from .result import Result, Stats
from .sampling import Sampling


def generate(
    model: Any,
    prompt: Any,
    *,
    tokenizer: Any = None,
    vocab: Vocabulary | None = None,
    regex: str | bytes | None = None,
    grammar: Grammar | None = None,
    choices: Iterable[str] | None = None,
    max_tokens: int = 256,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    seed: int | None = None,
) -> Result:
    """The answer to one prompt, which regex=, grammar= or choices= describe; without any of them the model is free.

    model        a transformers causal model, or any callable from ids [B, T] to logits [B, T, V]; one call is one forward
    prompt       a text, encoded with the special tokens that the tokenizer usually adds, or a list of ids, taken as they are
    tokenizer    what encodes the prompt and says what the ids mean; its vocabulary becomes as wide as the model's logits,
                 and a text ends at every end-of-sequence id of the tokenizer or the model's configs
    vocab        a gl.Vocabulary, instead of the tokenizer's
    regex        Python's syntax; the whole answer matches
    grammar      any grammar object
    choices      texts, of which the answer is one
    max_tokens   where the answer is cut, its stop id not counted
    temperature  0: the most probable token; else a draw from softmax(masked logits / temperature), which top_k, top_p and
                 min_p thin out, in this order
    seed         equal seeds give equal answers; the number drawn for None is in out.stats.seed

    The vocabulary and the constraint are kept, so that another call with the same grammar compiles nothing.
    """
    given = one_grammar(regex, grammar, choices)
    sampling = Sampling(temperature, top_k, top_p, min_p, seed)
    return start(
        model, prompt, tokenizer=tokenizer, vocab=vocab, grammar=given, sampling=sampling, max_tokens=max_tokens
    ).result()


def start(
    model: Any,
    prompt: Any,
    *,
    tokenizer: Any = None,
    vocab: Vocabulary | None = None,
    grammar: Grammar | None = None,
    sampling: Sampling | None = None,
    max_tokens: int = 256,
) -> Decoding:
    """All that comes before the first token; iterating over what this returns decodes."""
    check_vocabulary(tokenizer, vocab)
    check_integer("max_tokens", max_tokens, 1)
    reader, stats = open_model(model), Stats()
    ids = prompt_ids(prompt, tokenizer, vocab, reader.width)
    logits, width = None, reader.width
    if vocab is None and width is None:  # only a forward tells how many logits a callable returns: the prompt's own
        with timed(stats, "model_seconds"):
            logits = reader.read(ids)
        stats.forwards, width = 1, len(logits)
    with timed(stats, "compile_seconds"):
        if vocab is None:
            assert width is not None
            vocab = vocabulary_of(tokenizer, width, stop_ids_of(model, tokenizer))
        load_all()  # those of sampling too
        constraint = None if grammar is None else constraint_of(grammar, vocab)
    return Decoding(
        reader,
        ids,
        vocab,
        constraint=constraint,
        sampling=sampling or Sampling(),
        max_tokens=max_tokens,
        stats=stats,
        logits=logits,
    )
