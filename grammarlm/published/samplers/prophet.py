"""Prophet (Diffusion Language Models Know the Answer Before Decoding): a static schedule that ends once the answer is known.

The best id is often settled long before the last step: once the gap to the second best is wide enough everywhere, all that is left
is committed. It costs one more sum a step, and at the end a best joint fill. Of no use where each call already commits much.
"""

from collections.abc import Sequence

from grammarlm.decoding.diffusion.look import Choice, Look
from grammarlm.decoding.diffusion.samplers import fixed


def prophet(look: Look, *, gaps: Sequence[float] = (7.5, 5.0, 2.5)) -> Choice:
    """Once the mean margin of the logits reaches the phase's gap, all that is left by the best joint fill; until then as `fixed`.

    gaps   for the first, second and last third of the steps
    """
    phase = min(int(look.progress * len(gaps)), len(gaps) - 1)
    margin = look.reading.mean_margin
    return look.fill({"margin": margin, "threshold": gaps[phase]}) if margin >= gaps[phase] else fixed(look)
