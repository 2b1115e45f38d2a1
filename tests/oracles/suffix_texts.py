"""What a store of texts knows, by slicing: how often each piece occurs, what follows it, and the longest known suffix."""

from collections import Counter

Text = list[int]


def split(tokens: Text, end: int) -> list[Text]:
    """The finished texts of a list with an `end` after each; what is left after the last one is the running text."""
    texts: list[Text] = [[]]
    for token in tokens:
        if token == end:
            texts.append([])
        else:
            texts[-1].append(token)
    return texts


def pieces(texts: list[Text], depth: int) -> Counter:
    """How often each piece of at most `depth` tokens occurs."""
    return Counter(
        tuple(text[start:stop])
        for text in texts
        for start in range(len(text))
        for stop in range(start + 1, min(start + depth, len(text)) + 1)
    )


def followers(texts: list[Text], piece: Text) -> Counter:
    """How often each token follows a piece."""
    size = len(piece)
    return Counter(
        text[at + size] for text in texts for at in range(len(text) - size) if text[at : at + size] == list(piece)
    )


def occurrences(texts: list[Text], piece: Text) -> int:
    size = len(piece)
    return sum(text[at : at + size] == list(piece) for text in texts for at in range(len(text) - size + 1))


def longest(texts: list[Text], said: Text, most: int) -> int:
    """The most last tokens of `said` that something follows in these texts."""
    sizes = range(1, min(most, len(said)) + 1)
    return max((size for size in sizes if followers(texts, said[-size:])), default=0)


def follows(texts: list[Text], piece: Text, run: Text) -> bool:
    return occurrences(texts, [*piece, *run]) > 0
