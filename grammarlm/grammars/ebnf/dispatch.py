r"""TagDispatch of xgrammar's EBNF: free text, and a rule that must follow where a tag occurs in it.

    root ::= TagDispatch(("<call>", call), ("<think>", thought), loop_after_dispatch=true, excludes=("<end>"))

The text before a rule ends with the first tag that is complete; of several that are complete at once the longest counts. Without a
loop the text ends after the first rule. No string of `excludes` occurs in the free text.
"""

from __future__ import annotations

import re

from grammarlm.grammars.cfg.rules import Alternatives, Call, Node, Pattern, Repeat, Sequence

from .scanner import COMMENT, SPACE, Scanner

STRING = r'"[^"\\\r\n]*(?:\\[^\r\n][^"\\\r\n]*)*"'
_INSIDE = rf'[^()"\#] | {STRING} | {COMMENT}[\r\n]'
DISPATCH_CALL = (
    rf"TagDispatch {SPACE} \( (?: {_INSIDE} | \( (?: {_INSIDE} )* \) )* \)"  # as one token, for a verbose pattern
)
_STRINGS = rf"{STRING}{SPACE}(?:,{SPACE}{STRING}{SPACE})*"
_HEAD = re.compile(rf"TagDispatch{SPACE}\({SPACE}")
_END = re.compile(r"\)[ \t\r\n]*\Z")
_ARGUMENT = re.compile(
    rf"""(?: \({SPACE}(?P<tag>{STRING}){SPACE},{SPACE}(?P<rule>[a-zA-Z_.-][a-zA-Z0-9_.-]*){SPACE}\)
        | loop_after_dispatch{SPACE}={SPACE}(?P<loop>true|false)
        | excludes{SPACE}={SPACE}\({SPACE}(?P<excludes>(?:{_STRINGS})?)\)
        ) {SPACE} (?: ,{SPACE}(?!\)) | (?=\)) )""",
    re.VERBOSE,
)


def read_dispatch(scanner: Scanner, calls: list[Call], token: str, at: int) -> Node:
    """The node of a whole call; `calls`: the rules that are named anywhere."""
    tags, excludes, is_loop = list[tuple[str, Call]](), list[str](), True
    head = _HEAD.match(token)
    place = head.end() if head else len(token)
    while not _END.match(token, place):
        found = _ARGUMENT.match(token, place)
        if found is None:
            raise scanner.error(
                'TagDispatch() takes ("tag", rule), loop_after_dispatch=true and excludes=("a", "b")', at
            )
        if found["tag"]:
            tags.append((_text(scanner, found["tag"], at), Call(found["rule"], at)))
        elif found["loop"]:
            is_loop = found["loop"] == "true"
        else:
            excludes = [_text(scanner, text, at) for text in re.findall(STRING, found["excludes"])]
        place = found.end()
    calls += [call for _, call in tags]
    texts = [tag for tag, _ in tags]
    turns = [Sequence((Pattern(_up_to(tag, texts, excludes), at), call)) for tag, call in tags]
    rest = Pattern(f"(?s:{_without([*texts, *excludes])}.*)", at)
    return Sequence((Repeat(Alternatives(tuple(turns)), 0, None), rest)) if is_loop else Alternatives((*turns, rest))


def _text(scanner: Scanner, literal: str, at: int) -> str:
    text = scanner.string(literal, at)
    if not text:
        raise scanner.error("TagDispatch() takes strings that are not empty", at)
    scanner.encode(text, at)
    return text


def _up_to(tag: str, tags: list[str], excludes: list[str]) -> str:
    """Free text that ends with this tag, and before whose end none is complete."""
    longer = [other for other in tags if other != tag and other.endswith(tag)]
    not_longer = f"(?!.*{_one_of(longer)}\\Z)" if longer else ""
    return f"(?s:(?!.*{_one_of(tags)}.){not_longer}{_without(excludes)}.*{_one_of([tag])})"


def _without(texts: list[str]) -> str:
    return f"(?!.*{_one_of(texts)})" if texts else ""


def _one_of(texts: list[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, texts))})"
