"""LH Figure 1: the surfaces of the Lovász hinge and of margin and slack rescaling over two decisions."""

from papers.experiment import Advance, Experiment, Outcome, Settings
from papers.surface_checks import INCREASING, NOT_INCREASING, SUPERMODULAR, checks
from setwise.core.surrogate import Surrogate
from setwise.surrogates import LovaszHinge, MarginRescaling, SlackRescaling, margin_scale

LOSSES = (("(i) submodular, increasing", INCREASING), ("(ii) submodular, not increasing", NOT_INCREASING))


def panels() -> list[tuple[str, Surrogate]]:
    """The name and the surrogate of each surface; margin rescaling of (iii) occurs also at the scale of LH Prop. 2."""
    shown: list[tuple[str, Surrogate]] = [(f"Lovász hinge, {name}", LovaszHinge(loss)) for name, loss in LOSSES]
    losses = (*LOSSES, ("(iii) supermodular", SUPERMODULAR))
    shown += [(f"margin, {name}", MarginRescaling(loss)) for name, loss in losses]
    # At scale 1 margin rescaling is above the supermodular loss at a vertex; this scale makes it touch.
    scale = margin_scale(SUPERMODULAR, [1, 1])
    shown.append((f"margin, (iii) at scale {scale:.3f}", MarginRescaling(SUPERMODULAR, scale=scale)))
    return shown + [(f"slack, {name}", SlackRescaling(loss)) for name, loss in losses]


def run(settings: Settings, advance: Advance) -> Outcome:
    """Draw the nine surfaces and check in numbers what the paper says of them."""
    shown = panels()
    table = checks(shown, settings.seed)
    advance("surfaces")
    touching = [name for (name, _), d in zip(shown, table.means[:, 0], strict=True) if d == 0]
    apart = [name for (name, _), d in zip(shown, table.means[:, 0], strict=True) if d > 0]
    convex = bool((table.means[:, 1] == 0).all())
    words = [
        f"The paper says that all surfaces are convex: {'so they are' if convex else 'not all of them are'}.",
        f"The paper says that the dots touch the surfaces. They do for {'; '.join(touching)}.",
        f"They do not for {'; '.join(apart)}: slack rescaling is an extension of increasing losses only (Prop. 1), "
        "margin rescaling only of increasing losses and in a small scale (Prop. 2).",
        "The Lovász hinge of (iii) is refused: the loss is not submodular, so it would not be convex (Prop. 4).",
    ]

    def figure() -> object:
        from setwise import plotting

        return plotting.surfaces(shown)

    return Outcome((table,), tuple(words), {"": figure})


EXPERIMENT = Experiment("lh_figure1", "LH Fig. 1, surfaces of three surrogates over two decisions", lambda _: 1, run)
