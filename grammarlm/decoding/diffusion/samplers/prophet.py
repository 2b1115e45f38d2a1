"""A static schedule that ends as soon as the answer is known, by thresholds that fall in three phases (Prophet)."""

from collections.abc import Sequence

from grammarlm.decoding.diffusion.look import Choice, Look

from .fixed import fixed
from .sched import mean_margin


def prophet(look: Look, *, gaps: Sequence[float] = (7.5, 5.0, 2.5)) -> Choice:
    """Once the mean margin of the logits reaches the phase's gap, all that is left by the best joint fill; until then as `fixed`.

    gaps   for the first, second and last third of the steps
    """
    phase = min(int(look.progress * len(gaps)), len(gaps) - 1)
    margin = mean_margin(look)
    return look.fill({"margin": margin, "threshold": gaps[phase]}) if margin >= gaps[phase] else fixed(look)
