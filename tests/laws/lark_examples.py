"""Lark grammars written by hand: what lark's lexers, conflicts and imports make of these is easily missed."""

# Each with the characters of its texts: what lark's lexers, conflicts and imports make of these is easily missed.
HAND_WRITTEN = {
    "keyword and name": ('start: ("if" NAME | NAME "=" NAME)*\nNAME: /[a-z]+/\n%ignore " "', "ifx= "),
    "all text is one lexeme": ('start: A "a"? "b"\nA: /a+/', "ab"),
    "ends of numbers": ('start: (INT | FLOAT | RANGE)+\nINT: /1+/\nFLOAT: /1+\\.1*/\nRANGE: ".."\n', "1."),
    "member or float": ('start: x | x "." NAME | FLOAT\nx: INT\nINT: /1+/\nFLOAT: /1+\\.1+/\nNAME: /[a1]+/', "1.a"),
    "longer by priority": ('start: (A | B)+ "c"\nA.2: /ab?/\nB: /abb/', "abc"),
    "shorter by order": ('start: A B | A "c"\nA: /a|ab/\nB: /b+/', "abc"),
    "lazy": ('start: C "!"\nC: /<.*?>/', "<>a!"),
    "strings with escapes": ('%import common.ESCAPED_STRING\nstart: (ESCAPED_STRING | "x")+', '"\\x '),
    "numbers and space": ("%import common (SIGNED_NUMBER, WS)\n%ignore WS\nstart: SIGNED_NUMBER+", "1.e+- "),
    "lists": ('start: "[" _list{x, ","} "]"\n_list{a, s}: a (s a)*\nx: "1" | start\n%ignore " "', "[1,] "),
    "dangling else": ('start: s\ns: "i" s ["e" s] | "x"\n', "iex"),
    "operators": ('start: start "+" t | start "++" | t\nt: "(" start ")" | /a/', "a+()"),
    "not LALR": ('start: x "b" "c" | y "b" "d"\nx: A\ny: A\nA: /a+/', "abcd"),
    "words in pairs": ('start: (x | y)+\nx: NAME NAME\ny: NAME\nNAME: /[ab]+/\n%ignore " "', "ab "),
    "Earley takes one match": ('start: x "c" | y "c"\nx: A "b"\ny: A "b"\nA: /ab?/', "abc"),
    "nothing at all": ('start: a b\na: | "a" a\nb: ["b"]\n%ignore /,+/', "ab,"),
    "comments": ('start: (/[a-z]+/ | "/" )* \n%ignore /\\/\\/[^\\n]*/\n%ignore /[ \\n]+/', "a/ \nB"),
    "either case": ('start: "select"i NAME ("as"i NAME)?\nNAME: /[a-z]+/i\n%ignore " "', "sSelctaA "),
    "repeats": ('start: "a"~2..3 ("b"~2)* C~0..1\nC: "c"~3', "abc"),
    # Of an ignored pattern and a string that it matches, the pattern is taken; of an ignored string and a pattern that
    # matches it, the string is, but as a lexeme that no rule has.
    "ignored pattern beside a string": ('start: OTHER ("," | "b")\nOTHER: /./\n%ignore /,/', "ab,"),
    "ignored string beside a pattern": ('start: KEY OTHER\nKEY: "ab"\nOTHER: /./\n%ignore " "', "ab ."),
    "characters of all lengths": ('start: (A | B)+ "é"\nA: /[é-€]/\nB: "😀" | "é€"', "é€😀a"),
}
