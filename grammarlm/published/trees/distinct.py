"""RSD (Recursive Speculative Decoding): several children of each node, drawn without replacement; for acceptance="recursive".

No two children are the same token, so that more of a wide tree is of use than of independent draws. It costs what a fixed tree
does. Of no use in greedy decoding, where it is a fixed tree of other widths.
"""

from __future__ import annotations

from collections.abc import Sequence

from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import NodeDrafter
from grammarlm.decoding.speculative.shapes import levels

WIDTHS = (3, 2, 2)


def distinct(drafter: NodeDrafter, growths: Sequence[DraftBuilder]) -> None:
    levels(drafter, growths, growths[0].shape.widths or WIDTHS)
