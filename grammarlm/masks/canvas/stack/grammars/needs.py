"""What a thread does with the symbols below those that it knows.

RETURN               a frame ends: go on in the state that the symbol stands for; below all others the text ends
SHIFT terminal       an LR parser shifts a terminal in the LR state that the symbol stands for, after its reductions
LOOK terminal        the next lexeme begins, in the LR state on top, to which the terminal has led (-1: not known)
REDUCE n nonterminal terminal    n more symbols are popped, then the nonterminal is pushed on the next, then SHIFT
BELOW terminal       the same as SHIFT, but what was on top has ended its procedure (network.py)
DROP n               the parser has accepted: n more symbols are popped, then a frame ends
"""

RETURN, SHIFT, LOOK, REDUCE, DROP, FAIL, BELOW = range(7)
Move = tuple[int, ...]  # one of these with its operands; FAIL never lasts: nothing goes on
Local = tuple[int, ...]  # symbols, the top last
