"""What the model has yet to read of one text of a batch, and which of the logits are needed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass
class Unread:
    """Ids of one text that its reader gets next."""

    ids: list[int]  # of the text, not read yet
    skip: int  # the logits of the first `skip` of them are not needed
    draft: list[int] = field(default_factory=list)  # proposed for the next choices, read after `ids`
    misread: int = 0  # how many ids have been read that are not in the text: to be rolled back

    @classmethod
    def beginning(cls, ids: list[int]) -> Unread:
        return cls(list(ids), len(ids) - 1)

    def copy(self) -> Unread:
        return replace(self, ids=list(self.ids))

    def start(self) -> list[int]:
        """The ids up to the first whose logits are needed."""
        return self.ids[: self.skip + 1]

    def read(self, chunk: list[int]) -> None:
        """The chunk has been read."""
        self.ids, self.skip = self.ids[len(chunk) :], max(0, self.skip - len(chunk))

    def scored(self, chunk: list[int]) -> int:
        """How many logits of this chunk are needed."""
        return max(0, len(chunk) - self.skip)

    def then(self, token: int) -> None:
        """A token has been drawn."""
        self.ids, self.skip = [token], 0

    def is_read(self, drawn: int) -> bool:
        """Is the drawn token the next of the draft, which has been read? Else what is left of the draft is to be taken back."""
        proposed, *self.draft = self.draft
        if drawn == proposed:
            self.ids = []
            return True
        self.misread, self.draft = 1 + len(self.draft), []
        return False
