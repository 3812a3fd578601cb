"""An answer as text for a terminal."""

import textwrap
from collections.abc import Sequence

from setwise.compare.answer import Answer
from setwise.compare.detail_words import in_short
from setwise.compare.fact_words import facts, kind
from setwise.compare.other_words import cells_of, other_table
from setwise.compare.table_words import legend, table
from setwise.compare.text import wrap
from setwise.compare.way_words import way
from setwise.compare.words import heading, headline, what_to_do
from setwise.core.files import in_line

WIDTH, INDENT = 100, 13


def section(found: Answer, bold: bool) -> str:
    """The text of one answer: the problem, the parts of the answer, the table, and the details."""
    head = in_line(heading(found))
    # That all rows are one set is what a reader takes for granted.
    several = found.problem.many or found.problem.groups is not None
    lines = [head, "=" * len(head), *map(_wrapped, [*facts(found), *([kind(found)] if several else [])]), ""]
    for title, words in headline(found).items():
        shown = [in_line(sentence) for sentence in words]
        body = "\n".join(shown) if title == "WHY" else " ".join(shown)
        lines.append(_titled(title, body, bold))
    lines += [
        "",
        _wrapped(legend(found, f"{'bold' if bold else 'the star'} is recommended")),
        "",
        table(found, bold),
    ]
    if cells_of(found):
        lines += ["", other_table(found, {key: way(key) for key in cells_of(found)}, bold)]
    if sentences := in_short(found):
        lines += ["", *map(_wrapped, sentences)]
    return "\n".join(lines)


def summary(found: Sequence[Answer]) -> list[str]:
    """A summary of several answers: what to do in each of them."""
    lines = [_wrapped(f"{one.problem.name}, {one.measured.title}: {' '.join(what_to_do(one))}") for one in found]
    return ["In short\n========\n" + "\n".join(lines)]


def _wrapped(sentence: str) -> str:
    """The sentence in lines, with what may come from files as it can be shown."""
    return wrap(in_line(sentence))


def _titled(title: str, body: str, bold: bool) -> str:
    """A title in the margin, with its text beside it."""
    filled = "\n".join(
        textwrap.fill(line, WIDTH - INDENT, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for line in body.splitlines()
    )
    text = textwrap.indent(filled, " " * INDENT)[INDENT:]
    name = f"\033[1m{title}\033[0m" if bold else title
    return name + " " * (INDENT - len(title)) + text
