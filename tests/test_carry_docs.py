"""The pages for contributors: every file and name that they mention exists, and what they show and state is true."""

import re
import sys
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cases import KINDS, close, every_loss, objectives, problem
from setwise import __version__, losses
from setwise.core.batch import Classes, Sets
from setwise.core.enumerate import subsets, table, traits
from setwise.core.inference import Inference
from setwise.core.loss import Loss
from setwise.core.registry import discover
from setwise.core.terms import SHAPES
from setwise.losses import LOSSES

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("architecture", "testing", "profiling", "releasing", "glossary")
PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CODE_OF_CONDUCT.md", *(ROOT / "docs/adr").glob("*.md")]
PAGES += [ROOT / f"docs/{name}.md" for name in NAMES]
EVERY = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)

CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PATH = re.compile(r"[\w.-]+(/[\w.-]+)*/?")
SUFFIXES = (".py", ".md", ".toml", ".cff", ".yaml", "/")
MADE = {"dist/", "__pycache__"}
"""Folders that are made while one works."""

FOREIGN = {"NUMBA_CACHE_DIR"}
"""Names that belong to others."""


def prose(page):
    """The text without its code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def spans(page):
    """What stands between single backticks, lines joined."""
    return CODE.findall(prose(page).replace("\n", " "))


@cache
def words_of_the_sources():
    """All words of the package, the tests, the benchmarks and the configuration."""
    files = [
        f
        for room in ("src", "tests", "benchmarks")
        for f in (ROOT / room).rglob("*.py")
        if f.name != Path(__file__).name
    ]
    text = " ".join(f.read_text("utf-8") for f in [*files, ROOT / "pyproject.toml"])
    return frozenset(re.findall(r"\w+", text))


def named_paths(page):
    """The spans that are paths."""
    return [s for s in spans(page) if PATH.fullmatch(s) and ("/" in s or s.endswith(SUFFIXES)) and s not in MADE]


@EVERY
def test_every_path_that_is_named_exists(page):
    missing = [s for s in named_paths(page) if not any((room / s).exists() for room in (ROOT, ROOT / "src/setwise"))]
    assert not missing


@EVERY
def test_every_name_in_code_type_is_one_of_the_sources(page):
    names = {s for s in spans(page) if re.fullmatch(r"_?[A-Za-z]\w{2,}(\.\w+)*(\(\))?", s)}
    names -= {*named_paths(page), *MADE, *FOREIGN}
    assert not [s for s in names if not set(re.findall(r"\w+", s)) <= words_of_the_sources()]


def test_pages_name_many_files():
    assert len({path for page in PAGES for path in named_paths(page)}) > 80


def test_a_name_that_is_gone_would_be_seen():
    assert not {"default_inference", "RankLoss", "SurrogateRisk"} & words_of_the_sources()


def test_every_benchmark_is_on_the_page():
    text = (ROOT / "docs/profiling.md").read_text("utf-8")
    # A peer in a Python of its own is run by its benchmark.
    own = [f for f in (ROOT / "benchmarks").glob("*.py") if not f.name.endswith("_peer.py")]
    runs = [f for f in own if "__main__" in f.read_text("utf-8")]
    assert len(runs) > 5
    assert not [f.name for f in runs if f"`python benchmarks/{f.name}" not in text]


def blocks(page, mark):
    """The Python blocks that follow ``<!-- mark -->``."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.findall(rf"<!-- {re.escape(mark)} -->\n```\w+\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_the_layers_are_those_that_are_checked():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    (drawn,) = blocks("architecture.md", "layers")
    assert drawn.split("\n")[:-1] == [re.sub(r"[()]", "", layer) for layer in contract["layers"]]
    rooms = {f.stem for f in (ROOT / "src/setwise").iterdir() if f.suffix == ".py" or (f / "__init__.py").exists()}
    assert rooms - {"__init__"} <= set(re.findall(r"\w+", drawn))


@pytest.fixture
def found(monkeypatch, tmp_path, request):
    """The class of an example, found in a folder in which its block of the page is the only file."""
    kind, page_mark = request.param
    (source,) = blocks("architecture.md", page_mark)
    room = f"room_of_{kind.__name__.lower()}"
    (tmp_path / room).mkdir()
    (tmp_path / room / "__init__.py").touch()
    (tmp_path / room / "example.py").write_text(source, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield discover(room, kind)
    for name in [name for name in sys.modules if name.startswith(room)]:
        del sys.modules[name]


@pytest.mark.parametrize("found", [(Loss, "example: loss")], indirect=True, ids=["loss"])
def test_the_loss_of_the_page_is_found_and_keeps_its_promises(found):
    ((name, kind),) = found.items()
    assert name == kind.name == "fowlkes_mallows"
    for p in (1, 2, 5):
        (loss,) = kind.examples(p)
        for y in subsets(p):
            assert loss.traits & set(SHAPES) <= traits(loss, y)
            values = table(loss, y)
            assert values.min() == values[0] == 0.0
            assert values.max() <= 1.0
    y, guess = np.array([1, 1, 1, 0, 0, 0]), np.array([1, 1, 0, 1, 1, 0])
    assert kind()(y, guess) == pytest.approx(1 - np.sqrt(2 / 4 * 2 / 3))


@pytest.mark.slow
@pytest.mark.parametrize("found", [(Inference, "example: inference")], indirect=True, ids=["inference"])
def test_the_inference_of_the_page_is_found_and_exact(found):
    ((name, kind),) = found.items()
    method, rng, taken = kind(), np.random.default_rng(0), []
    assert name == "by_first_mistake"
    for loss in [variant for one in every_loss(4) for variant in (one, 2 * one, one + 0.2 * losses.Hamming())]:
        for score_kind in KINDS:
            y, scores = problem(rng, 4, score_kind, np.float64)
            bound_loss = loss.bind(Sets.single(y))
            assert method.refuses(bound_loss, slack=True) is not None
            if method.refuses(bound_loss) is not None:
                continue
            taken.append(type(loss).__name__)
            found = method.prepare(bound_loss).maximize(scores)
            assert found.exact.all()
            assert close(found.values[0], objectives(loss, y, scores).max(), scores), (loss, y, scores)
    assert "ZeroOne" in taken
    assert "refuses Classes" in method.refuses(losses.Hamming().bind(Classes.single([0, 1, 2], 3)))
    assert method.refuses(losses.Jaccard().bind(Sets.single([0, 1]))).endswith("Use ByCardinality.")


def rows_of_conventions():
    """The cells of the table of conventions, without their backticks."""
    text = (ROOT / "docs/glossary.md").read_text("utf-8").split("<!-- conventions -->\n")[1].split("\n\n")[0]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in text.split("\n")[2:]]


@pytest.mark.parametrize("row", rows_of_conventions(), ids=lambda row: row[0])
def test_the_conventions_are_those_of_the_losses(row):
    loss = eval(row[0], {name: getattr(losses, name) for name in losses.__all__})
    for p in (2, 3, 7):
        for wrong in range(p + 1):
            guess = np.arange(p) < wrong
            prediction = guess.astype(float) + np.arange(p) / 100 if loss.reads == "scores" else guess
            expected = eval(row[2 if wrong else 1], {"fp": wrong, "N": p})
            assert loss(np.zeros(p), prediction) == pytest.approx(expected)
            prediction = 1.0 - prediction if loss.reads == "scores" else ~guess
            expected = eval(row[3], {"fn": wrong, "P": p})
            assert wrong == 0 or loss(np.ones(p), prediction) == pytest.approx(expected)


def test_every_loss_has_its_convention_on_the_page():
    rows = {re.match(r"\w+", row[0]).group() for row in rows_of_conventions()}
    below = (ROOT / "docs/glossary.md").read_text("utf-8").split("<!-- conventions -->")[1].split("\n\n")[1]
    assert rows | set(re.findall(r"`(\w+)`", below)) == {kind.__name__ for kind in LOSSES.values()}


def test_the_glossary_is_sorted():
    text = (ROOT / "docs/glossary.md").read_text("utf-8")
    terms = [term.lower() for term in re.findall(r"^\*\*([^*]+)\.\*\*", text, flags=re.MULTILINE)]
    assert len(terms) > 40
    assert all(a < b for a, b in pairwise(terms)), [pair for pair in pairwise(terms) if pair[0] >= pair[1]]


def test_the_version_is_written_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version", "readme"]
    source = ROOT / project["tool"]["hatch"]["version"]["path"]
    assert re.findall(r'^__version__ = "(.+)"$', source.read_text("utf-8"), flags=re.MULTILINE) == [__version__]
    others = [ROOT / "CITATION.cff", ROOT / "README.md", *(f for f in (ROOT / "src").rglob("*.py") if f != source)]
    assert not [f for f in others if re.search(rf"(?<![\d.]){re.escape(__version__)}(?![\d.])", f.read_text("utf-8"))]


def test_records_of_decisions_are_numbered_and_have_a_status():
    pages = sorted((ROOT / "docs/adr").glob("0*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        head = page.read_text("utf-8").split("\n")
        assert head[0].startswith(f"# {int(page.name[:4])}. ")
        assert head[2].startswith("Status: accepted")
