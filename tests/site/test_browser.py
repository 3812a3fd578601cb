"""The built site in a browser: needs ``pip install playwright``, a Chromium, and the site's folder in SETWISE_SITE."""

import os
import re
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}

MAIN = (
    "index", "search", "faq", "glossary", "start/index", "start/chooser", "tables/index", "gallery/index", "api/index",
    "guide/thresholds",
    "losses/index", "losses/jaccard", "api/setwise", "api/setwise.SetClassifier", "how/index", "how/surrogates",
    "papers/index", "papers/lovasz_hinge", "moving/index", "performance/index",
)  # fmt: skip
"""The pages that are seen in both modes at both widths, where they exist."""

FAULTS = """() => {
    const faults = [], wide = document.documentElement.scrollWidth;
    if (wide > window.innerWidth + 1) faults.push(`is ${wide} pixels wide in a window of ${window.innerWidth}`);
    const scrolls = element => !element.matches('.bd-article') &&
        (getComputedStyle(element).overflowX !== 'visible' || scrolls(element.parentElement));
    // The article scrolls by itself, so that the page is never wide: what sticks out of it counts.
    const cut = [...document.querySelectorAll('.bd-article p, .bd-article li, .bd-article dt, .bd-article dd, ' +
        '.bd-article code, .bd-article img, .bd-article svg, .bd-article table, .bd-article math, .bd-article h1')]
        .filter(one => one.getBoundingClientRect().right > window.innerWidth + 1 && !scrolls(one.parentElement));
    if (cut.length) faults.push(`cuts off ${cut.length}, first ${cut[0].tagName}: ${cut[0].textContent.slice(0, 60)}`);
    for (const image of document.images) {
        const name = image.getAttribute('src');
        if (!(image.getAttribute('alt') || '').trim()) faults.push(`has no alternative text for ${name}`);
        if (!(image.complete && image.naturalWidth > 0)) faults.push(`has the broken picture ${name}`);
    }
    const article = document.querySelector('.bd-article') || document.body;
    const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const { parentElement: holder, data } = texts.currentNode;
        const raw = data.match(/.{0,30}(`|:(class|func|meth|doc|ref|attr|mod):).{0,30}/);
        if (raw && !holder.closest('pre, code, script, style, svg, math')) faults.push(`shows the markup ${raw[0]}`);
    }
    for (const drawing of document.querySelectorAll('figure.drawing svg'))
        if (!(drawing.getAttribute('aria-label') || '').trim()) faults.push('has a drawing without a description');
    return faults;
}"""
"""What is wrong with the page that is open: its width, what it cuts off, its pictures, and markup that stayed text."""

LOADED = """() => Promise.all([...document.images].map(image => {
    image.loading = 'eager';
    return image.decode().catch(() => null);
}))"""
"""Wait for all pictures, also for those that are not shown."""


class SilentHandler(SimpleHTTPRequestHandler):
    """Serves files without writing a line for each."""

    def log_message(self, *_arguments):
        """Say nothing."""


@pytest.fixture(scope="module")
def folder():
    """The folder of the built site."""
    named = os.environ.get("SETWISE_SITE")
    if not named:
        pytest.skip("SETWISE_SITE does not name the folder of a built site (sphinx-build docs build/site).")
    if not (Path(named) / "index.html").is_file():
        pytest.skip(f"SETWISE_SITE names {named}, where there is no index.html.")
    return Path(named).resolve()


