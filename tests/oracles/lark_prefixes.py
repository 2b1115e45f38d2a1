"""Whether anything that follows can still make a text of an LALR grammar, read off stock lark and the `regex` package.

lark cuts a text from left to right, and what follows can change a cut only where a terminal of the parser's state reaches the end
of what is there. So a text is surely dead if lark stops in it, and no terminal that reached the end, there or before, is one that
the parser takes at that place. The converse is not claimed: `may_go_on` may say yes to a dead text, never no to a living one.
"""

import functools

import lark
import regex
from lark.lexer import BasicLexer, ContextualLexer, LexerThread


def may_go_on(parser: lark.Lark, text: str) -> bool:
    interactive = parser.parse_interactive(text)
    lexers: ContextualLexer = parser.parser.lexer  # type: ignore[attr-defined]
    position = 0
    while position < len(text):
        state = interactive.parser_state
        lexer = lexers.lexers[state.position]
        assert isinstance(lexer, BasicLexer)
        thread: LexerThread = interactive.lexer_thread
        try:
            token = lexer.next_token(thread.state, state)
            begin, end = token.start_pos, token.end_pos
        except EOFError:
            return True
        except lark.exceptions.UnexpectedCharacters as error:
            token, begin, end = None, error.pos_in_stream, None
        # Ignored pieces before the lexeme are lexemes too, and may begin anywhere up to it.
        welcome = interactive.accepts() | lexer.ignore_types
        reaching = {name for place in range(position, begin + 1) for name in reach_the_end(lexer, text, place)}
        if reaching & welcome:
            return True
        if token is None:
            return False
        try:
            interactive.feed_token(token)
        except lark.exceptions.UnexpectedToken:
            return False
        position = end
    return True


def reach_the_end(lexer: BasicLexer, text: str, position: int) -> set[str]:
    """The terminals of this lexer that, begun here, have not failed before the end of the text."""
    patterns = {terminal.name: compiled(terminal.pattern.to_regexp()) for terminal in lexer.terminals}
    return {name for name, pattern in patterns.items() if pattern.fullmatch(text, position, partial=True)}


@functools.cache
def compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern)
