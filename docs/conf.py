"""The configuration of the site: ``sphinx-build -W docs build/site``."""

import os
import sys
from pathlib import Path

# Examples are small: threads that wait for one another cost more than they gain, most on a busy machine.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import setwise  # noqa: E402

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

from source_links import line_of_code as linkcode_resolve  # noqa: E402, F401

project, author, project_copyright = "setwise", "The setwise developers", "The setwise developers"
version = release = setwise.__version__
language = "en"

extensions = [
    "myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.linkcode", "sphinx_copybutton", "sphinx_design",
    "sphinx_gallery.gen_gallery", "api_pages", "drawings", "formulas", "loss_pages", "source_links", "thumbnails",
    "plus_minus", "markdown_pages", "search_words",
]  # fmt: skip
exclude_patterns = ["extensions", "gallery/**/*.py", "gallery/*.ipynb", "**/*.py.md5"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# Attributes are shown as they are described, without a page for each method that the classes inherit.
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "copyfile_regex": r".*\.(csv|json)",
    "within_subsection_order": "gallery_order.GalleryOrder",
    "image_scrapers": ("figures.in_both_modes",),
    "reset_modules": ("figures.plain_style",),
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "min_reported_time": 1000,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "plot_gallery": "True",
    "parallel": 2,
}

html_theme = "pydata_sphinx_theme"
html_title = f"setwise {release}"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["setwise.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "setwise"},
    "show_prev_next": True,
    "navbar_align": "left",
    "collapse_navigation": True,
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_search_scorer = str(HERE / "extensions/scorer.js")
html_copy_source = False
html_math_renderer = "mathml"

# Headings of the pages that markdown_pages writes.
text_sectionchars = '=-~^"+'
