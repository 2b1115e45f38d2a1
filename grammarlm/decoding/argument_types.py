"""The types of generate()'s arguments. What lists hold where there is a list of prompts: one for each, None for those without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from os import PathLike
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch

from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.items.tokens import Tokens
from grammarlm.masks.constraint import Constraint

One = TypeVar("One")
OneOrEach: TypeAlias = One | Sequence[One | None] | None

Model: TypeAlias = torch.nn.Module | Callable[[torch.Tensor], torch.Tensor]  # of transformers; or from ids to logits
Ids: TypeAlias = Sequence[int] | np.ndarray | torch.Tensor
Conversation: TypeAlias = Sequence[Mapping[str, Any]]  # messages: {"role": ..., "content": ...}
Prompt: TypeAlias = str | Ids | Conversation
Prompts: TypeAlias = Prompt | Sequence[Prompt]
# Of transformers, tokenizers, tiktoken or sentencepiece, which have no class in common, or a path.
Tokenizer: TypeAlias = object
# A dict, JSON text, a path, a grammar, a Python type or a function. Literal["a"], int | None and dict have no class in common.
Schema: TypeAlias = object
Pattern: TypeAlias = str | bytes
Items: TypeAlias = Tokens | Iterable[Ids] | Iterable[str] | np.ndarray | torch.Tensor | PathLike[str]
AnyGrammar: TypeAlias = Grammar | Constraint
Choice: TypeAlias = str | int | Enum  # an Enum class holds its members
Where: TypeAlias = Callable[[str], bool]  # of the text so far: may it go on? Of "": may that be the whole answer?
