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
from setwise.compare.text import bar, percent, short, signed, wrap
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
        "verdict": words.verdict(found),
        "warnings": words.warnings(found),
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
        "confusion": _cells(found),
        "curves": {base: {k: _number(v) for k, v in vars(curve).items()} for base, curve in found.curves.items()},
        "other_rows": None if found.others is None else {"count": found.others.count, "refusal": found.others.refusal},
        "plan": plan_fields(found.plan),
        "facts": words.facts(found),
        "findings": [vars(finding) for finding in found.problem.findings],
        "words": words.headline(found),
        "details": [*words.figures(found), *words.details(found), *words.columns(found.problem)],
    }


def _cells(found: Answer) -> Any:
    """The hits, false alarms, misses and right negatives, or the confusion matrix; None where no labels are known."""
    table = words.confusion(found)
    if table is None:
        return None
    return table.tolist() if found.problem.several else table[[1, 0, 1, 0], [1, 1, 0, 0]].astype(int).tolist()


def _difference(found: PairedDifference) -> dict[str, float]:
    low, high = found.interval()
    return {"mean": found.mean, "error": found.error, "low": low, "high": high}


def _row(row: CandidateResult, others: OtherRowsReport | None) -> dict[str, Any]:
    return {
        "base": row.base,
        "strategy": row.strategy,
        **{f"out_of_fold_{name}": _number(getattr(row, name)) for name in ("loss", "gain", "gain_error")},
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
h2{font-size:1.3rem;margin-top:2.8rem;border-top:1px solid #ddd;padding-top:1.2rem} figure{margin:1rem 0}
.note,figcaption{color:#5a5a5a;font-size:.92rem} img,svg{max-width:100%;height:auto}
.verdict{font-size:1.6rem;font-weight:bold;margin:.6rem 0} .number{margin:0} summary{font-weight:bold}
.number b{font-size:2.4rem;color:#0072B2;margin-right:.6rem} summary{cursor:pointer;margin-top:1rem}
.warning{margin:.2rem 0;padding-left:.7rem;border-left:4px solid #E69F00} a{color:inherit}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(24rem,100%),1fr));gap:1rem}
.cells td,.cells th{padding:.6rem 1rem;font-weight:normal} .cells td{font-size:1.3rem}
a{text-decoration:underline dotted} pre{background:#f6f6f6;padding:.7rem 1rem;overflow-x:auto;font-size:.88rem}
"""

PAGE, RESULTS = "report.html", "results.json"

HOW = (
    "Logistic regression with {rule} is left only for a gain of more than one standard error. Each outer "
    "fold makes this choice anew, without the rows that judge it. It never sees the table, so no figure here is the "
    "best of several on test rows. Intervals are those of Nadeau and Bengio (2003), because folds share training rows."
)


def check_folder(out: Path) -> None:
    """Raise ValueError if the folder ``out`` holds anything but an earlier report; OSError if it cannot be read."""
    # A page without results is not of a report.
    known = {PAGE, RESULTS} if (out / RESULTS).is_file() else set()
    foreign = sorted({path.name for path in out.iterdir()} - known) if out.exists() else []
    if foreign:
        what = f"the folder {out} holds {foreign[0]!r}, which is not of an earlier report"
        raise ValueError(f"{what}; name another folder by --out.")


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
    how = HOW.format(rule=" or ".join(dict.fromkeys(map(words.usual_rule, found))))
    # There are no pictures of more than two classes.
    pictured = any(images) or all(one.problem.several for one in found)
    page = visible(_page(title, parts, made, how, pictured)).encode("utf-8", "xmlcharrefreplace")
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


def _section(found: Answer, images: dict[str, bytes]) -> str:
    """One answer as HTML: the verdict, the number and its bar; warnings; pictures; the table; details folded away."""
    more = "".join(f"<h4>{title}</h4>{_paragraphs(told)}" for title, told in words.headline(found).items())
    texts = {name: base64.b64encode(data).decode() for name, data in images.items()}
    shown = [f'<figure><img alt="{name}" src="data:image/png;base64,{text}"></figure>' for name, text in texts.items()]
    details = [*words.details(found), *words.columns(found.problem), *words.refusals(found)]
    (number, before), said = words.number(found), [*words.facts(found), *words.figures(found)]
    return (
        f"<h2>{escape(words.heading(found))}</h2>{_paragraphs([words.verdict(found)], 'verdict')}"
        f'<p class="number"><b>{escape(number)}</b>{escape(before)}</p>{_bar(found)}'
        f"{_paragraphs(words.warnings(found), 'warning')}<p>{'<br>'.join(map(escape, said))}</p>"
        f'<div class="figures">{"".join([*shown[:-1], _confusion(found), *shown[-1:]])}</div>'
        f"<h3>{linked('All that was tried', pages.WHAT_IS_TRIED)}</h3>{_paragraphs([words.legend(found)], 'note')}"
        f"<pre>{escape(words.table(found))}</pre><details><summary>Details</summary>{more}"
        f"{_rules(found)}{_paragraphs(details)}{linked('What it prints', pages.WHAT_IT_PRINTS)}</details>"
        f"<details><summary>In Python</summary><pre>{escape(found.winner.code)}</pre>"
        f"{linked('From Python', pages.FROM_PYTHON)}</details>"
    )


def _paragraphs(sentences: Sequence[str], kind: str = "") -> str:
    return "".join(f'<p class="{kind}">{escape(sentence)}</p>' for sentence in sentences)


def _confusion(found: Answer) -> str:
    """The confusion matrix of 1,000 rows, or labels of a label matrix, with the recall and precision of each class.

    Nothing where no labels are known.
    """
    problem, table = found.problem, words.confusion(found, found.problem.weights)
    if table is None:
        return ""
    names, heads, rows = problem.classes, problem.classes, words.thousand(table)
    title = "rows: a line for each true class, a column for what it is called"
    if not problem.several:
        names, heads = ("positive", "negative"), ("called positive", "not called")
        table, rows = table[::-1, ::-1], rows[::-1, ::-1]
        title = "labels" if problem.many else "rows"
    called, right = table.sum(axis=0), np.diag(table)
    lines = [f"<tr><th></th>{''.join(f'<th>{escape(head)}</th>' for head in heads)}<th>recall</th></tr>"]
    for i, (name, row) in enumerate(zip(names, rows.tolist(), strict=True)):
        colors = ["#cfe5f2" if i == j else "#f8dccb" if n else "none" for j, n in enumerate(row)]
        cells = "".join(f'<td style="background:{color}">{n}</td>' for color, n in zip(colors, row, strict=True))
        lines.append(f"<tr><th>{escape(name)}</th>{cells}<th>{percent(right[i] / table[i].sum())}</th></tr>")
    shares = "".join(f"<th>{percent(a / b) if b else '-'}</th>" for a, b in zip(right, called, strict=True))
    lines.append(f"<tr><th>precision</th>{shares}<th></th></tr>")
    style = "overflow-x:auto" + (";zoom:.7" if len(names) > WIDE else "")
    return f'<figure style="{style}"><p>Of 1,000 {title}</p><table class="cells">{"".join(lines)}</table></figure>'


WIDE = 6
"""A confusion matrix of more classes is drawn smaller."""


def _bar(found: Answer) -> str:
    """The gain with its 95 % interval and the gain of each fold, as an SVG, and a sentence on it."""
    drawn = words.comparison(found)
    if drawn is None:
        return ""
    gain, folds, sentence = drawn
    shown = np.array([0.0, gain.mean, *gain.interval(), *folds])
    zero, mean, low, high, *dots = 60.0 + 480.0 * (shown - shown.min()) / max(float(np.ptp(shown)), 1e-12)
    ends = [signed(end) for end in gain.interval()]
    circles = "".join(f'<circle cx="{x:.1f}" cy="26" r="3.5" fill="#56B4E9"/>' for x in dots)
    return (
        f'<figure><svg role="img" aria-label="{escape(sentence)}" viewBox="0 0 600 56" width="600">'
        f'<rect x="{low:.1f}" y="18" width="{max(high - low, 1.0):.1f}" height="16" fill="#cfe5f2"/>{circles}'
        f'<path d="M{mean:.1f} 13v26" stroke="#0072B2" stroke-width="4"/><path d="M{zero:.1f} 6v36" stroke="#1a1a1a"/>'
        f'<g font-size="12" text-anchor="middle"><text x="{zero:.1f}" y="54">no difference</text>'
        f'<text x="26" y="30">worse</text><text x="574" y="30">better</text></g><g font-size="12">'
        f'<text x="{low:.1f}" y="12" text-anchor="end">{ends[0]}</text><text x="{high:.1f}" y="12">{ends[1]}</text>'
        f"</g></svg><figcaption>{escape(sentence)} Dots: folds.</figcaption></figure>"
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


def _page(title: str, parts: Sequence[str], made: str, how: str, pictured: bool) -> str:
    """The whole HTML page; it loads no other file."""
    missing = "" if pictured else '<p class="note">For pictures: pip install "setwise[compare]".</p>'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f'<h1>{escape(title)}</h1><p class="note">{escape(made)}</p>{"".join(parts)}'
        f"<h2>{linked('How this was found', pages.HOW_IT_CHOOSES)}</h2><p>{escape(how)}</p>{missing}</body></html>\n"
    )


INDENT, LINES, WARNINGS = 13, 22, 5
"""The answer to one problem has at most so many lines in a terminal, of them so many warnings, without the details.

What the command says of its files needs three more of 25.
"""


def section(found: Answer, verbose: bool = False) -> str:
    """The text of one answer: the verdict, the number and its bar, warnings, figures, and the table.

    Without the details that a ``verbose`` one has it has at most 22 lines; where they are short of room, the last
    figures and the middle of the table are left to the details.
    """
    head, drawn, said = words.heading(found), words.comparison(found), words.warnings(found)
    lines = [head, "=" * len(in_line(head)), words.verdict(found), "", " ".join(words.number(found))]
    lines += [] if drawn is None else [bar(drawn[0].mean, *drawn[0].interval()), *wrap(drawn[2]).split("\n")]
    if len(said) > WARNINGS and not verbose:
        said = [*said[: WARNINGS - 1], f"{len(said) - WARNINGS + 1} more with -v."]
    lines = list(map(in_line, [*lines, "", *(short(f"! {one}") for one in said)]))
    told, legend = list(map(wrap, [*words.facts(found), *words.figures(found)])), wrap(words.legend(found))
    room = LINES - len(lines) - legend.count("\n") - 2
    table = words.table(found, None if verbose else room - "\n".join(told).count("\n") - 1)
    while not verbose and told and "\n".join([*told, table]).count("\n") >= room:
        told.pop()
    lines += [*told, "", legend, table]
    if verbose:
        for title, sentences in words.headline(found).items():
            lines += ["", title + "\n".join(wrap(sentence, INDENT) for sentence in sentences)[len(title) :]]
        lines += ["", *map(wrap, words.details(found))]
    return "\n".join(lines).rstrip()
