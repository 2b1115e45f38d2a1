"""The text of the embedded models: prompts of one or several lines, and what the model should answer.

    Ada Turing, a writer of 36, lives in London.
    {"name":"Ada Turing","age":36,"city":"London","job":"writer"}

The prompt ends with its newline; the model writes the answer and the end token. `TASKS` are the kinds of prompt, `forms.constraint`
gives the grammar of each answer's form. Every example is a function of (split, index, task) alone: a training run that stops can go
on from any index, and the splits draw from separate random streams.

- "train", "heldout": the same distribution;
- "hard": foreign name pieces, unseen wordings, or more of everything than any training text has (`draw.HARDSHIPS`).
"""

from training.corpus.examples import TASKS, Example, example
from training.corpus.forms import constraint
from training.corpus.turns import to_json

__all__ = ["TASKS", "Example", "constraint", "example", "to_json"]
