"""One page for each loss, made from its docstring, its traits and its surrogates, so that a new loss has one."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from api_pages import heading, summary, write
from figures import as_rst, plain_style, save_both
from loss_facts import absent_classes, absent_scores, class_rows, costs, monge, three_classes
from loss_pictures import picture, surrogate_surface
from setwise.core.batch import Sets
from setwise.core.terms import SHAPES, Trait
from setwise.description import examine, order_verdicts, verdicts
from setwise.losses import LOSSES, Loss

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SIZE = 6
"""The number of decisions of the set for which traits and surrogates are told; all 2^6 sets of mistakes are tried."""

LARGE = 30
"""The number of decisions of a set too large for enumeration, for which the method of inference is told too."""

KINDS = {
    "labels": "Losses of labels 0 and 1",
    "scores": "Losses of an order of scores",
    "classes": "Losses of several classes",
}


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table of reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (head, *rows):
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n\n"


@dataclass(frozen=True)
class LossPage:
    """A loss as its page shows it.

    Attributes
    ----------
    kind, loss : the class, and the first of its examples for a set of ``SIZE`` decisions
    """

    kind: type[Loss]
    loss: Loss

    @property
    def truth(self) -> Sets:
        """The set for which the page tells the traits: two positives of six."""
        return Sets.single(np.arange(SIZE) < 2)

    def properties(self) -> str:
        """The traits, and whether each holds for every ground truth or was seen for this one."""
        if self.loss.reads == "classes":
            shapes = " and ".join(trait.name.lower() for trait in SHAPES if trait in self.loss.traits)
            promise = f"It promises to be {shapes} in the mistakes of a single class. " if shapes else ""
            return (
                f"{promise}It reads several classes, so it is not a loss of the counts of one set, and Monge is not "
                "defined.\n\n"
            )
        if self.loss.reads == "scores":
            return (
                "It reads an order of scores, not a set of mistakes, and has no traits. It is not a loss of counts, so "
                "Monge is not defined.\n\n"
            )
        found = examine(self.loss, self.truth)
        rows = [(trait.name.lower(), _yes(found.holds(trait)), _promise(self.loss, trait)) for trait in SHAPES]
        rows.append(("Monge", *monge(self.loss, 2, SIZE - 2)))
        shared = set.intersection(*(set(one.traits) for one in self.kind.examples(SIZE)))
        says = [
            f"- {trait.value}{'' if trait in shared else ', for these parameters'}\n"
            for trait in Trait
            if trait in self.loss.traits and trait not in SHAPES
        ]
        head = ("trait", "for 2 positives of 6", "promised for every target")
        return table(head, rows) + (f"It {says[0][2:].strip()}.\n" if len(says) == 1 else "".join(says)) + "\n"

    def surrogates(self) -> str:
        """Which surrogates are convex and tight, and what finds their maximum at what cost."""
        if self.loss.reads == "classes":
            rows = class_rows(self.loss)
            return "Bound to six decisions of three classes:\n\n" + _surrogate_table(rows) + self.cost()
        of_scores = self.loss.reads == "scores"
        found = order_verdicts(self.loss, self.truth) if of_scores else verdicts(
            self.loss, self.truth, examine(self.loss, self.truth)
        )  # fmt: skip
        names = {"lovasz": "LovaszHinge", "margin": "MarginRescaling", "slack": "SlackRescaling", "ramp": "Ramp"}
        return _surrogate_table([(names[one.surrogate], one.words) for one in found]) + self.cost()

    def cost(self) -> str:
        """What the maximum costs under margin and slack rescaling, for the small set and for a larger one."""
        if self.loss.reads == "classes":
            sets = [("6 decisions, 3 classes", self.loss.bind(three_classes(self.loss)))]
        else:
            large = self.kind.examples(LARGE)[0]
            sets = [
                (f"{SIZE} decisions", self.loss.bind(self.truth)),
                (f"{LARGE} decisions", large.bind(Sets.single(np.arange(LARGE) < LARGE // 3))),
            ]
        kinds = (("margin rescaling, ramp", False), ("slack rescaling", True))
        rows = []
        for name, slack in kinds:
            found = [(f"{name}: {words}", costs(bound, slack)) for words, bound in sets]
            # One row says what holds for both sets.
            same = len({words for _, words in found}) == 1
            rows += [(name, found[0][1])] if same else found
        sizes = " and ".join(words for words, _ in sets)
        return (
            f"The cost of the maximum for sets of {sizes}, from the documentation of the chosen method (p decisions, P "
            "positives, N negatives):\n\n" + table(("rescaling", "method and cost"), rows)
        )

    def conventions(self) -> str:
        """What the loss is where a class is absent from the target."""
        if self.loss.reads == "classes":
            head = ("absent from the target", "all right", "one predicted as it", "all predicted as it")
            return "Six decisions of the other two classes, of three:\n\n" + table(head, absent_classes(self.loss))
        if self.loss.reads == "scores":
            head = (f"target of {SIZE}", "falling scores", "equal scores")
            return table(head, absent_scores(self.value, SIZE))
        predicted = (("nothing", [0] * SIZE), ("one", [1] + [0] * (SIZE - 1)), ("everything", [1] * SIZE))
        rows = [
            (words, *(self.value(target, np.array(guess)) for _, guess in predicted))
            for words, target in (("no positives", np.zeros(SIZE, int)), ("no negatives", np.ones(SIZE, int)))
        ]
        return table(("target of 6", *(f"{name} predicted" for name, _ in predicted)), rows)

    def value(self, target: Any, guess: Any) -> str:
        """The loss of one prediction as a number, or that it refuses."""
        try:
            return f"{self.loss(target, guess):.3g}"
        except ValueError:
            return "refused"


def _surrogate_table(rows: list[tuple[str, str]]) -> str:
    linked = [(f":doc:`{name} </api/setwise.surrogates.{name}>`", words) for name, words in rows]
    return table(("surrogate", "what holds"), linked)


def _yes(answer: bool | None) -> str:
    return {True: "yes", False: "no", None: "unknown"}[answer]


def _promise(loss: Loss, trait: Trait) -> str:
    return "yes" if trait in loss.traits else "no" if trait in loss.denied else "not promised"


def shown_losses() -> Iterator[LossPage]:
    """All discovered losses, each with the first of its examples."""
    for _, kind in sorted(LOSSES.items(), key=lambda item: item[1].__name__.lower()):
        yield LossPage(kind, kind.examples(SIZE)[0])


def page(shown: LossPage, pictures: str) -> str:
    """The page of one loss."""
    kind, name = shown.kind, shown.kind.__name__
    written = repr(shown.loss)
    parts = [
        heading(name),
        f'``from setwise.losses import {name}``, or by its short name ``"{kind.name}"``\n\n',
        f".. autoclass:: setwise.losses.{name}\n\n",
        heading("Pictures", "-") + pictures if pictures else "",
        heading("Properties", "-") + (f"Of ``{written}``:\n\n" if len(written) < 200 else "") + shown.properties(),
        heading("Surrogates and inference", "-"),
        "For the same loss. :doc:`/guide/surrogates` and :doc:`/guide/inference` explain the words.\n\n",
        shown.surrogates(),
        heading("If a class is absent", "-") + shown.conventions(),
    ]
    return "".join(parts)


def make(app: "Sphinx") -> None:
    """Write a page for each loss, and the index of these pages."""
    folder = Path(app.srcdir) / "losses"
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    plain_style(None, None)
    rows: dict[str, list[tuple[str, ...]]] = {kind: [] for kind in KINDS}
    for shown in shown_losses():
        name, pictures = shown.kind.name, ""
        for what, figure in (("cost", picture(shown.loss)), ("surface", surrogate_surface(shown.loss))):
            if figure is not None:
                both = save_both(figure, folder / "pictures" / f"{name}_{what}.png")
                pictures += as_rst(*(f"pictures/{path.name}" for path in both), figure.get_label())
        write(folder / f"{name}.rst", page(shown, pictures))
        rows[shown.loss.reads].append((f":doc:`{shown.kind.__name__} <{name}>`", summary(shown.kind.__doc__)))
    text = heading("Losses") + (
        "Each loss has a page with its formula, its picture, its traits, the surrogates that suit it and how they are "
        "maximized, and its value if a class is absent. The :doc:`guide </guide/losses>` says when to use which."
        "\n\n"
    )
    for kind, title in KINDS.items():
        text += heading(title, "-") + table(("loss", "formula"), rows[kind])
    tree = "".join(f"   {shown.kind.name}\n" for shown in shown_losses())
    write(folder / "index.rst", f"{text}.. toctree::\n   :hidden:\n\n{tree}")


def setup(app: "Sphinx") -> dict[str, bool]:
    """Makes the pages when a build begins."""
    app.connect("builder-inited", make)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
