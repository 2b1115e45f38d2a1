"""The engines of peers.py for grammars: the same verbs, but compile takes (notation, text, corpus), notation lark, gbnf or ebnf."""

from benchmarks.peers import LLGuidance, Ours, XGrammar


class Missing(Exception):
    """This version of ours has no such notation."""


def our_grammar(gl, notation: str, text: str, corpus: str):
    """Which of our grammar objects a corpus is: the one place that knows."""
    name = {"lark": "Lark", "gbnf": "Gbnf", "ebnf": "Ebnf"}[notation]
    kind = getattr(gl, name, None)
    if kind is None:
        raise Missing(f"gl.{name}")
    if corpus != "python":
        return kind(text)
    if not hasattr(kind, "python"):
        raise Missing("gl.Lark.python")
    return kind.python()


class OurGrammars(Ours):
    @property
    def refusal(self) -> type[Exception]:
        """What compile raises where the engine does not take a grammar; anything else is an error of the engine."""
        return self.gl.GrammarError

    def compile(self, notation: str, text: str, corpus: str) -> None:
        self.constraint = self.gl.compile(our_grammar(self.gl, notation, text, corpus), self.vocab)

    def complete(self) -> bool:
        return self.matcher.is_accepting

    def fault(self) -> str | None:
        return None

    def nbytes(self) -> int | None:
        return self.constraint.nbytes


class LLGuidanceGrammars(LLGuidance):
    refusal = ValueError

    def compile(self, notation: str, text: str, corpus: str) -> None:
        from llguidance.gbnf_to_lark import gbnf_to_lark

        lark = text if notation == "lark" else gbnf_to_lark(text)
        self.grammar = self.module.LLMatcher.grammar_from_lark(lark)
        self.ready = self.module.LLMatcher(self.tokenizer, self.grammar)
        if self.ready.is_error():
            raise ValueError(self.ready.get_error()[:200])

    def start_alone(self) -> None:
        """A matcher that shares no lexer with others: copies of one matcher wait for each other in threads."""
        self.matcher = self.module.LLMatcher(self.tokenizer, self.grammar)

    def complete(self) -> bool:
        return self.matcher.is_accepting()

    def fault(self) -> str | None:
        """What it reports of itself in the middle of a text, such as a limit of its parser."""
        return self.matcher.get_error() if self.matcher.is_error() else None

    def nbytes(self) -> int | None:
        return None  # it does not tell


class XGrammarGrammars(XGrammar):
    refusal = RuntimeError

    def compile(self, notation: str, text: str, corpus: str) -> None:
        reader = self.module.Grammar.from_lark if notation == "lark" else self.module.Grammar.from_ebnf
        self.compiled = self.compiler.compile_grammar(reader(text))

    def complete(self) -> bool:
        return self.matcher.is_completed()

    def fault(self) -> str | None:
        return None

    def nbytes(self) -> int | None:
        return self.compiled.memory_size_bytes


class XGrammarBuiltIn(XGrammarGrammars):
    """Its own JSON grammar, spelled for its own algorithm; there is none for other corpora."""

    name = "xgrammar built-in"

    def compile(self, notation: str, text: str, corpus: str) -> None:
        self.compiled = self.compiler.compile_builtin_json_grammar()


ENGINES = (OurGrammars, LLGuidanceGrammars, XGrammarGrammars, XGrammarBuiltIn)
