"""`grammarlm inspect SCHEMA PREFIX`: what a grammar allows after a prefix of a text, in bytes and in tokens."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .grammar_arguments import add_grammar, read_arguments

if TYPE_CHECKING:
    from grammarlm.masks.matcher import Matcher
    from grammarlm.vocab.vocabulary import Vocabulary


def add_inspect(commands: Any) -> None:
    parser = commands.add_parser(
        "inspect",
        help="show what a JSON schema allows after the beginning of a text",
        description="What may come after PREFIX: bytes, tokens, whether the text may end, and what must come.",
    )
    add_grammar(parser, "PREFIX", "the beginning of the text")
    parser.add_argument("--tokenizer", default="tiny", metavar="tiny|PATH", help="whose tokens are shown (tiny)")
    parser.add_argument("--tokens", type=int, default=40, metavar="N", help="how many tokens are listed at most (40)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    from grammarlm.masks.constraint import compile
    from grammarlm.masks.messages.explain import shown
    from grammarlm.masks.messages.unknown_words import check_unknown
    from grammarlm.vocab.byte_vocabulary import STOP, byte_vocabulary

    from .refusal import refused

    grammar, prefix, name = read_arguments(options)
    prefix = b"" if prefix is None else prefix
    vocab = load_vocabulary(options.tokenizer)
    constraint = compile(grammar, byte_vocabulary())
    check_unknown(constraint, options.unknown)
    by_bytes = constraint.matcher()
    wrong = refused(by_bytes, prefix, name, whole=False)
    if wrong is not None:
        raise ValueError(wrong)
    matcher = compile(grammar, vocab).matcher()
    if not matcher.advance_bytes(prefix):
        raise ValueError(f"{name}: no tokens of this tokenizer end a text that begins so; try another --tokenizer")
    print(f"after     {prefix.decode(errors='replace')!r:.200}")
    print(f"may end   {'yes' if by_bytes.is_accepting else 'no'}")
    print(f"bytes     {shown(set(allowed(by_bytes, byte_vocabulary())) - {STOP})}")
    must = by_bytes.forced_bytes(limit=200)
    print(f"must come {must.decode(errors='replace')!r}" if must else "must come nothing in particular")
    show_tokens(matcher, vocab, options.tokens)
    return 0


def show_tokens(matcher: Matcher, vocab: Vocabulary, most: int) -> None:
    """Lists the shortest tokens first, so that many long ones with one beginning do not hide the others."""
    from grammarlm.vocab.token_table import is_utf8

    tokens = [token for token in allowed(matcher, vocab) if token not in vocab.stop_ids]
    print(
        f"tokens    {len(tokens):,} of {len(vocab.text_ids):,} are allowed{'' if len(tokens) <= most else f'; {most} of them:'}"
    )
    spelled = sorted(((vocab.token_bytes(token), token) for token in tokens), key=lambda pair: (len(pair[0]), pair))
    for data, token in spelled[:most]:
        print(f"  {token:>7}  {data.decode()!r}" if is_utf8(data) else f"  {token:>7}  {data!r}")


def allowed(matcher: Matcher, vocab: Vocabulary) -> list[int]:
    """The token ids of the mask."""
    from grammarlm.masks.mask_array import allocate_mask, ids_of

    mask = allocate_mask(1, vocab.size)
    matcher.fill_mask(mask)
    return ids_of(mask[0]).tolist()


def load_vocabulary(name: str) -> Vocabulary:
    from grammarlm.models.tiny import FOLDER
    from grammarlm.vocab.vocabulary import Vocabulary

    return Vocabulary.from_tokenizer(FOLDER if name == "tiny" else name)
