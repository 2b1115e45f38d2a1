"""Whether anything that follows can still make a text of an LALR grammar, read off stock lark and the `regex` package.

lark cuts a text from left to right, and what follows can change a cut only where a terminal of the parser's state reaches the end
of what is there. So a text is surely dead if lark stops in it, and no terminal that reached the end, there or before, is one that
the parser takes at that place. The converse is not claimed: `may_go_on` may say yes to a dead text, never no to a living one.
"""

import functools

import lark
import regex
from lark.lexer import BasicLexer, ContextualLexer
from lark.parsers.lalr_interactive_parser import InteractiveParser


def may_go_on(parser: lark.Lark, text: str) -> bool:
    interactive = parser.parse_interactive(text)
    lexers: ContextualLexer = parser.parser.lexer  # type: ignore[attr-defined]
    position = 0
    while position < len(text):
        lexer = lexers.lexers[interactive.parser_state.position]
        assert isinstance(lexer, BasicLexer)
        token, begin, end = cut(interactive, lexer)
        # Ignored pieces before the lexeme are lexemes too, and may begin anywhere up to it.
        reaching = {name for place in range(position, begin + 1) for name in reach_the_end(lexer, text, place)}
        if reaching & (interactive.accepts() | lexer.ignore_types):
            return True
        if token is None:
            return end == len(text)
        try:
            interactive.feed_token(token)
        except lark.exceptions.UnexpectedToken:
            return False
        position = end
    return True


def cut(interactive: InteractiveParser, lexer: BasicLexer) -> tuple[lark.Token | None, int, int]:
    """lark's next lexeme, where it begins and ends; without one, where lark stopped, twice."""
    state = interactive.lexer_thread.state
    assert state is not None
    try:
        token = lexer.next_token(state, interactive.parser_state)
    except EOFError:
        return None, state.line_ctr.char_pos, state.line_ctr.char_pos
    except lark.exceptions.UnexpectedCharacters as error:
        stopped: int = error.pos_in_stream  # type: ignore[assignment]
        return None, stopped, stopped
    assert token.start_pos is not None
    assert token.end_pos is not None
    return token, token.start_pos, token.end_pos


def reach_the_end(lexer: BasicLexer, text: str, position: int) -> set[str]:
    """The terminals of this lexer that, begun here, have not failed before the end of the text."""
    patterns = {terminal.name: compiled(terminal.pattern.to_regexp()) for terminal in lexer.terminals}
    return {name for name, pattern in patterns.items() if pattern.fullmatch(text, position, partial=True)}


@functools.cache
def compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern)
