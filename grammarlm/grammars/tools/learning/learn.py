"""A format learned from a chat template: conversations are rendered, cut at names and values, compared, and verified on others.

    learn(ChatTemplate(source)) -> Layout        NotRegular, a GrammarError, where the template does not write calls so

Nothing is believed that is not verified: the format must write ten other conversations as the template does, byte for byte.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..layout import Layout, json_text
from .arguments import entries_shape
from .chat_template import ChatTemplate
from .renderings import IDS, NAMES, OTHER_NAME, NoCalls, NotRegular, Renderings, Shape, attempt, pieces, shape_of
from .turn import Turn

VALUES = ({"qks": "valone"}, {"qks": "valtwo"}, {"qks": "valthree"})
THREE = list(zip(NAMES, VALUES, strict=True))
FIRST = THREE[:1]
LARGE: dict[str, Any] = {
    "flag": True,
    "nil": None,
    "nest": {"c": [1.5, {"b": ""}], "a": {}, "B": None, "e": True, "d": "é \"<f>\"\n\\ 'g'"},
    "rows": ["p", "q r", [], None, False, 1e20, "日本 & \t"],
    "ratio": 1e-07,
}
CONVERSATIONS: tuple[list[tuple[str, dict[str, Any], str]], ...] = (
    [("zfn_one", {"qks": 'a b, "c" é <x>'}, "a1b2c3d4e")],
    [("zfn_one", {"qks": "x", "rkn": 5}, "a1b2c3d4e"), ("xfn_three", {"qks": "y"}, "f1b2c3d4e")],
    [
        ("yfn_two", {"rkn": -12}, "a00000001"),
        ("yfn_two", {"qks": "z"}, "a00000002"),
        (OTHER_NAME, {"qks": "w"}, "a00000003"),
    ],
    [(OTHER_NAME, LARGE, "a1b2c3d4e")],
    [("zfn_one", {}, "a1b2c3d4e")],
    [("zfn_one", {}, "a1b2c3d4e"), (OTHER_NAME, {"nest": {}}, "f1b2c3d4e")],
    [("zfn_one", {"qks": " line\nline\n\n{'its': \\n}\t"}, "a1b2c3d4e")],
    [("zfn_one", {"qks": "", "rows": ["<p>", 'q"r']}, "a1b2c3d4e"), ("zfn_one", {"qks": "true"}, "f1b2c3d4e")],
    [("zfn_one", {"qks": "12", "rkn": 0, "flag": False, "ratio": 12345678901234567890, "rows": []}, "a1b2c3d4e")],
    [(name, {"rkn": number, "qks": str(number)}, f"b{number:08}") for number, name in enumerate((*NAMES, OTHER_NAME))],
)


def learn(template: ChatTemplate, call_id: str | None = None) -> Layout:
    """The format that a template writes, verified. `call_id`: what the ids of calls are, where it writes nothing else of a name."""
    renderings, spelling = _renderings(template, call_id)
    several = NAMES[1] in (attempt(lambda: renderings.turn(THREE)) or "")
    shape = _json_shape(renderings, spelling, several) if spelling else entries_shape(renderings, several)
    turn = Turn(renderings, shape)
    found = replace(turn.format(), as_text=renderings.as_text, no_text=renderings.no_text, call_id=call_id)
    if attempt(lambda: renderings.turn([(*FIRST[0], "call-1")])) is None:  # Mistral's templates: nine characters alone
        found = replace(found, id=f"[A-Za-z0-9]{{{len(IDS[0])}}}")
    verify(renderings, found)
    return turn.verified(found)


def _renderings(template: ChatTemplate, call_id: str | None) -> tuple[Renderings, str | None]:
    """How messages must be made that the template writes their calls, and how it spells JSON, if it does."""
    for as_text in (False, True):
        written: list[tuple[int, int, Renderings, str]] = []
        for no_text in ("", None):
            renderings = Renderings(template, as_text, no_text, call_id)
            text = attempt(lambda r=renderings: r.turn(FIRST)) or ""  # type: ignore[misc]
            if attempt(lambda t=text: pieces(t, [NAMES[0], "qks", "valone"])):  # type: ignore[misc]
                written.append((len(text), len(written), renderings, text))
        if not written:
            continue
        _, _, renderings, text = min(written)  # some write "None", or an empty answer after the calls
        for spelling in ("spaced", "compact"):
            if json_text(VALUES[0], spelling) in text:
                return renderings, spelling
        if not as_text and str(VALUES[0]) not in text:  # an object where the template expects text
            return renderings, None
    raise NoCalls("the chat template writes no calls of tools")


def _json_shape(renderings: Renderings, spelling: str, several: bool) -> Shape:
    marks = [mark for name, value in THREE for mark in (name, json_text(value, spelling))]
    three = pieces(renderings.turn(THREE), marks) if several else None
    return replace(shape_of(pieces(renderings.turn(FIRST), marks[:2]), three), json=spelling)


def verify(renderings: Renderings, found: Layout) -> None:
    """NotRegular where the template writes one of the conversations otherwise than the format."""
    before, after = pieces(renderings.turn(CONVERSATIONS[0]), [found.write(CONVERSATIONS[0])])
    for calls in CONVERSATIONS:
        said = calls if found.between is not None else calls[:1]
        if renderings.turn(said) != before + found.write(said) + after:
            raise NotRegular(f"the chat template writes {said!r} in a way that is not understood")


def is_silent(template: ChatTemplate) -> bool:
    """Whether a template tells the model of tools, but writes none of its calls."""
    messages = (Renderings(template, *given).turn for given in ((False, ""), (True, ""), (False, None)))
    written = any(NAMES[0] in (attempt(lambda turn=turn: turn(FIRST)) or "") for turn in messages)  # type: ignore[misc]
    return "tools" in template.source and not written