@pytest.fixture(scope="module")
def address(folder):
    """The address at which the site is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SilentHandler, directory=str(folder))) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(folder):
    """The Chromium of this machine."""
    reason = "Playwright is not installed (pip install playwright)."
    playwright = pytest.importorskip("playwright.sync_api", reason=reason)
    found = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    path = next(found, None)
    if path is None:
        pytest.skip("There is no Chromium on this machine.")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def tab(browser):
    """A function that opens a window of a size, whose faults gather in its list ``faults``."""
    opened = []

    def make(size):
        page = browser.new_page(viewport=size)
        page.faults = []
        page.on("console", lambda said: said.type == "error" and page.faults.append(f"says {said.text}"))
        page.on("pageerror", lambda error: page.faults.append(f"raises {error}"))
        # A page that one leaves may stop to wait for the site's icon.
        page.on("requestfailed", lambda one: "ABORTED" in one.failure or page.faults.append(f"did not get {one.url}"))
        page.on("response", lambda got: got.status >= 400 and page.faults.append(f"got {got.status} for {got.url}"))
        opened.append(page)
        return page

    yield make
    for page in opened:
        page.close()


def set_mode(page, mode):
    """Show the open page, and those opened after it, in the mode ``light`` or ``dark``."""
    page.evaluate("mode => { localStorage.setItem('mode', mode); localStorage.setItem('theme', mode); }", mode)
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == mode


def shot(page, name, size, mode):
    """Take a picture of the page into the folder that SETWISE_SCREENSHOTS names, for someone to look at."""
    named = os.environ.get("SETWISE_SCREENSHOTS")
    if named:
        target = Path(named) / f"{name.replace('/', '-')}_{size['width']}_{mode}.png"
        page.screenshot(path=target, full_page=True)
        assert target.stat().st_size


@pytest.mark.parametrize(("size", "mode"), [(PHONE, "dark"), (DESK, "light")], ids=["phone", "desk"])
def test_every_page(folder, address, tab, size, mode):
    """Every page opens without an error, is no wider than its window, and shows and describes all its pictures."""
    page, found = tab(size), []
    page.goto(f"{address}/index.html")
    set_mode(page, mode)
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    pages = [file for file in files if not file.startswith("_")]
    assert pages
    for file in pages:
        page.faults.clear()
        page.goto(f"{address}/{file}", wait_until="load")
        page.evaluate(LOADED)
        found += [f"{file} {fault}" for fault in [*page.faults, *page.evaluate(FAULTS)]]
        shot(page, file.removesuffix(".html"), size, mode)
    assert not found, "\n".join(found)


def test_code_of_examples_fits_on_a_desk(folder, address, tab):
    """Between the sidebars there is room for the longest lines of the gallery, which have 100 characters."""
    page, cut = tab(DESK), []
    for path in sorted((folder / "gallery").glob("plot_*.html")):
        page.goto(f"{address}/gallery/{path.name}")
        wide = page.locator("div.highlight-Python pre").evaluate_all(
            "blocks => Math.max(0, ...blocks.map(one => one.scrollWidth - one.clientWidth))"
        )
        cut += [f"{path.name} by {wide} pixels"] if wide else []
    assert not cut, cut


def test_search_finds_the_questions(folder, address, tab):
    """Who searches for "all zeros" is led to the page of questions."""
    if not (folder / "faq.html").is_file():
        pytest.skip("The site has no page of questions (faq.html).")
    page = tab(DESK)
    page.goto(f"{address}/search.html?q=all+zeros")
    page.wait_for_selector("#search-results ul.search a")
    page.wait_for_selector("#search-results a[href*='faq.html']")
    assert not page.faults


QUERIES = {
    "threshold": "guide/thresholds", "recall floor": "guide/floors", "costs": "guide/costs", "F1": "guide/measure",
    "macro F1": "guide/several_classes", "IoU": "segmentation/index", "AUC": "tables/index",
    "hierarchy": "guide/multilabel", "LightGBM": "guide/boosting", "save model": "guide/saved_models",
    "hierarchical labels": "guide/multilabel", "hierarchical classification": "guide/multilabel",
    "taxonomy": "guide/multilabel", "custom loss": "guide/own_loss", "own loss": "guide/own_loss",
    "new loss": "guide/own_loss", "multi-class": "guide/several_classes", "multiclass F1": "guide/several_classes",
    "macro-F1": "guide/several_classes", "cost sensitive": "guide/costs", "segmentation loss": "guide/torch",
    "tune threshold pickle": "guide/thresholds", "weak labels": "guide/bags",
    "change threshold saved model": "guide/saved_models",
}  # fmt: skip
"""What users search for, and the page that answers."""


@pytest.mark.parametrize("query", QUERIES)
def test_search_has_the_answer_among_its_first_three(address, tab, query):
    page = tab(DESK)
    page.goto(f"{address}/search.html?q={query.replace(' ', '+')}")
    page.get_by_text("Search finished").wait_for()
    links = page.locator("#search-results ul.search > li > a")
    found = links.evaluate_all("links => links.slice(0, 3).map(one => one.getAttribute('href'))")
    assert [one for one in found if one.startswith(f"{QUERIES[query]}.html")], found


def test_every_page_has_a_markdown_version(folder):
    """Except listings of code and what Sphinx adds; the list for programs names existing ones."""
    pages = [path for path in folder.rglob("*.html") if path.relative_to(folder).parts[0] not in ("source", "_static")]
    own = [path for path in pages if path.stem not in ("genindex", "search", "py-modindex")]
    assert not [path for path in own if not path.with_suffix(".md").is_file()]
    named = re.findall(r"\]\(([\w./-]+\.md)\)", (folder / "llms.txt").read_text("utf-8"))
    assert len(named) > 50
    assert not [name for name in named if not (folder / name).is_file()]


def test_chooser_ends_in_code(folder, address, tab):
    """Each tab of the chooser that one clicks shows other tabs or, where it is an answer, code."""
    if not (folder / "start" / "chooser.html").is_file():
        pytest.skip("The site has no chooser (start/chooser.html).")
    page, answers, bare = tab(PHONE), 0, []
    page.goto(f"{address}/start/chooser.html")
    labels = page.locator("label.sd-tab-label")
    for i in range(labels.count()):
        label = labels.nth(i)  # in the order of the page, so the tab around it is open
        label.click()
        content = label.locator("xpath=following-sibling::div[1]")
        assert content.is_visible(), label.inner_text()
        if not content.locator("label.sd-tab-label").count():
            answers += 1
            if not content.locator("div.highlight-python pre:visible").count():
                bare.append(label.inner_text())
    assert answers
    assert not bare, f"answers without code: {bare}"
    assert not page.faults


def test_pictures_follow_the_mode(folder, address, tab):
    """In dark mode the pictures for it are shown and the others are hidden, and the reverse in light mode."""
    page = tab(DESK)
    page.goto(f"{address}/losses/jaccard.html")
    for mode, other in (("dark", "light"), ("light", "dark")):
        set_mode(page, mode)
        for kind, visible in ((mode, True), (other, False)):
            pictures = page.locator(f"img.only-{kind}")
            assert pictures.count()
            assert all(pictures.nth(i).is_visible() == visible for i in range(pictures.count()))


@pytest.mark.parametrize(("size", "mode"), [(PHONE, "light"), (DESK, "dark")], ids=["phone", "desk"])
def test_main_pages_in_the_other_mode(folder, address, tab, size, mode):
    """The main pages have no fault in the mode in which ``test_every_page`` did not see them."""
    page = tab(size)
    page.goto(f"{address}/index.html")
    set_mode(page, mode)
    for name in MAIN:
        if (folder / f"{name}.html").is_file():
            page.goto(f"{address}/{name}.html")
            page.faults += page.evaluate(FAULTS)
            shot(page, name, size, mode)
    assert not page.faults
