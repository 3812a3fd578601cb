"""Every Python block in the README and in docs/ runs, file by file, each file in one namespace.

A text block that follows a Python block at once is what that block prints. Numbers of two digits or more may differ by
one unit in the last digit.
"""

import ast
import contextlib
import io
import re
import runpy
import shlex
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from definitions import definitions
from packages import PACKAGES
from setwise import cli, losses
from setwise.core.batch import Sets
from setwise.description import examine, verdicts
from setwise.inference import INFERENCES, Enumeration
from setwise.inference.auto import METHODS
from setwise.learners import LEARNERS
from setwise.losses import LOSSES
from setwise.spaces import SEARCHES, SPACES
from setwise.surrogates import SURROGATES

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs/guide"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = sorted({*PAGES, *ROOT.glob("*.md")})
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
ELSEWHERE = re.compile(r"^(?:```py|python - <<'EOF')\n(.*?)^(?:```|EOF)$", re.MULTILINE | re.DOTALL)
"""Python that needs another program, data that are not here, or long: blocks of ``py``, and what a shell hands over."""

NUMBER = re.compile(r"\d+(?:\.\d+)?")
COMMAND = re.compile(r"<!-- newcomer: (run|test) -->\n```bash\n(.+?)\n```")


GUIDES = (
    "bags", "cluster", "compare", "estimator", "learners", "measure", "multilabel", "network_inference", "networks",
    "own_loss", "plotting", "probabilities", "saved_models", "torch_grids", "weak_labels",
)  # fmt: skip
LONG = {*(f"docs/guide/{name}.md" for name in GUIDES), "docs/faq.md", "docs/moving/tuned_threshold.md"}
LONG |= {"docs/start/chooser.md"}
"""Pages whose blocks take more than a second."""


def page_id(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page_id(page) in LONG else (), id=page_id(page))
        for page in PAGES
        if BLOCK.search(page.read_text("utf-8"))
    ],
)
def test_python_blocks_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, namespace = page.read_text("utf-8"), {"__name__": "__page__"}
    for found in BLOCK.finditer(text):
        line = text[: found.start(1)].count("\n")
        for extra in ("torch", "lightgbm", "distributed"):
            if extra in found.group(1):
                pytest.importorskip(extra)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            # Blank lines in front make a failure name the line of the page.
            exec(compile("\n" * line + found.group(1), str(page), "exec"), namespace)
        if found.group(2) is not None:
            assert_printed(printed.getvalue(), found.group(2))


@pytest.mark.parametrize("page", [page for page in PAGES if ELSEWHERE.search(page.read_text("utf-8"))], ids=page_id)
def test_python_that_runs_elsewhere_names_what_there_is(page):
    for found in ELSEWHERE.finditer(page.read_text("utf-8")):
        tree = ast.parse(found[1])
        homes = [one for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) and one.module.startswith("setwise")]
        for home in homes:
            module = import_module(home.module)
            for name in home.names:
                assert hasattr(module, name.name) or find_spec(f"{home.module}.{name.name}")


def assert_printed(printed, expected):
    """The same words and numbers, up to one unit in the last of two digits or more: machines round differently.

    One digit must be the same: 0 and 1 are labels, and .4 is not .5.
    """
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", expected), printed
    for seen, said in zip(NUMBER.findall(printed), NUMBER.findall(expected), strict=True):
        unit = 10.0 ** -len(said.partition(".")[2])
        assert abs(float(seen) - float(said)) < (1.5 * unit if float(said) > 9.5 * unit else 0.5 * unit), printed


@pytest.mark.parametrize(("printed", "same"), [("[1 0] 0.5", True), ("[0 0] 0.5", False), ("[1 0] 0.4", False)])
def test_another_digit_is_found(printed, same):
    with contextlib.nullcontext() if same else pytest.raises(AssertionError):
        assert_printed(printed, "[1 0] 0.5")


def anchors(page):
    """The anchors of the headings of a page, as repository hosts make them, or the names that code defines."""
    if page.suffix == ".py":
        return definitions(page.read_text("utf-8"))
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def is_made_by_the_build(target):
    """Whether the build of the site makes the page: of a loss, of a public name, of a package, or of an example."""
    if target.suffix != ".rst" or target.parent.parent != ROOT / "docs":
        return False
    if target.parent.name == "gallery":
        return target.stem == "index" or (ROOT / "examples" / f"{target.stem}.py").exists()
    if target.parent.name == "losses":
        return target.stem == "index" or target.stem in LOSSES
    package, _, name = target.stem.rpartition(".")
    made = {"index", "packages", *PACKAGES}
    return target.parent.name == "api" and (target.stem in made or hasattr(import_module(package), name))


