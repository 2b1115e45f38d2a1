"""Grammars for the kernels of the stack machine, without dead ends, each with pieces that its texts are made of."""

import grammarlm as gl

VALUES = r"""
start: value
value: "[" [value ("," value)*] "]" | "(" pair* ")" | NAME | NUMBER
pair: NAME ":" value ";" | "x" value?
NAME: /[a-c]+[0-9]?/
NUMBER: /[0-9]+/
%ignore / +/
"""
# A chain of unit reductions, an empty rule at the beginning, and a list that is reduced only at its end.
SUMS = r"""
start: begin sum
begin: "!"?
sum: product ("+" sum)?
product: power | product "*" power
power: unary | unary "^" power
unary: atom | "-" unary
atom: NUMBER | "(" sum ")" | "{" nest
nest: "}" | "." nest
NUMBER: /[0-9]+/
%ignore " "
"""
BLOCKS = r"""
start: (statement | _NEWLINE)*
statement: NAME "=" value _NEWLINE | "if" NAME ":" block
block: NAME _NEWLINE | _NEWLINE _INDENT statement+ _DEDENT
value: NAME | LPAR [value (";" value)*] RPAR
NAME: /[a-h]+/
LPAR: "("
RPAR: ")"
_NEWLINE: /\r?\n *(\r?\n *)*/
%declare _INDENT _DEDENT
%ignore " "
"""
LARK = {
    "values": (gl.Lark(VALUES), [*"[](),:;x a", "ab1", "c ", "12", "[[", "]]", ", ", "(a:"]),
    "sums": (gl.Lark(SUMS), [*"!+*^-(){}. 7", "12", "((", "{.", "-7+", ".}"]),
    "blocks": (
        gl.Lark(BLOCKS, indent=gl.Indent()),
        [
            *"a=():; \n",
            "\n  ",
            "\n ",
            "if a:\n  ",
            "if b:\n    ",
            "if c:a\n",
            "b=(",
            "((",
            ")\n",
            "a=b\n",
            "b=a\n  ",
            "\n\n",
        ],
    ),
}
# Without a lexer: what is read is on the stack as return states. Two are ambiguous.
GBNF = {
    "json": (
        gl.Gbnf(
            r"""
            root ::= value
            value ::= "[" ws (value ("," ws value)*)? "]" ws | "{" ws (string ":" value)? "}" ws | string | [0-9]+ ws
            string ::= "\"" ([^"\\] | "\\" ["\\n])* "\"" ws
            ws ::= [ \n]*
            """
        ),
        [*'[]{}",: 1', "\\n", "a", '["', '":', "é", "1,"],
    ),
    "pairs": (gl.Gbnf('root ::= "a" root "b" | "aa" root "c" | "a"'), [*"abc", "aa", "aaaa", "bb"]),
    "halves": (gl.Gbnf('root ::= x\nx ::= x x | "a" | "(" x ")" | "(" x "]"'), [*"a(])", "((", "aa", "a)"]),
    "loops": (gl.Gbnf('root ::= item* "."\nitem ::= "a" item? | "(" root ")" | "b" "c"?'), [*"abc().", "aa", "(("]),
}
