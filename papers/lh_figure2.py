"""LH Figure 2: the Lovász hinge of a loss that is not increasing, with and without thresholded components."""

from papers.experiment import Advance, Experiment, Outcome, Settings
from papers.surface_checks import NOT_INCREASING, checks
from setwise.surrogates import LovaszHinge


def run(settings: Settings, advance: Advance) -> Outcome:
    """Draw and check both definitions of the Lovász hinge for loss (ii) of LH 4.4."""
    shown = [
        ("thresholded by force (Def. 5)", LovaszHinge(NOT_INCREASING, increasing=True)),
        ("clipped as a whole (Def. 6)", LovaszHinge(NOT_INCREASING)),
    ]
    table = checks(shown, settings.seed)
    advance("surfaces")
    # Each row holds the distance to the dots and the violation of convexity.
    (forced, bulge), (right, flat) = table.means
    holds = forced == 0 and bulge > 0 and right == 0 and flat == 0
    words = (
        "The paper says that the dots touch the thresholded surface and that it is not convex (Prop. 9): "
        f"{'both hold' if holds else 'it does not hold'}; the middle of a segment is up to {bulge:.3f} above its ends.",
        f"Under Def. 6 the same loss gives a convex surface: largest bulge {flat:.3f}.",
    )

    def figure() -> object:
        from setwise import plotting

        return plotting.surfaces(shown, columns=2)

    return Outcome((table,), words, {"": figure})


EXPERIMENT = Experiment(
    "lh_figure2", "LH Fig. 2, thresholding a loss that is not increasing costs convexity", lambda _: 1, run
)
