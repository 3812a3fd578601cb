"""Write comparisons to disk: report.html with everything inside, the pictures as files, and results.json."""

import base64
import io
import json
import re
import warnings
from collections.abc import Sequence
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy.sparse import issparse

from setwise import __version__
from setwise.compare.comparison import Comparison, Row
from setwise.compare.words import gap_text, verdict

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;
  color:#1a1a1a}
h1{font-size:1.6rem}
h2{font-size:1.25rem;margin-top:2.6rem;border-top:1px solid #ddd;padding-top:1.2rem}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.28rem .8rem;text-align:right;border-bottom:1px solid
#e6e6e6}
th:first-child,td:first-child{text-align:left} thead
th{color:#5a5a5a;font-weight:normal}td.best{font-weight:bold;background:#e3f1fa}
.note{color:#5a5a5a;font-size:.92rem}img{max-width:100%;height:auto;margin:.6rem 0;display:block}
.verdict{background:#f6f6f6;border-left:4px solid #0072B2;padding:.6rem 1rem}
"""

PAGE, RESULTS = "report.html", "results.json"

BEST = ' class="best"'

HOW = (
    "Every method is trained on the same folds and chooses its C from the same grid of constants for a decision, by "
    "the mean of the measure over the same inner folds of the training part. Logistic regression and the Hamming SVM "
    "choose by the measure too. ± is the standard error over folds; folds share training data, so it is somewhat too "
    "small. The tuned threshold comes from scikit-learn's TunedThresholdClassifierCV where the data are one set; for "
    "groups and label matrices one threshold is tuned in the same spirit, by the mean set loss of out-of-fold scores. "
    "Gap is the certified relative gap of the worst fold: how far the objective can be from its minimum. Seconds are "
    "for one fit with the chosen C. Where a budget of seconds is too small for all of it, values of C are given up "
    "first, then folds down to three, then the slowest methods; what was given up is said above. The error rate is the "
    "mean over sets of the share of wrong decisions."
)


def earlier(out: Path) -> list[Path]:
    """The files of the earlier report in the folder ``out``; none if it is empty or does not exist.

    Raises
    ------
    ValueError : if the folder holds anything else
    OSError : if ``out`` is no folder or cannot be read
    """
    if not out.exists():
        return []
    try:
        listed = list(json.loads((out / RESULTS).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        # A folder without readable results holds no report, so whatever it holds is foreign.
        listed = []
    held = sorted(out.iterdir())
    foreign = [path.name for path in held if path.name not in listed or not path.is_file()]
    if foreign:
        raise ValueError(
            f"the folder {out} holds {foreign[0]!r}, which is not of an earlier report; name another folder by --out."
        )
    return held


def write_report(out: Path, found: Sequence[Comparison], title: str, seconds: float) -> list[Path]:
    """Write the report into the folder ``out``, which is made if it does not exist, and return the files.

    An earlier report in the folder is replaced. Without matplotlib there are no pictures. A character that UTF-8
    cannot encode is written as a character reference or an escape.

    Raises
    ------
    ValueError : if the folder holds anything but an earlier report
    OSError : if it cannot be written
    """
    parts: list[str] = []
    images: dict[str, bytes] = {}
    names = [c.problem.name for c in found]
    for comparison in found:
        # A problem that occurs with several measures has the measure in its file names.
        several = names.count(comparison.problem.name) > 1
        stem = _slug(comparison.problem.name + (f" {comparison.measure}" if several else ""))
        own = {f"{stem}-{name}.png": data for name, data in pictures(comparison).items()}
        parts.append(_section(comparison, own))
        images |= own
    files = [PAGE, RESULTS, *images]
    page = _page(title, parts, seconds, bool(images)).encode("utf-8", "xmlcharrefreplace")
    results = json.dumps(_results(found, title, seconds, files), indent=1, ensure_ascii=False) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    # Everything is computed by now, so that a failure before leaves the earlier report as it was.
    for path in earlier(out):
        path.unlink()
    # The list of files is written first: if a later file fails, the folder still counts as a report.
    for name, data in {RESULTS: results.encode("utf-8", "backslashreplace"), PAGE: page, **images}.items():
        (out / name).write_bytes(data)
    return [out / name for name in files]


def pictures(found: Comparison) -> dict[str, bytes]:
    """The pictures "table", "gaps" and "scores" as PNG files by name; none without matplotlib."""
    try:
        from setwise import plotting
    except ImportError:
        return {}
    title = _plain(f"{found.problem.name}, trained for {found.measure}")
    names = [row.method.name for row in found.rows]
    figures = {"table": plotting.cross_table(names, found.measures, found.means, found.errors, title)}
    histories = {r.method.name: r.trained[0].history for r in found.rows if r.trained[0].history is not None}
    if histories:
        figures["gaps"] = plotting.gap_curves(histories, found.plan.tol, f"{title}, first fold")
    figures["scores"] = _scores(plotting, found, title)
    return {name: _png(figure) for name, figure in figures.items()}


def _png(figure: Any) -> bytes:
    """A figure as a PNG file."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # A glyph that the font lacks is drawn as a box; the page has all names as text.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    return buffer.getvalue()


def _plain(text: str) -> str:
    """The text without surrogate characters, which cannot be drawn, and with escaped dollar signs: no formulas."""
    return text.encode("utf-8", "replace").decode().replace("$", r"\$")


def _scores(plotting: ModuleType, found: Comparison, title: str) -> Any:
    """The picture of the learned scores: lines in the plane for two features, otherwise histograms."""
    _, test = found.fold
    if test.X.shape[1] == 2 and not test.many:
        # The methods of setwise come first in the legend.
        ours_first = sorted(found.rows, key=lambda r: not r.method.ours)
        # The threshold is part of the constant of the line.
        lines = {
            r.method.name: (*r.trained[0].coef[0].tolist(), float(r.trained[0].intercept[0] - r.trained[0].threshold))
            for r in ours_first
        }
        kinds, names = (test.y, test.classes) if test.kinds is None else (test.kinds, test.kind_names)
        X = test.X.toarray() if issparse(test.X) else test.X
        axes = ("first feature (standardized)", "second feature (standardized)")
        shown = [_plain(name) for name in names]
        # More points than these would hide the lines.
        return plotting.plane(X[:2000], kinds[:2000], shown, lines, f"{title}: held-out samples", axes)
    scores = {r.method.name: (r.trained[0].scores(test.X, test.many), r.trained[0].threshold) for r in found.rows}
    classes = ("label absent", "label present") if test.many else [_plain(name) for name in test.classes]
    return plotting.scores(scores, test.y, classes, f"{title}: scores of the held-out first fold")


def _section(found: Comparison, images: dict[str, bytes]) -> str:
    """One comparison as HTML; the pictures are embedded, but for the table, which is there as text."""
    words = verdict(found)
    head = "".join(f"<th>{escape(c)}</th>" for c in ("trained by", *found.measures, "gap", "seconds"))
    # All methods with the least mean are marked.
    best = found.means == found.means.min(axis=0)
    body = "".join(_table_row(row, marks) for row, marks in zip(found.rows, best, strict=True))
    shown = "".join(
        f'<img alt="{escape(name)}" src="data:image/png;base64,{base64.b64encode(data).decode()}">'
        for name, data in images.items()
        if not name.endswith("-table.png")
    )
    rest = "".join(f"<p>{escape(w)}</p>" for w in words[1:])
    return (
        f"<h2>{escape(found.problem.name)}, trained for {escape(found.measure)}</h2>"
        f"<p>{escape(found.problem.about)} "
        f'<span class="note">{escape(found.problem.kind)}; {found.plan.folds} folds.</span></p>'
        f'<p class="verdict">{escape(words[0])}</p>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}{shown}"
    )


def _table_row(row: Row, best: np.ndarray) -> str:
    """One row of the table as HTML; ``best`` marks the measures in which the method is the best."""
    cells = "".join(
        f"<td{BEST if mark else ''}>{m:.3f} ± {e:.3f}</td>"
        for m, e, mark in zip(row.mean, row.error, best, strict=True)
    )
    return f"<tr><td>{escape(row.method.name)}</td>{cells}<td>{gap_text(row)}</td><td>{row.fit_seconds:.2f}</td></tr>"


def _page(title: str, parts: Sequence[str], seconds: float, pictured: bool) -> str:
    """The whole HTML page; it needs no other file."""
    missing = "" if pictured else '<p class="note">For pictures install matplotlib: pip install "setwise[plot]".</p>'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1><p>Mean loss on held-out folds; lower is better, the best of a column is bold.</p>"
        f'{"".join(parts)}<h2>How this was made</h2><p class="note">{escape(HOW)}</p>{missing}'
        f'<p class="note">setwise {__version__}, {seconds:.0f} s.</p></body></html>\n'
    )


def _results(found: Sequence[Comparison], title: str, seconds: float, files: Sequence[str]) -> dict[str, Any]:
    """The content of results.json; ``files`` lets a later run tell its own files from others."""
    return {
        "title": title,
        "files": list(files),
        "setwise": __version__,
        "seconds": round(seconds, 2),
        "problems": [_result(f) for f in found],
    }


def _result(found: Comparison) -> dict[str, Any]:
    """One comparison as data for results.json."""
    rows = [
        {
            "method": row.method.name,
            "mean": dict(zip(found.measures, row.mean.tolist(), strict=True)),
            "standard_error": dict(zip(found.measures, row.error.tolist(), strict=True)),
            "folds": {name: row.losses[:, j].tolist() for j, name in enumerate(found.measures)},
            "c": list(row.chosen),
            "gap": [t.gap for t in row.trained],
            "seconds": [round(t.seconds, 4) for t in row.trained],
        }
        for row in found.rows
    ]
    return {
        "problem": found.problem.name,
        "about": found.problem.about,
        "sets": found.problem.kind,
        "measure": found.measure,
        "plan": {
            "folds": found.plan.folds,
            "inner": found.plan.inner,
            "grid": list(found.plan.grid),
            "seed": found.plan.seed,
        },
        "rows": rows,
        "words": verdict(found),
    }


def _slug(text: str) -> str:
    """The text in lower case, with a hyphen for anything but letters and digits, as the stem of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
