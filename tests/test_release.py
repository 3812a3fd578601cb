"""The release workflow was never run: what it calls exists, and the tag that it asks for is that of the version."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

from setwise import __version__

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW = ROOT / ".github/workflows/release.yml"
CALLED = re.compile(r'(?:"?\$GITHUB_WORKSPACE/|python )"?(\.?[\w/.-]+\.py)')

pytestmark = pytest.mark.skipif(not WORKFLOW.exists(), reason="the source archive has no workflows")


@pytest.fixture(scope="module")
def text():
    return WORKFLOW.read_text("utf-8")


@pytest.fixture(scope="module")
def complaint():
    return runpy.run_path(str(ROOT / ".ci/tagged.py"))["complaint"]


def test_every_file_that_it_calls_exists(text):
    called = set(CALLED.findall(text))
    assert called == {".ci/tagged.py", ".ci/smoke.py"}
    assert not [name for name in called if not (ROOT / name).exists()]


def test_the_site_is_built_where_the_sources_are(text):
    (source, made) = re.search(r"python -m sphinx -W -b html (\S+) (\S+)\n", text).groups()
    assert (ROOT / source / "conf.py").exists()
    assert f"path: {made}/" in text
    assert f"{made}/" in (ROOT / ".gitignore").read_text("utf-8").split()


def test_extras_that_it_installs_are_in_the_project(text):
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    extras = [name for group in re.findall(r"\.\[([\w,]+)\]", text) for name in group.split(",")]
    assert "docs" in extras
    assert not [name for name in extras if not re.search(rf"^{name} = \[", project, flags=re.MULTILINE)]


def test_it_runs_on_tags_alone_and_publishes_without_a_password(text):
    assert re.search(r'^on:\n  push:\n    tags: \["v\*"\]\n\n', text, flags=re.MULTILINE)
    publish = text.split("\n  publish:\n")[1]
    assert "needs: [build, site]" in publish
    assert "id-token: write" in publish
    assert "pypa/gh-action-pypi-publish" in publish
    assert not re.search(r"secrets\.|password", text)


def test_it_is_parsed_as_it_is_meant(text):
    yaml = pytest.importorskip("yaml", reason="pyyaml comes with the extra docs")
    workflow = yaml.safe_load(text)
    assert set(workflow["jobs"]) == {"build", "site", "publish"}
    for job in workflow["jobs"].values():
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])


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


def test_the_citation_has_what_its_format_asks_for():
    yaml = pytest.importorskip("yaml", reason="pyyaml comes with the extra docs")
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


def test_the_site_is_served_from_the_same_sources(text):
    yaml = pytest.importorskip("yaml", reason="pyyaml comes with the extra docs")
    served = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text("utf-8"))
    assert (ROOT / served["sphinx"]["configuration"]).exists()
    assert served["sphinx"]["fail_on_warning"]
    assert served["python"]["install"] == [{"method": "pip", "path": ".", "extra_requirements": ["docs"]}]
    # Both build with the same Python and the same PyTorch.
    assert f'python-version: "{served["build"]["tools"]["python"]}"' in text
    assert all(line.removeprefix("pip install ") in text for line in served["build"]["jobs"]["post_install"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["urls"]["Documentation"] == "https://setwise.readthedocs.io/en/stable/"
