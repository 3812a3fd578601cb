"""What must work where only the wheel and its dependencies are installed: ``smoke.py SDIST WHEEL``, from any folder."""

import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import metadata, version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import setwise
from setwise import MeasureClassifier, SetClassifier, describe, losses

SHIPPED = {
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "pyproject.toml", "src", "papers", "tests", "docs",
    "examples", "packaging",
}  # fmt: skip
EXTRAS = {
    "setwise.dask": "setwise.dask needs dask and distributed: pip install 'setwise[dask]'.",
    "setwise.plotting": "setwise.plotting needs matplotlib: pip install 'setwise[compare]'.",
    "setwise.torch": "setwise.torch needs PyTorch 2.4 or later: pip install torch.",
}
WITH_EXTRAS = (*EXTRAS, "setwise.compare.pictures")


def check_archives(files: list[Path]) -> None:
    """The wheel holds the package and nothing else, the source archive what a contributor needs; one version."""
    (wheel,) = (f for f in files if f.suffix == ".whl")
    (sdist,) = (f for f in files if f.suffix == ".gz")
    assert setwise.__version__ == version("setwise") == wheel.name.split("-")[1]
    names = zipfile.ZipFile(wheel).namelist()
    roots = {name.split("/")[0] for name in names}
    assert roots == {"setwise", f"setwise-{setwise.__version__}.dist-info"}, roots
    assert "setwise/py.typed" in names
    # What the index shows has no repository around it.
    assert not re.findall(r'(?:\]\(|src(?:set)?=")(?!https?:|#)', str(metadata("setwise").get_payload()))
    with tarfile.open(sdist) as archive:
        held = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert held >= SHIPPED, SHIPPED - held


def check_imports() -> None:
    """Every module can be imported without the extras, but those that need one, which say which."""
    assert Path(sys.prefix) in Path(setwise.__file__).parents, setwise.__file__
    for module in pkgutil.walk_packages(setwise.__path__, "setwise.", onerror=lambda name: None):
        if not f"{module.name}.".startswith(tuple(f"{name}." for name in WITH_EXTRAS)):
            importlib.import_module(module.name)
    for name, sentence in EXTRAS.items():
        command = [sys.executable, "-c", f"import {name}"]
        said = subprocess.run(command, check=False, capture_output=True, text=True).stderr
        assert f"ImportError: {sentence}" in said, said


def check_a_fit() -> None:
    """The two first examples of the guide: one set, and groups."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = X[:, 0] + 0.2 * rng.standard_normal(400) > 0.0
    model = SetClassifier(loss="jaccard", surrogate="convex", C=1000.0).fit(X, y)
    assert model.status_ == "converged"
    assert model.score(X, y) > y.mean() + 0.1  # all positive scores y.mean()
    bags = np.repeat(np.arange(40), 10)
    assert SetClassifier(loss="f1", surrogate="convex", C=100.0).fit(X, y, groups=bags).duality_gap_ <= 1e-3
    assert MeasureClassifier(loss="f1", cv=3).fit(X, y).best_score_ > 0.5
    assert "submodular" in describe(losses.Jaccard(), y[:12])


def check_the_command_line(folder: Path) -> None:
    """``--version``, ``list``, ``compare --quick`` on an archive, and what is said without the extra ``compare``."""
    command = [str(shutil.which("setwise", path=Path(sys.executable).parent))]

    def run(*arguments: str) -> str:
        return subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout

    assert run("--version").strip() == f"setwise {setwise.__version__}"
    module = subprocess.run([sys.executable, "-m", "setwise", "--version"], cwd=folder, capture_output=True, check=True)
    assert module.stdout.decode().split() == ["setwise", setwise.__version__]
    listed = run("list")
    assert all(f"  {name} " in listed for name in losses.LOSSES)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    np.savez(folder / "data.npz", X=X, y=X[:, 0] + rng.standard_normal(300) > 0.5)
    said = run("compare", "data.npz", "--base", "linear", "--quick", "--out", "report")
    assert "logistic regression" in said.splitlines()[2], said
    assert "For pictures: pip install" in (folder / "report" / "report.html").read_text("utf-8")
    (folder / "data.csv").write_text("a,y\n1,0\n2,1\n")
    for words, sentence in (
        (["predict", "model.skops", "data.csv"], "to read model.skops install skops"),
        (["compare", "data.csv"], "to read data.csv install pandas"),
    ):
        said = subprocess.run([*command, *words], cwd=folder, capture_output=True, text=True, check=False).stderr
        assert said == f"setwise: {sentence}: pip install 'setwise[compare]'.\n", said


if __name__ == "__main__":
    check_archives([Path(argument) for argument in sys.argv[1:]])
    check_imports()
    check_a_fit()
    with TemporaryDirectory() as name:
        check_the_command_line(Path(name))
    print("smoke test: 4 passed, 0 failed")