@pytest.mark.parametrize("page", LINKED, ids=page_id)
def test_links_lead_somewhere(page):
    for path, anchor in LINK.findall(page.read_text("utf-8")):
        target = (page.parent / path).resolve() if path else page
        if is_made_by_the_build(target):
            continue
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def test_the_readme_has_one_command_to_run_and_one_to_test():
    commands = COMMAND.findall((ROOT / "README.md").read_text("utf-8"))
    assert [name for name, _ in commands] == ["run", "test"]


@pytest.mark.parametrize("page", [page for page in PAGES if SHELL.search(page.read_text("utf-8"))], ids=page_id)
def test_commands_of_setwise_are_understood(page):
    for line in "\n".join(SHELL.findall(page.read_text("utf-8"))).replace("\\\n", " ").splitlines():
        for command in line.split("&&"):
            words = shlex.split(command, comments=True)
            if words[:1] == ["setwise"]:
                assert callable(cli.options_parser().parse_args(words[1:]).run)


def test_every_loss_has_a_section_in_the_guide():
    text = (GUIDE / "losses.md").read_text("utf-8")
    heads = " ".join(re.findall(r"^##+ (.*)$", text, re.MULTILINE))
    assert not [kind.__name__ for kind in LOSSES.values() if f"`{kind.__name__}`" not in heads]


@pytest.mark.parametrize(
    ("page", "registry"),
    [
        ("surrogates.md", SURROGATES),
        ("inference.md", INFERENCES | SEARCHES),
        ("learners.md", LEARNERS),
        ("label_spaces.md", SPACES),
    ],
)
def test_everything_that_is_found_by_itself_is_in_its_guide_page(page, registry):
    text = (GUIDE / page).read_text("utf-8")
    assert not [kind.__name__ for kind in registry.values() if not re.search(rf"`{kind.__name__}\b", text)]


def rows_of_the_table():
    """Loss, and what the three surrogates make of it, of each row of the table in the guide to surrogates."""
    lines = (GUIDE / "surrogates.md").read_text("utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    return [row for row in cells if len(row) == 4]


def said_of(text, p):
    """The loss that the cell ``text`` names, and the verdicts on it for one ground truth of p decisions."""
    k = np.arange(p + 1.0)
    names = {name: getattr(losses, name) for name in losses.__all__}
    loss = eval(text.strip("`"), names | {"g": np.sqrt(k), "h": k**2, "w": np.arange(p) % 3 / 2, "a": 1 + k[:p]})
    truth = Sets.single(np.arange(p) % 3 == 0)
    found = verdicts(loss, truth, examine(loss, truth))
    # The ramp has no column: it takes what margin rescaling takes, and is never convex.
    return loss, [verdict for verdict in found if verdict.surrogate != "ramp"]


@pytest.mark.parametrize("row", rows_of_the_table(), ids=lambda row: row[0])
def test_the_table_of_losses_and_surrogates_is_true(row):
    # Traits are certain up to 16 decisions; what is tractable there by enumeration alone may not be above 20.
    for said, large, small in zip(row[1:], said_of(row[0], 30)[1], said_of(row[0], 12)[1], strict=True):
        assert large.convex == small.convex
        tight, exact = "tight" if small.tight else "not tight", "exact" if large.tractable else "bounded"
        assert said == (f"{tight}, {exact}" if large.convex else "refused")


def test_the_table_has_every_loss_of_mistakes():
    kinds = {type(said_of(row[0], 4)[0]) for row in rows_of_the_table()}
    users_own = {losses.CountFunctionLoss, losses.SetFunctionLoss, losses.MetricLoss}
    # Where all labels are known these three are the number of mistakes.
    weak = {losses.BoxFullness, losses.BorderConvexity, losses.CountRange}
    assert {kind for kind in LOSSES.values() if kind.reads == "labels"} - kinds == users_own | weak


@pytest.mark.slow
def test_the_picture_of_the_readme_can_be_drawn(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    pages = (ROOT / "README.md").read_text("utf-8") + (ROOT / "docs/index.md").read_text("utf-8")
    for path in runpy.run_path(str(ROOT / "docs/images/draw.py"))["draw"](tmp_path):
        assert path.stat().st_size > 10_000
        assert (ROOT / "docs/images" / path.name).exists()
        assert pages.count(f"images/{path.name}") == 2


def test_the_table_of_inference_is_the_one_that_is_asked():
    cells = re.findall(r"^\| `(\w+\([\w()]*\)|\w+)` \|", (GUIDE / "inference.md").read_text("utf-8"), re.MULTILINE)
    names = [f"Enumeration({m.limit})" if isinstance(m, Enumeration) else type(m).__name__ for m in METHODS]
    # Batches of single labels bring these along.
    own = ("BySequences", "ByMatchings", "ByWindows", "ByNetworks")
    assert [cell.removesuffix("(Auto())") for cell in cells] == ["ByPieces", *names[:-2], *own, *names[-2:]]
