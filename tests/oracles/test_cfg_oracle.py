"""The oracle of context-free grammars against sets of texts, worked out rule by rule up to a length."""

import random
from collections.abc import Iterator
from itertools import product

from grammarlm.grammars.cfg.rules import Alternatives, Call, Chars, Node, Repeat, Rules, Sequence, Text
from tests.counts import tiers
from tests.oracles.cfg_oracle import CfgOracle, Column, ShortestTexts, TokenFuture
from tests.oracles.random_grammars import RandomGrammar, RandomGrammars


def language(rules: Rules, alphabet: str, longest: int) -> set[str]:
    """All texts of the grammar over an alphabet, up to a length: the least fixpoint of sets of texts."""
    texts: dict[str, set[str]] = {name: set() for name in rules.bodies}

    def joined(first: set[str], second: set[str]) -> set[str]:
        return {a + b for a in first for b in second if len(a) + len(b) <= longest}

    def of(node: Node) -> set[str]:
        if isinstance(node, Text):
            data = node.data.decode()
            return {data} if len(data) <= longest and set(data) <= set(alphabet) else set()
        if isinstance(node, Chars):
            return {c for c in alphabet if any(low <= ord(c) <= high for low, high in node.chars)}
        if isinstance(node, Call):
            return texts[node.name]
        if isinstance(node, Sequence):
            return of_sequence(list(node.parts))
        if isinstance(node, Alternatives):
            return set().union(*(of(part) for part in node.parts))
        assert isinstance(node, Repeat)
        body = of(node.body)
        found = so_far = of_sequence([node.body] * node.low)
        for _ in range(longest + 1 if node.high is None else node.high - node.low):
            so_far = joined(so_far, body)
            found = found | so_far
        return found

    def of_sequence(parts: list[Node]) -> set[str]:
        found = {""}
        for part in parts:
            found = joined(found, of(part))
        return found

    while True:
        grown = {name: of(body) for name, body in rules.bodies.items()}
        if grown == texts:
            return texts[rules.start]
        texts = grown


def check_grammar(grammar: RandomGrammar, alphabet: str, longest: int) -> int:
    """Every short text and every one of their beginnings; how many texts the grammar has."""
    oracle = CfgOracle(grammar.rules)
    expected = language(grammar.rules, alphabet, longest)
    beginnings = {text.encode()[:end] for text in expected for end in range(len(text.encode()) + 1)}
    shortest = ShortestTexts(oracle, range(256))
    for length in range(longest + 1):
        for letters in product(alphabet, repeat=length):
            text = "".join(letters)
            data = text.encode()
            assert oracle.is_complete(data) is (text in expected), (grammar.gbnf, text)
            check_beginning(oracle, shortest, data, beginnings)
    assert oracle.is_empty is (shortest.completion(oracle.start) is None)
    return len(expected)


def check_beginning(oracle: CfgOracle, shortest: ShortestTexts, data: bytes, beginnings: set[bytes]) -> None:
    """What a text begins with is viable, and what is viable has a completion that makes a text of the language."""
    for end in range(len(data), max(0, len(data) - 4) - 1, -1):
        beginning = data[:end]
        viable = oracle.is_viable(beginning)
        assert viable or beginning not in beginnings, beginning
        completion = shortest.completion(oracle.read(oracle.start, beginning))
        assert viable is (completion is not None), beginning
        if completion is not None:
            assert oracle.is_complete(beginning + bytes(completion)), (beginning, completion)


def check_many(seed: str, count: int, most: int) -> int:
    rng, drawn, texts = random.Random(seed), RandomGrammars(seed), 0
    for _ in range(count):
        grammar = drawn.grammar()
        letters = sorted(set(grammar.alphabet))
        alphabet = "".join(rng.sample(letters, min(len(letters), 4)))
        longest = max(n for n in range(1, 9) if len(alphabet) ** n <= most)
        texts += check_grammar(grammar, alphabet, longest)
    return texts


@tiers("seed, count, most, least", ("oracle", 40, 400, 300), ("oracle proof", 500, 3000, 300))
def test_random_grammars_have_the_texts_of_their_rules(seed, count, most, least, record_property) -> None:
    texts = check_many(seed, count, most)
    assert texts > least
    record_property("texts", texts)


def rows_of(tokens: list[bytes], longest: int, oracle: CfgOracle, state: Column | None) -> Iterator[bytes]:
    """Tokens in a row that can be read from a state, shortest rows first, up to a length."""
    queue = [b""] if state is not None else []
    seen = set(queue)
    for row in queue:
        yield row
        longer = {row + token for token in tokens if len(row + token) <= longest} - seen
        seen |= longer
        queue += sorted(data for data in longer if oracle.read(state, data) is not None)


def check_future(grammar: RandomGrammar, rng: random.Random) -> int:
    """Tokens can finish a beginning iff a search finds tokens that do; how often bytes could and they could not."""
    data = "".join(rng.choice(grammar.alphabet) for _ in range(40)).encode()
    tokens = sorted({data[i : i + rng.randint(1, 3)] for i in rng.sample(range(36), 4)})
    oracle = CfgOracle(grammar.rules)
    future = TokenFuture(oracle, tokens)
    differed = 0
    for beginning in sorted({b"".join(rng.choices(tokens, k=count)) for count in (0, 1, 1, 2, 2, 3)}):
        state = oracle.read(oracle.start, beginning)
        found = any(oracle.is_complete(beginning + row) for row in rows_of(tokens, 14, oracle, state))
        assert future.completable(state) is found, (grammar.gbnf, tokens, beginning)
        differed += state is not None and not found
    return differed


def test_what_tokens_can_finish() -> None:
    rng, drawn = random.Random("futures"), RandomGrammars("futures")
    assert sum(check_future(drawn.grammar(), rng) for _ in range(200)) > 40
