"""Four engines behind the same five verbs, so that one loop times them all.

compile(pattern) -> seconds are the caller's business; start() begins a text; mask() writes the next mask; advance(token) reads a
token and says whether it was taken; allowed(token) reads the mask written last. An engine that refuses a pattern raises.
"""

import numpy as np


class Ours:
    name = "grammarlm"
    slow = False

    def __init__(self, tokenizer, vocab):
        import grammarlm as gl

        self.gl, self.vocab = gl, vocab
        self.row = gl.allocate_mask(1, vocab.size)

    def compile(self, pattern):
        self.constraint = self.gl.compile(self.gl.Regex(pattern), self.vocab)

    def start(self):
        self.matcher = self.constraint.matcher()

    def mask(self):
        self.matcher.fill_mask(self.row)

    def advance(self, token):
        return self.matcher.advance(token)

    def allowed(self, token):
        return bool(int(self.row[0, token >> 5]) >> (token & 31) & 1)


class LLGuidance:
    name = "llguidance"
    slow = False

    def __init__(self, tokenizer, vocab):
        import llguidance
        import llguidance.hf
        import llguidance.numpy

        self.module = llguidance
        self.tokenizer = llguidance.hf.from_tokenizer(tokenizer, n_vocab=vocab.size)
        self.row = llguidance.numpy.allocate_token_bitmask(1, self.tokenizer.vocab_size)
        self.fill = llguidance.numpy.fill_next_token_bitmask

    def compile(self, pattern):
        self.grammar = self.module.LLMatcher.grammar_from_regex(pattern)
        self.ready = self.module.LLMatcher(self.tokenizer, self.grammar)
        if self.ready.is_error():
            raise ValueError(self.ready.get_error()[:200])

    def start(self):
        self.matcher = self.ready.deep_copy()

    def mask(self):
        self.fill(self.matcher, self.row, 0)

    def advance(self, token):
        return self.matcher.consume_token(token)

    allowed = Ours.allowed


class XGrammar:
    name = "xgrammar"
    slow = True  # may compile for minutes

    def __init__(self, tokenizer, vocab):
        import xgrammar

        self.module = xgrammar
        info = xgrammar.TokenizerInfo.from_huggingface(
            tokenizer, vocab_size=vocab.size, stop_token_ids=list(vocab.stop_ids)
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.bitmask = xgrammar.allocate_token_bitmask(1, vocab.size)
        self.row = self.bitmask.numpy()

    def compile(self, pattern):
        self.compiled = self.compiler.compile_regex(pattern)

    def start(self):
        self.matcher = self.module.GrammarMatcher(self.compiled)

    def mask(self):
        self.matcher.fill_next_token_bitmask(self.bitmask, 0)

    def advance(self, token):
        return self.matcher.accept_token(token)

    allowed = Ours.allowed


class OutlinesCore:
    name = "outlines-core"
    slow = True

    def __init__(self, tokenizer, vocab):
        import outlines_core

        self.module = outlines_core
        spelled = {}
        for i in vocab.text_ids.tolist():
            spelled.setdefault(vocab.token_bytes(i), []).append(i)
        self.vocabulary = outlines_core.Vocabulary(next(iter(vocab.stop_ids)), spelled)
        self.row = np.zeros((1, vocab.words), np.int32)

    def compile(self, pattern):
        self.index = self.module.Index(pattern, self.vocabulary)

    def start(self):
        self.guide = self.module.Guide(self.index)

    def mask(self):
        self.guide.write_mask_into(self.row.ctypes.data, self.row.size, self.row.itemsize)

    def advance(self, token):
        try:
            self.guide.advance(token, False)
        except ValueError:  # it has no such transition
            return False
        return True

    allowed = Ours.allowed


ENGINES = (Ours, LLGuidance, XGrammar, OutlinesCore)
