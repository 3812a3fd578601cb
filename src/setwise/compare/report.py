"""Answers on disk and in a terminal: report.html with everything inside, pictures, and results.json."""

import base64
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from setwise import __version__
from setwise.compare import sentences as words
from setwise.compare.answer import Answer, CandidateResult, OtherRowsReport
from setwise.compare.checkpoint import plan_fields
from setwise.compare.plan import base_model
from setwise.compare.text import wrap
from setwise.core import pages
from setwise.core.files import HIDDEN, in_line, rights_at, visible
from setwise.core.pages import Page
from setwise.estimators.selection.floors import FlooredThreshold


def results_of(found: Sequence[Answer], title: str, seconds: float, files: Sequence[str]) -> dict[str, Any]:
    """The content of results.json; ``files`` lets a later run tell its own files from others."""
    return {
        "title": title,
        "files": list(files),
        "setwise": __version__,
        "seconds": round(seconds, 2),
        "answers": [_result(answer) for answer in found],
    }


def _result(found: Answer) -> dict[str, Any]:
    """One answer as data for results.json. Losses are losses here, whatever the page shows."""
    low, high = found.gain.interval()
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
        "gain": {"mean": found.gain.mean, "error": found.gain.error, "low": low, "high": high},
        "parts": {
            name: {"mean": part.mean, "low": part.interval()[0], "high": part.interval()[1]}
            for name, part in found.parts.items()
        },
        "chosen_in_folds": [list(key) for key in found.choices],
        "loss_of_choice_in_folds": found.own.tolist(),
        "rows": [_row(row) for row in found.rows],
        "other_rows": None if found.others is None else _others(found.others),
        "plan": plan_fields(found.plan),
        "facts": words.facts(found),
        "findings": [vars(finding) for finding in found.problem.findings],
        "words": words.headline(found),
        "details": words.details(found),
        "seconds": round(found.seconds, 2),
    }


def _row(row: CandidateResult) -> dict[str, Any]:
    return {
        "base": row.base,
        "strategy": row.strategy,
        "out_of_fold_loss": _number(row.loss),
        "out_of_fold_gain": _number(row.gain),
        "out_of_fold_gain_error": _number(row.gain_error),
        "loss_in_folds": [_number(loss) for loss in row.outer.tolist()],
        "loss_on_test_file": _number(row.test),
        "refusal": row.refusal,
    }


