"""Answers on disk and in a terminal: report.html with everything inside, and results.json."""

import base64
import json
from collections.abc import Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from setwise import __version__
from setwise.compare import sentences as words
from setwise.compare.answer import Answer, CandidateResult, OtherRowsReport, PairedDifference
from setwise.compare.checkpoint import plan_fields
from setwise.compare.text import wrap
from setwise.core import pages
from setwise.core.files import HIDDEN, in_line, visible, written_whole
from setwise.core.pages import Page
from setwise.estimators.selection.floors import FlooredThreshold


def _result(found: Answer) -> dict[str, Any]:
    """One answer as data for results.json. Losses are losses here, whatever the page shows."""
    winner = found.winner
    return {
        "problem": found.problem.name,
        "measure": found.measured.name,
        "title": found.measured.title,
        "data": words.data_of(found.problem),
        "change": found.changes,
        "base": winner.key[0],
        "strategy": winner.key[1],
        "threshold": _number(winner.threshold),
        "threshold_range": None if winner.flat is None else [_number(winner.flat.low), _number(winner.flat.high)],
        "constant": winner.constant,
        "weight_of_positives": winner.weight,
        "coefficients": winner.coefficients,
        "code": winner.code,
        "gain": _difference(found.gain),
        "parts": {name: _difference(part) for name, part in found.parts.items()},
        "chosen_in_folds": [list(key) for key in found.choices],
        "loss_of_choice_in_folds": found.own.tolist(),
        "rows": [_row(row, found.others) for row in found.rows],
        "other_rows": None if found.others is None else {"count": found.others.count, "refusal": found.others.refusal},
        "plan": plan_fields(found.plan),
        "facts": words.facts(found),
        "findings": [vars(finding) for finding in found.problem.findings],
        "words": words.headline(found),
        "details": [*words.details(found), *words.columns(found.problem)],
    }


def _difference(found: PairedDifference) -> dict[str, float]:
    low, high = found.interval()
    return {"mean": found.mean, "error": found.error, "low": low, "high": high}


def _row(row: CandidateResult, others: OtherRowsReport | None) -> dict[str, Any]:
    return {
        "base": row.base,
        "strategy": row.strategy,
        "out_of_fold_loss": _number(row.loss),
        "out_of_fold_gain": _number(row.gain),
        "out_of_fold_gain_error": _number(row.gain_error),
        "loss_in_folds": [_number(loss) for loss in row.outer.tolist()],
        "loss_on_test_file": _number(row.test),
        "loss_on_other_rows": None if others is None else _number(others.losses.get(row.key)),
        "refusal": row.refusal,
    }


def _number(value: Any) -> Any:
    """A number for JSON: the word for one that is not finite, as JSON has none; a list for several."""
    if value is None:
        return None
    if np.ndim(value):
        return [_number(one) for one in np.asarray(value).tolist()]
    return float(value) if np.isfinite(value) else None if np.isnan(value) else "inf" if value > 0 else "-inf"


STYLE = """
body{font:16px/1.55 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
h2{font-size:1.3rem;margin-top:2.8rem;border-top:1px solid #ddd;padding-top:1.2rem}
.note,figcaption{color:#5a5a5a;font-size:.92rem}
figure{margin:1rem 0}
img{max-width:100%;height:auto;display:block}
dl.answer{background:#f4f8fb;border-left:4px solid #0072B2;padding:.8rem 1.2rem;margin:1rem 0}
dl.answer dt{font-weight:bold;color:#0072B2}
dl.answer dd{margin:0 0 .6rem}
a{color:inherit;text-decoration:underline dotted}
pre{background:#f6f6f6;padding:.7rem 1rem;overflow-x:auto;font-size:.88rem}
"""

PAGE, RESULTS = "report.html", "results.json"

HOW = (
    "Every base model is tried with several rules, which turn its probabilities into yes or no. Logistic regression "
    "with a tuned threshold is left only for a gain of more than one standard error. In each outer fold "
    "this choice is made anew without the rows that judge it. It never looks at the table, so no figure here is the "
    "best of several on test rows. Intervals are those of Nadeau and Bengio (2003), because folds share training rows."
)


def check_folder(out: Path) -> None:
    """Raise ValueError if the folder ``out`` holds anything but an earlier report; OSError if it cannot be read."""
    # A page without results is not of a report.
    known = {PAGE, RESULTS} if (out / RESULTS).is_file() else set()
    foreign = sorted({path.name for path in out.iterdir()} - known) if out.exists() else []
    if foreign:
        raise ValueError(
            f"the folder {out} holds {foreign[0]!r}, which is not of an earlier report; name another folder by --out."
        )


