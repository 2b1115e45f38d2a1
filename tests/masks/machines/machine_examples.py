"""A few grammars of every machine, over tokens that spell all bytes and over few that do not."""

import grammarlm as gl

BYTES = [bytes([b]) for b in range(256)]
TOKENS = [
    *BYTES,
    b"ab",
    b"abc",
    b"12",
    b'{"',
    b'":',
    b'"}',
    b"}}",
    b"((",
    b"))",
    b", ",
    b"true",
    b"",
    b"<item>",
    b"</s>",
]
STOP, ITEM = len(TOKENS) - 1, len(TOKENS) - 2
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[STOP], special_ids=[STOP, ITEM], size=len(TOKENS) + 5)
FEW = gl.Vocabulary([b"a", b"b", b"ab", b"cc", b"</s>"], stop_ids=[4], special_ids=[4])
RECORD = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 3}},
    "required": ["a"],
}
NESTED = {
    "type": "array",
    "items": {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "null"}, "maxItems": 2}]},
}
BLOCKS = r"""
start: line+
line: NAME _NEWLINE | NAME ":" _NEWLINE _INDENT line+ _DEDENT | "[" NAME "]" _NEWLINE
NAME: /[a-c]+/
_NEWLINE: /(\n *)+/
%declare _INDENT _DEDENT
"""

EXAMPLES = [
    ("regular", gl.Regex("(ab)*c{2,3}|12"), VOCAB),
    ("regular", gl.Choices(["abc", "abd", "x"]) + gl.Text(until="}}"), VOCAB),
    ("regular", gl.Regex("(a|b)*cc"), FEW),
    ("stack", gl.Lark('start: "(" start ")" start | "ab"?'), VOCAB),
    ("stack", gl.Gbnf('root ::= "a" root "b" | "12"'), VOCAB),
    ("stack", gl.Gbnf('root ::= "a" root "b" | "cc" | "ab"'), FEW),
    ("stack", gl.Token("<item>") + gl.Gbnf('root ::= "(" root ")" | "a"'), VOCAB),
    ("stack", gl.Lark(BLOCKS, indent=gl.Indent()) & gl.Ban(["abc", "]"]), VOCAB),
    ("parts", "12" + (gl.Lark(BLOCKS, indent=gl.Indent()) - gl.Regex("(?s).*ab.*")), VOCAB),
    ("json", gl.JsonSchema(RECORD), VOCAB),
    ("json", gl.JsonSchema(NESTED, whitespace="compact"), VOCAB),
    ("json", gl.JsonSchema({"enum": [{"a": 1}, "ab", 12]}), VOCAB),
    ("json", gl.JsonSchema({"type": "array", "uniqueItems": True, "items": RECORD}), VOCAB),
    ("json", gl.JsonSchema({"type": "array", "uniqueItems": True, "items": {"type": ["array", "null"]}}), VOCAB),
    ("items", gl.Tokens([[97, 98], [97, ITEM], [256]]), VOCAB),
    ("items", gl.TokenList(gl.Tokens([[97], [98, 99]]), separator=", ", fewest=1, most=3), VOCAB),
    ("substring", gl.Substring("abcabxab, 12}}"), VOCAB),
    ("substring", gl.Substring("ab ab-abc éa ×é", unit="word"), VOCAB),
    ("substring", gl.Substring("abccabccc"), FEW),
    ("parts", "{" + gl.Substring("ab}abc") + "}}", VOCAB),
    ("regular", gl.Substring("abcabc") & gl.Regex("(ab|c)*"), VOCAB),
    ("regular", gl.Ltl("!a U (b & X last)", ["a", "b", "ab", "12"], separator=", "), VOCAB),
    ("regular", gl.Ltl("F a & F b", ["a", "b"], separator="cc"), FEW),
    ("stack", gl.Lark("start: /[ab]+/") + gl.Substring("abc"), VOCAB),
    ("parts", gl.Regex("ab*") + gl.JsonSchema({"type": "boolean"}) + "}}", VOCAB),
    ("parts", "abc" + gl.Tokens([[97, 98], [ITEM]]), VOCAB),
    ("parts", gl.Repeat(gl.JsonSchema({"type": "boolean"}), 1, 3, ", "), VOCAB),
    ("parts", gl.Repeat(gl.Text(until="((") + gl.JsonSchema({"enum": [12, "ab"]})) + "))", VOCAB),
]