def _others(found: OtherRowsReport) -> dict[str, Any]:
    return {
        "count": found.count,
        "losses": [
            {"base": base, "strategy": strategy, "loss": loss} for (base, strategy), loss in found.losses.items()
        ],
        "refusal": found.refusal,
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
h1{font-size:1.6rem}
h2{font-size:1.3rem;margin-top:2.8rem;border-top:1px solid #ddd;padding-top:1.2rem}
h3{font-size:1.05rem;margin:1.6rem 0 .3rem}
table{border-collapse:collapse;margin:.8rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.28rem .8rem;text-align:right;border-bottom:1px solid #e6e6e6}
th:first-child,td:first-child{text-align:left}
thead th{color:#5a5a5a;font-weight:normal}
td.best{font-weight:bold;background:#e3f1fa}
.note{color:#5a5a5a;font-size:.92rem}
img{max-width:100%;height:auto;margin:.4rem 0;display:block}
dl.answer{background:#f4f8fb;border-left:4px solid #0072B2;padding:.8rem 1.2rem;margin:1rem 0;display:grid;
  grid-template-columns:8.2rem 1fr;gap:.5rem .8rem}
dl.answer dt{font-weight:bold;color:#0072B2}a{color:inherit;text-decoration:underline dotted}dl.answer dd{margin:0}
pre{background:#f6f6f6;padding:.7rem 1rem;overflow-x:auto;font-size:.88rem}
@media(max-width:40rem){dl.answer{grid-template-columns:1fr}}
"""

PAGE, RESULTS = "report.html", "results.json"

HOW = (
    "A classifier gives each row a probability, and a rule turns probabilities into yes or no. The usual rule is to "
    "say yes from 0.5 on. It is seldom the best rule for a measure such as F1, which judges all answers together. So "
    "every base model is tried with several rules, one of which is a threshold chosen for the measure.",
    "The reference is logistic regression with such a threshold. It is simple and hard to beat, and it is left only "
    "where another way was better by more than one standard error on training rows that were held out.",
    "To know what this choice is worth, the rows are split into outer folds. In each of them the whole choice is made "
    "anew without the rows of the test part: constants, thresholds, base model and rule. Then the choice and the "
    "reference are judged on the test part. The gain that is reported is the mean of these differences. Its interval "
    "is that of Student's t with the variance of Nadeau and Bengio (2003), because folds share training rows. If the "
    "interval contains 0, the advice is to stay with logistic regression.",
    "No figure here is the best of several on test rows. The table shows all ways on the outer folds, but the choice "
    "never looks at it.",
)

UNDER_FLOOR = (
    "A floor of recall or precision is kept by the threshold alone, on held-out training rows; with a confidence, so "
    "that new rows keep it in the long run with that probability. A file with few of them may still miss it. Among the "
    "thresholds that keep it the measure decides. Where none does, the threshold that comes nearest is shown, and the "
    "answer says so."
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


def write_report(out: Path, found: Sequence[Answer], title: str, seconds: float, command: str = "") -> list[Path]:
    """Write the report into the folder ``out``, which is made if it does not exist, and return the files.

    It names the ``command`` and the date. An earlier report in the folder is replaced. Without matplotlib there are no
    pictures. A character that UTF-8 cannot encode is written as a character reference or an escape.

    Raises
    ------
    ValueError : if the folder holds anything but an earlier report
    OSError : if it cannot be written
    """
    parts: list[str] = []
    images: dict[str, bytes] = {}
    names = [answer.problem.name for answer in found]
    for answer in found:
        # A problem that occurs with several measures has the measure in its file names.
        several = names.count(answer.problem.name) > 1
        stem = _slug(answer.problem.name + (f" {answer.measured.name}" if several else ""))
        own = drawn(answer)
        parts.append(_section(answer, own))
        images |= {f"{stem}-{name}.png": data for name, data in own.items()}
    files = [PAGE, RESULTS, *images]
    day, floored = date.today().isoformat(), any(answer.floored is not None for answer in found)
    made = f"{f'{command}, ' if command else ''}{day}, setwise {__version__}, {seconds:.0f} s."
    page = visible(_page(title, parts, made, bool(images), floored)).encode("utf-8", "xmlcharrefreplace")
    content = {"command": command, "date": day, **results_of(found, title, seconds, files)}
    results = HIDDEN.sub(lambda c: f"\\u{ord(c[0]):04x}", json.dumps(content, indent=1, ensure_ascii=False)) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    # Everything is computed by now, so that a failure before leaves the earlier report as it was.
    old = earlier(out)
    rights = {path.name: rights_at(path) for path in old if not path.is_symlink()}
    for path in old:
        # What is a link is written through.
        if path.name not in files or not path.is_symlink():
            path.unlink()
    # The list of files is written first: if a later file fails, the folder still counts as a report.
    for name, data in {RESULTS: results.encode("utf-8", "backslashreplace"), PAGE: page, **images}.items():
        path = out / name
        if name in rights:
            path.touch(0o600)
        path.write_bytes(data)
        if name in rights:
            path.chmod(rights[name])
    return [out / name for name in files]


def drawn(found: Answer) -> dict[str, bytes]:
    """The pictures as PNG files by name; none without matplotlib."""
    try:
        from setwise.compare.pictures import pictures
    except ImportError:
        return {}
    return pictures(found)


CAPTIONS = {
    "gain": "Left: the parts of the gain, as under Why, with 95 % intervals. Right: what the "
    "repeated choice gains over logistic regression with a tuned threshold in each outer fold.",
    "ways": "All ways on the outer folds, ± one standard error. The recommended one has a ring.",
    "threshold": "The measure at other thresholds of the recommended model, on rows held out in training.",
    "plane": "What is predicted positive by the reference and by the recommended way: the side of the line on which "
    "the positive rows lie.",
    "coefficients": "The coefficients of the recommended model: how a feature moves the log-odds.",
}

FLOORED_CAPTION = (
    "Recall, precision and the share of rows called positive around the recommended threshold, on rows held out in "
    "training. Dashed: the floor. "
)

BROKEN = "Higher thresholds break a floor of recall, and lower ones one of precision."

DISTANT = "So that new rows keep it with confidence {:g}, {}"

NEEDED = {
    True: "the lower end of the band below the recall must keep it: that much recall is sure.",
    False: "the rows at hand must keep more: the threshold keeps a distance.",
}


def _caption(found: Answer, name: str) -> str:
    floor = found.plan.floor
    if name != "threshold" or floor is None:
        return CAPTIONS[name]
    if floor.confidence is None:
        return FLOORED_CAPTION + BROKEN
    return FLOORED_CAPTION + DISTANT.format(
        floor.confidence, NEEDED[floor.recall is not None and found.problem.groups is None]
    )


def _section(found: Answer, images: dict[str, bytes]) -> str:
    """One answer as HTML: the answer, then the pictures, the table, the details and the code."""
    answer = "".join(
        f"<dt>{linked(title.capitalize(), pages.WHAT_IT_PRINTS)}</dt><dd>{'<br>'.join(map(escape, sentences))}</dd>"
        for title, sentences in {**words.data(found), **words.headline(found)}.items()
    )
    shown = "".join(
        f'<img alt="{escape(_caption(found, name))}" src="data:image/png;base64,{base64.b64encode(data).decode()}">'
        f'<p class="note">{escape(_caption(found, name))}</p>'
        for name, data in images.items()
    )
    rest = "".join(f"<p>{escape(sentence)}</p>" for sentence in [*words.details(found), *words.refusals(found)])
    above = f"<h3>{linked('The same in Python', pages.FROM_PYTHON)}</h3>"
    code = f"{above}<pre>{escape(found.winner.code)}</pre>" if found.winner.code else ""
    return (
        f"<h2>{escape(words.heading(found))}</h2>"
        f"<p>{'<br>'.join(map(escape, words.facts(found)))}<br>"
        f'<span class="note">{linked(words.kind(found).rstrip("."), pages.SETS)}.</span></p>'
        f'<dl class="answer">{answer}</dl>'
        f"<h3>{linked('All ways that were tried', pages.WHAT_IS_TRIED)}</h3>"
        f'<p class="note">Mean of {escape(found.measured.title)} on the outer folds '
        f"± its standard error; {escape(found.measured.better)}. The recommended way is bold; - was not tried.</p>"
        f"{_table(found)}{_other_table(found)}{_rules(found)}{rest}{shown}{code}"
    )


def linked(text: str, page: Page) -> str:
    """The text as HTML, with a link to the page that explains it where the address of the site is known."""
    shown = escape(text)
    where = escape(f"{page.title}, in {page.name}")
    return shown if page.address is None else f'<a href="{escape(page.address)}" title="{where}">{shown}</a>'


def _table(found: Answer) -> str:
    """The table of strategies and base models as HTML."""
    bases, ways = words.ways_by_strategy(found)
    return _html_table(
        [base_model(base).title for base in bases],
        {words.strategy_title(name): [_cell(found, row) for row in rows] for name, rows in ways.items()},
    )


def _html_table(columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """A table as HTML, with the names of its columns, and for the name of each row its cells as HTML."""
    head = "".join(f"<th>{escape(title)}</th>" for title in ("", *columns))
    body = "".join(f"<tr><td>{escape(name)}</td>{''.join(cells)}</tr>" for name, cells in rows.items())
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(found: Answer, row: CandidateResult | None) -> str:
    """A cell as HTML, which says where a way breaks the floor."""
    best = BEST if row is not None and row.key == found.winner.key else ""
    broken = '<br><span class="note">breaks the floor</span>' if words.breaks(found, row) else ""
    return f"<td{best}>{words.cell(found, row)}{broken}</td>"


def _other_table(found: Answer) -> str:
    """The table of the rows of a file that are not in its sample, as HTML; nothing without them."""
    rows = {
        words.way(key): [f"<td{BEST if key == found.winner.key else ''}>{text}</td>"]
        for key, text in words.cells_of(found).items()
    }
    return _html_table([f"on {words.rows_text(found)}"], rows) if rows else ""


def _rules(found: Answer) -> str:
    """What the rules of the table are."""
    kinds = [words.WAYS[strategy] for strategy in words.ways_by_strategy(found)[1]]
    if found.floored is not None:
        kinds = [FlooredThreshold if kind.name == FlooredThreshold.name else kind for kind in kinds]
    many = found.problem.many
    told = ((kind, (many and kind.explanation_of_matrices) or kind.explanation) for kind in kinds)
    lines = [f"{linked(kind.title, kind.page)}: {escape(text)}" for kind, text in told if text]
    return f'<p class="note">{"<br>".join(lines)}</p>'


BEST = ' class="best"'


def _page(title: str, parts: Sequence[str], made: str, pictured: bool, floored: bool) -> str:
    """The whole HTML page; it loads no other file."""
    missing = "" if pictured else '<p class="note">For pictures install matplotlib: pip install matplotlib.</p>'
    how = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in HOW)
    if floored:
        how += f"<p>{escape(UNDER_FLOOR).replace('A floor', linked('A floor', pages.FLOORS), 1)}</p>"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f'<h1>{escape(title)}</h1><p class="note">{escape(made)}</p>{"".join(parts)}'
        f"<h2>{linked('How this was found', pages.HOW_IT_CHOOSES)}</h2>{how}{missing}{_documented()}"
        "</body></html>\n"
    )


def _documented() -> str:
    """Where the pages are that words link to; nothing where the site has no address."""
    where = "pages of the documentation; in a clone of the repository they are files below docs"
    return "" if pages.FLOORS.address is None else f'<p class="note">Words with a dotted line link to {where}.</p>'


def _slug(text: str) -> str:
    """The text in lower case, with a hyphen for anything but letters and digits, as the stem of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


WIDTH, INDENT = 100, 13


def section(found: Answer, bold: bool) -> str:
    """The text of one answer: the problem, the parts of the answer, the table, and the details."""
    head = in_line(words.heading(found))
    # That all rows are one set is what a reader takes for granted.
    several = found.problem.many or found.problem.groups is not None
    lines = [head, "=" * len(head), *map(wrap, [*words.facts(found), *([words.kind(found)] if several else [])]), ""]
    for title, told in {**words.data(found), **words.headline(found)}.items():
        shown = [in_line(sentence) for sentence in told]
        body = ("\n" if title in ("DATA", "WHY") else " ").join(shown)
        lines.append(_titled(title, body, bold))
    lines += [
        "",
        wrap(words.legend(found, f"{'bold' if bold else 'the star'} is recommended")),
        "",
        words.table(found, bold),
    ]
    if words.cells_of(found):
        lines += ["", words.other_table(found, bold)]
    if sentences := words.in_short(found):
        lines += ["", *map(wrap, sentences)]
    return "\n".join(lines)


def summary(found: Sequence[Answer]) -> list[str]:
    """A summary of several answers: what to do in each of them."""
    lines = [wrap(f"{one.problem.name}, {one.measured.title}: {' '.join(words.what_to_do(one))}") for one in found]
    return ["In short\n========\n" + "\n".join(lines)]


def _titled(title: str, body: str, bold: bool) -> str:
    """A title in the margin, with its text beside it."""
    filled = "\n".join(
        textwrap.fill(line, WIDTH - INDENT, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for line in body.splitlines()
    )
    text = textwrap.indent(filled, " " * INDENT)[INDENT:]
    name = f"\033[1m{title}\033[0m" if bold else title
    return name + " " * (INDENT - len(title)) + text
