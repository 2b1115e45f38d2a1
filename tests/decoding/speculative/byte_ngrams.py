"""A draft model over bytes that is counted, not trained: what followed the longest suffix of the text that was seen before."""

import torch

from tests.texts import BYTES


class ByteNgrams:
    def __init__(self, texts, order=6):
        self.order, self.after = order, {}
        for text in texts:
            ids = [*text.encode(), 256]
            for end in range(len(ids)):
                for length in range(min(order, end) + 1):
                    counts = self.after.setdefault(tuple(ids[end - length : end]), {})
                    counts[ids[end]] = counts.get(ids[end], 0) + 1

    def __call__(self, ids):
        return torch.stack(
            [torch.stack([self.row(row[:end]) for end in range(1, len(row) + 1)]) for row in ids.tolist()]
        )

    def row(self, said):
        logits = torch.full((BYTES.size,), -20.0)
        for length in range(min(self.order, len(said)), -1, -1):
            counts = self.after.get(tuple(said[len(said) - length :]))
            if counts:
                for token, count in counts.items():
                    logits[token] = float(count)
                return logits
        return logits
