"""Which texts are pieces of a document, and what they may go on with: by looking for bytes, at each border."""

import re


class Quotes:
    """Pieces that begin and end at borders: between any characters, or (`unit="word"`) where not both neighbours match \\w."""

    def __init__(self, text: str, unit: str):
        self.data = text.encode()
        places = range(len(text) + 1)
        if unit == "word":
            places = [m.start() for m in re.finditer(r"(?<!\w)|(?!\w)", text)]
        self.borders = {len(text[:place].encode()) for place in places}

    def places(self, read: bytes) -> list[int]:
        """Where the document has these bytes, behind a border."""
        found, at = [], self.data.find(read)
        while at >= 0:
            if at in self.borders:
                found.append(at)
            at = self.data.find(read, at + 1)
        return found

    def begins(self, read: bytes) -> bool:
        return bool(self.places(read))

    def is_piece(self, read: bytes) -> bool:
        return any(at + len(read) in self.borders for at in self.places(read))
