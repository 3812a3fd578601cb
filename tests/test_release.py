"""The workflows were never run: what they call exists, and what they say twice agrees. So do metadata and recipe."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

from setwise import __version__

ROOT = Path(__file__).resolve().parents[1]
FILES = {path.stem: path for path in sorted((ROOT / ".github/workflows").glob("*.yml"))}
CALLED = re.compile(r'(?:"?\$GITHUB_WORKSPACE/|python )"?(\.?[\w/.-]+\.py)')
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CONDA = {"matplotlib": "matplotlib-base", "torch": "pytorch"}
"""Packages with another name at conda-forge."""


@pytest.fixture(params=FILES)
def text(request):
    return FILES[request.param].read_text("utf-8")


@pytest.fixture(scope="module")
def yaml():
    return pytest.importorskip("yaml", reason="pyyaml comes with the extra docs")


@pytest.fixture(scope="module")
def jobs(yaml):
    return {name: yaml.safe_load(path.read_text("utf-8"))["jobs"] for name, path in FILES.items()}


@pytest.fixture(scope="module")
def complaint():
    return runpy.run_path(str(ROOT / ".ci/tagged.py"))["complaint"]


def commands(job):
    return [line for step in job["steps"] for line in step.get("run", "").splitlines()]


def test_every_action_is_pinned_to_a_commit(text):
    used = re.findall(r"uses: (.*)", text)
    assert used
    assert not [one for one in used if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)]


def test_one_action_has_one_commit():
    used = {line for path in FILES.values() for line in re.findall(r"uses: (.*)", path.read_text("utf-8"))}
    assert len({one.partition("@")[0] for one in used}) == len(used)


def test_every_file_that_is_called_exists(text):
    assert not [name for name in CALLED.findall(text) if not (ROOT / name).exists()]


def test_files_that_a_release_calls():
    assert set(CALLED.findall(FILES["release"].read_text("utf-8"))) == {".ci/tagged.py", ".ci/smoke.py"}


def test_a_job_may_do_no_more_than_it_needs(yaml, jobs):
    for path in FILES.values():
        assert yaml.safe_load(path.read_text("utf-8"))["permissions"] == {}
    more = {
        name: job["permissions"]
        for held in jobs.values()
        for name, job in held.items()
        if job["permissions"] != {"contents": "read"}
    }
    assert more == {
        "rehearse": {"id-token": "write"},
        "publish": {"id-token": "write", "attestations": "write"},
        "pages": {"pages": "write", "id-token": "write"},
    }
    assert not [path for path in FILES.values() if re.search(r"secrets\.|password:", path.read_text("utf-8"))]


def test_the_fast_lane_is_the_command_of_the_readme_on_the_lowest_and_the_highest_python(jobs):
    lane = jobs["tests"]["tests"]
    readme = (ROOT / "README.md").read_text("utf-8")
    assert re.search(r"<!-- newcomer: test -->\n```bash\n(.*)\n```", readme)[1] == commands(lane)[-1]
    matrix = lane["strategy"]["matrix"]
    assert matrix["python"] == [*runpy.run_path(str(ROOT / ".ci/bounds.py"))["pythons"]()]
    assert matrix["system"] == ["ubuntu-latest", "macos-latest", "windows-latest"]


def test_what_is_checked_there_is_checked_before_a_release_too(jobs):
    run = (ROOT / ".ci/run").read_text("utf-8")
    checked = [*commands(jobs["tests"]["code"])[1:], "python -m build", "twine check --strict", "check-wheel-contents"]
    assert len(checked) > 6
    assert not [one for one in checked if f" {one}" not in run]


def test_what_is_installed_is_in_the_project_and_pytorch_is_of_one_version(text):
    installed = [line for line in text.splitlines() if re.search(r"pip install '", line)]
    found = [re.search(r"pip install '\.\[(\w+)\]' torch==2\.13\.0( && .*)?$", line) for line in installed]
    assert found
    assert all(one and one[1] in PROJECT["optional-dependencies"] for one in found)


def test_the_site_that_is_served_is_the_one_that_is_built(jobs):
    site, pages = jobs["release"]["site"], jobs["release"]["pages"]
    (build,) = (line.split() for line in commands(site) if line.startswith("sphinx-build"))
    assert build[:2] == ["sphinx-build", "-W"]
    assert (ROOT / build[-2] / "conf.py").exists()
    assert site["steps"][-1]["with"]["path"] == f"{build[-1]}/"
    assert f"{build[-1]}/" in (ROOT / ".gitignore").read_text("utf-8").split()
    assert pages["needs"] == "publish"
    assert commands(jobs["tests"]["site"])[-1].split()[-2:] == build[-2:]


def test_a_tag_is_published_and_a_run_by_hand_is_a_rehearsal(yaml, jobs):
    # YAML reads the word "on" as true.
    assert yaml.safe_load(FILES["release"].read_text("utf-8"))[True] == {
        "push": {"tags": ["v*"]},
        "workflow_dispatch": None,
    }
    for name, event, index in (
        ("publish", "push", None),
        ("rehearse", "workflow_dispatch", "https://test.pypi.org/legacy/"),
    ):
        job = jobs["release"][name]
        assert job["if"] == f"github.event_name == '{event}'"
        assert job["needs"] == ["build", "site"]
        assert job["steps"][-1]["uses"].startswith("pypa/gh-action-pypi-publish@")
        assert job["steps"][-1].get("with", {}).get("repository-url") == index


def test_addresses_are_those_of_one_repository(yaml):
    urls = PROJECT["urls"]
    owner, name = urls["Source"].removeprefix("https://github.com/").split("/")
    assert urls["Documentation"] == f"https://{owner}.github.io/{name}/"
    assert [urls[what].removeprefix(urls["Source"]) for what in ("Changelog", "Issues")] == [
        "/blob/main/CHANGELOG.md",
        "/issues",
    ]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (citation["repository-code"], citation["url"]) == (urls["Source"], urls["Documentation"])
    assert f"({urls['Source']}/security/advisories/new)" in (ROOT / "SECURITY.md").read_text("utf-8")


def test_the_recipe_says_what_the_project_says(yaml):
    text = (ROOT / "packaging/conda/recipe.yaml").read_text("utf-8")
    recipe = yaml.safe_load(text.replace("${{ python_min }}", PROJECT["requires-python"].removeprefix(">=")))
    lists = recipe["requirements"]

    def named(lines):
        split = [re.fullmatch(r"([\w-]+)(>=.*)", line).groups() for line in lines]
        return {f"{CONDA.get(name, name)} {bound}" for name, bound in split}

    extras = [one for name in ("compare", "torch", "dask", "image") for one in PROJECT["optional-dependencies"][name]]
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    assert {*lists["run"]} == {f"python {PROJECT['requires-python']}"} | named(PROJECT["dependencies"])
    assert {*lists["run_constraints"]} == named(extras)
    assert {*lists["host"][2:]} == named(backend)
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    assert recipe["build"]["python"]["entry_points"] == [f"{k} = {v}" for k, v in PROJECT["scripts"].items()]
    about = recipe["about"]
    assert (about["summary"], about["license"]) == (PROJECT["description"], PROJECT["license"])
    assert (about["repository"], about["documentation"]) == (
        PROJECT["urls"]["Source"],
        PROJECT["urls"]["Documentation"],
    )
    assert recipe["source"]["url"] == f"{about['repository']}/archive/refs/tags/v${{{{ version }}}}.tar.gz"


@pytest.mark.parametrize(("tag", "said"), [("v1.2.3", None), ("1.2.3", "it must be v1.2.3"), ("v1.2.4", "v1.2.3")])
def test_the_tag_is_that_of_the_version(complaint, tmp_path, tag, said):
    source = project(tmp_path, "1.2.3", "## 1.2.3 - 2026-11-24\n")
    found = complaint(tag, source)
    assert found is None if said is None else said in found


@pytest.mark.parametrize(
    "changes", ["## Unreleased\n", "## 1.2.3\n", "## 11.2.3 - 2026-11-24\n", "## 1.2.30 - 2026-11-24\n"]
)
def test_the_changelog_has_a_section_with_a_date(complaint, tmp_path, changes):
    assert "CHANGELOG.md has no section of 1.2.3" in complaint("v1.2.3", project(tmp_path, "1.2.3", changes))


def test_the_version_of_this_project_is_read(complaint):
    assert f"it must be v{__version__}" in complaint("nothing")


def test_the_citation_has_what_its_format_asks_for(yaml):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert "version" not in citation
    assert all(author.get("name") or author.get("family-names") for author in citation["authors"])
    for reference in citation["references"]:
        assert {"type", "title", "authors", "year"} <= set(reference)
        assert reference["type"] != "conference-paper" or "collection-title" in reference


def project(folder, version, changes):
    """A folder with the files that are read."""
    (folder / "pyproject.toml").write_text('[tool.hatch.version]\npath = "made.py"\n', "utf-8")
    (folder / "made.py").write_text(f'__version__ = "{version}"\n', "utf-8")
    (folder / "CHANGELOG.md").write_text(changes, "utf-8")
    return folder