def write_report(out: Path, found: Sequence[Answer], title: str, seconds: float, command: str = "") -> list[Path]:
    """Write the report into the folder ``out``, which is made if it does not exist, and return the files.

    It names the ``command`` and the date. An earlier report in the folder is replaced. Without matplotlib there are no
    pictures. A character that UTF-8 cannot encode is written as a character reference or an escape.

    Raises
    ------
    ValueError : if the folder holds anything but an earlier report
    OSError : if it cannot be written
    """
    images = list(map(drawn, found))
    parts = list(map(_section, found, images))
    day = date.today().isoformat()
    made = f"{f'{command}, ' if command else ''}{day}, setwise {__version__}, {seconds:.0f} s."
    page = visible(_page(title, parts, made, any(images))).encode("utf-8", "xmlcharrefreplace")
    content = {
        "command": command,
        "date": day,
        "title": title,
        "setwise": __version__,
        "seconds": round(seconds, 2),
        "answers": [_result(answer) for answer in found],
    }
    results = HIDDEN.sub(lambda c: f"\\u{ord(c[0]):04x}", json.dumps(content, indent=1, ensure_ascii=False)) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    # Everything is computed by now, so that a failure before leaves the earlier report as it was.
    check_folder(out)
    # By the results a later run knows the folder: if the page fails, it still counts as a report.
    for name, data in {RESULTS: results.encode("utf-8", "backslashreplace"), PAGE: page}.items():
        with written_whole(out / name) as part:
            part.write_bytes(data)
    return [out / PAGE, out / RESULTS]


def drawn(found: Answer) -> dict[str, bytes]:
    """The pictures as PNG files by name; none without matplotlib."""
    try:
        from setwise.compare.pictures import pictures
    except ImportError:
        return {}
    return pictures(found)


CAPTIONS = {
    "gain": "What the choice of each fold gains over logistic regression with a tuned threshold.",
    "threshold": "The measure at other thresholds of the recommended model, on rows held out in training.",
    "floor": "Recall, precision and the share of rows called positive around the recommended threshold, on rows held "
    "out in training. Dashed: what is to be kept.",
}


def _section(found: Answer, images: dict[str, bytes]) -> str:
    """One answer as HTML: the answer, then the table, the details, the pictures and the code."""
    answer = "".join(
        f"<dt>{linked(title.capitalize(), pages.FLOORS if title == 'EXPECT' else pages.WHAT_IT_PRINTS)}</dt>"
        f"<dd>{'<br>'.join(map(escape, sentences))}</dd>"
        for title, sentences in words.headline(found).items()
    )
    shown = "".join(
        f'<figure><img alt="{name}" src="data:image/png;base64,{base64.b64encode(data).decode()}">'
        f"<figcaption>{escape(CAPTIONS[name])}</figcaption></figure>"
        for name, data in images.items()
    )
    details = [*words.details(found), *words.columns(found.problem), *words.refusals(found)]
    return (
        f"<h2>{escape(words.heading(found))}</h2><p>{'<br>'.join(map(escape, words.facts(found)))}</p>"
        f'<dl class="answer">{answer}</dl>'
        f"<h3>{linked('All ways that were tried', pages.WHAT_IS_TRIED)}</h3>"
        f'<p class="note">{escape(words.legend(found))}</p>'
        f"<pre>{escape(words.table(found))}</pre>{_rules(found)}"
        f"{''.join(f'<p>{escape(sentence)}</p>' for sentence in details)}{shown}"
        f"<h3>{linked('The same in Python', pages.FROM_PYTHON)}</h3><pre>{escape(found.winner.code)}</pre>"
    )


def linked(text: str, page: Page) -> str:
    """The text as HTML, with a link to the page that explains it where the address of the site is known."""
    shown = escape(text)
    where = escape(f"{page.title}, in {page.name}")
    return shown if page.address is None else f'<a href="{escape(page.address)}" title="{where}">{shown}</a>'


def _rules(found: Answer) -> str:
    """What the rules of the table are."""
    known = dict(words.WAYS) | ({} if found.floored is None else {FlooredThreshold.name: FlooredThreshold})
    kinds = [known[strategy] for strategy in words.ways_by_strategy(found)[1]]
    told = ((kind, (found.problem.many and kind.explanation_of_matrices) or kind.explanation) for kind in kinds)
    lines = [f"{linked(kind.title, kind.page)}: {escape(text)}" for kind, text in told if text]
    return f'<p class="note">{"<br>".join(lines)}</p>'


def _page(title: str, parts: Sequence[str], made: str, pictured: bool) -> str:
    """The whole HTML page; it loads no other file."""
    missing = "" if pictured else '<p class="note">For pictures: pip install "setwise[compare]".</p>'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f'<h1>{escape(title)}</h1><p class="note">{escape(made)}</p>{"".join(parts)}'
        f"<h2>{linked('How this was found', pages.HOW_IT_CHOOSES)}</h2><p>{escape(HOW)}</p>{missing}</body></html>\n"
    )


INDENT = 13


def section(found: Answer) -> str:
    """The text of one answer: the problem, the parts of the answer, the table, and the details."""
    head = in_line(words.heading(found))
    lines = [head, "=" * len(head), *map(wrap, words.facts(found)), ""]
    for title, told in words.headline(found).items():
        paragraphs = told if title in ("DATA", "WHY") else [" ".join(told)]
        text = "\n".join(wrap(paragraph, INDENT) for paragraph in paragraphs)[len(title) :]
        lines.append(f"{title}{text}")
    details = "\n".join(map(wrap, words.details(found)))
    return "\n\n".join(filter(None, ["\n".join(lines), wrap(words.legend(found)), words.table(found), details]))
