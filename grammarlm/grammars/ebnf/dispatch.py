r"""TagDispatch and TokenTagDispatch of xgrammar's EBNF: what is free, and a rule that must follow where a tag occurs in it.

    root ::= TagDispatch(("<call>", call), ("<think>", thought), loop_after_dispatch=true, excludes=("<end>"))
    root ::= TokenTagDispatch((128010, call), loop_after_dispatch=true, excludes=(128011))

A tag is a string in free text, or a token, by its id, among any others. The text before a rule ends with the first tag that is
complete; of several that are complete at once the longest counts. Without a loop the text ends after the first rule. No string (no
token) of `excludes` occurs in what is free.
"""

from __future__ import annotations

import re

from grammarlm.grammars.cfg.rules import Alternatives, Call, Node, OtherToken, Pattern, Repeat, Sequence, Token

from .scanner import COMMENT, SPACE, Scanner

STRING = r'"[^"\\\r\n]*(?:\\[^\r\n][^"\\\r\n]*)*"'
_INSIDE = rf'[^()"\#] | {STRING} | {COMMENT}[\r\n]'
DISPATCH_CALL = (  # as one token, for a verbose pattern
    rf"(?:Token)?TagDispatch {SPACE} \( (?: {_INSIDE} | \( (?: {_INSIDE} )* \) )* \)"
)
_HEAD = re.compile(rf"(?:Token)?TagDispatch{SPACE}\({SPACE}")
_END = re.compile(r"\)[ \t\r\n]*\Z")


def _argument(tag: str) -> re.Pattern[str]:
    """An argument, and the comma after it; a tuple may end with a comma."""
    tags = rf"{tag}{SPACE}(?:,{SPACE}{tag}{SPACE})*(?:,{SPACE})?"
    return re.compile(
        rf"""(?: \({SPACE}(?P<tag>{tag}){SPACE},{SPACE}(?P<rule>[a-zA-Z_.-][a-zA-Z0-9_.-]*){SPACE}(?:,{SPACE})?\)
            | loop_after_dispatch{SPACE}={SPACE}(?P<loop>true|false)
            | excludes{SPACE}={SPACE}\({SPACE}(?P<excludes>(?:{tags})?)\)
            ) {SPACE} (?: ,{SPACE}(?!\)) | (?=\)) )""",
        re.VERBOSE,
    )


DISPATCHES = {
    "TagDispatch": (_argument(STRING), 'TagDispatch() takes ("tag", rule), loop_after_dispatch=true and excludes=("a", "b")'),
    "TokenTagDispatch": (_argument("[0-9]+"), "TokenTagDispatch() takes (1, rule), loop_after_dispatch=true and excludes=(2, 3)"),
}  # fmt: skip


def read_dispatch(scanner: Scanner, calls: list[Call], name: str, token: str, at: int) -> Node:
    """The node of a whole call; `calls`: the rules that are named anywhere."""
    argument, takes = DISPATCHES[name]
    tags, excludes, is_loop = list[tuple[str, Call]](), "", True
    head = _HEAD.match(token)
    place = head.end() if head else len(token)
    while not _END.match(token, place):
        found = argument.match(token, place)
        if found is None:
            raise scanner.error(takes, at)
        if found["tag"]:
            tags.append((found["tag"], Call(found["rule"], at)))
        elif found["loop"]:
            is_loop = found["loop"] == "true"
        else:
            excludes = found["excludes"]
        place = found.end()
    calls += [call for _, call in tags]
    turns, rest = (_in_text if name == "TagDispatch" else _among_tokens)(scanner, tags, excludes, at)
    return Sequence((Repeat(Alternatives(turns), 0, None), rest)) if is_loop else Alternatives((*turns, rest))


def _in_text(scanner: Scanner, tags: list[tuple[str, Call]], excludes: str, at: int) -> tuple[tuple[Node, ...], Node]:
    """Free text with each tag and its rule; and free text alone."""
    texts = [_text(scanner, tag, at) for tag, _ in tags]
    banned = [_text(scanner, text, at) for text in re.findall(STRING, excludes)]
    turns = [
        Sequence((Pattern(_up_to(text, texts, banned), at), call)) for text, (_, call) in zip(texts, tags, strict=True)
    ]
    return tuple(turns), Pattern(f"(?s:{_without([*texts, *banned])}.*)", at)


def _among_tokens(
    scanner: Scanner, tags: list[tuple[str, Call]], excludes: str, at: int
) -> tuple[tuple[Node, ...], Node]:
    """The same of tokens."""
    ids = [scanner.token_id(tag, at) for tag, _ in tags]
    banned = [scanner.token_id(digits, at) for digits in re.findall("[0-9]+", re.sub(COMMENT, "", excludes))]
    for token in {*ids} & {*banned}:
        raise scanner.error(f"the token {token} begins a rule, so it cannot be among those excluded", at)
    free = Repeat(OtherToken(tuple(sorted({*ids, *banned})), at), 0, None)
    rules = tuple(Sequence((Token(token, at), call)) for token, (_, call) in zip(ids, tags, strict=True))
    return (Sequence((free, Alternatives(rules))),) if rules else (), free


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
