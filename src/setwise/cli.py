"""The command line: ``setwise compare``, ``setwise predict``, ``setwise tune``, ``setwise list``."""

import argparse
import contextlib
import inspect
import io
import os
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from setwise import __version__
from setwise.core.files import in_line, is_standard_output, visible
from setwise.core.tasks import TASKS

DESCRIPTION = (
    "Predictors trained for the measure they are judged by, when that measure judges a set of decisions together."
)

SENTENCE_END = re.compile(r"(?<!\bEq)(?<!\bDef)(?<!\bProp)(?<!\bFig)(?<!\bal)\.\s")
"""A full stop that does not belong to an abbreviation."""


class Parser(argparse.ArgumentParser):
    """A parser that reports a wrong command line in one sentence and exits with the code 2."""

    call = "setwise"
    """What a user types to call it; sentences on standard error begin with the last word of this."""

    def error(self, message: str) -> NoReturn:
        """Print the sentence and exit with the code 2."""
        self.exit(2, f"{self.call.split()[-1]}: {in_line(message.rstrip('.'))}. See '{self.call} --help'.\n")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # Before Python 3.13 "--" was taken out of "--missing=--" too.
        return "--" if action.option_strings and arg_strings == ["--"] else super()._get_values(action, arg_strings)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, or 2 after a sentence on standard error; 130 after Ctrl-C, and 143
    after SIGTERM.
    """
    return run_command(options_parser(), argv)


def run_command(parser: Parser, argv: Sequence[str] | None) -> int:
    """Run what the parsed options name as ``run``; errors of its work become sentences and exit codes, as in `main`."""
    _prepare_streams()
    try:
        with _sigterm_as_ctrl_c() as terminated:
            code = _run_command(parser, argv)
        return 143 if terminated else code
    finally:
        _give_up_broken_streams()


@contextlib.contextmanager
def _sigterm_as_ctrl_c() -> Iterator[list[int]]:
    """Let SIGTERM end the work as Ctrl-C does, and with it the processes that share it; gives the signals that came."""
    came = list[int]()

    def stop(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    # Other threads may set no signals.
    own = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if own else None
    try:
        yield came
    finally:
        if own:
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _run_command(parser: Parser, argv: Sequence[str] | None) -> int:
    """Run one command and turn the exceptions of its work into sentences and exit codes."""
    name = parser.call.split()[-1]
    options = parser.parse_args(argv)
    options.command = shlex.join([name, *(sys.argv[1:] if argv is None else argv)])
    try:
        code = int(options.run(options))
        # Output that cannot be written fails here, where it becomes a sentence, and not when Python ends.
        sys.stdout.flush()
    except KeyboardInterrupt as stop:
        # Long work says what it has kept.
        return _complain(f"\n{name}: interrupted, {in_line(str(stop)) or 'nothing was written'}.", 130)
    # The reader of a pipe, such as head, has seen enough, which is no error.
    except BrokenPipeError:
        return 0
    except (ValueError, OSError, OverflowError, MemoryError) as error:
        return _complain(f"{name}: {_of_options(_sentence(error), vars(options))}", 2)
    return code


def _prepare_streams() -> None:
    """Let standard output print a question mark for what its encoding lacks, and replace closed streams.

    What is written to a closed stream is lost, and the work goes on.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (until the process ends)
    # A stream that a test or a notebook has put in its place may not be reconfigurable.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _give_up_broken_streams() -> None:
    """Discard what a broken stream still holds, since otherwise Python complains about it when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # Python flushes the stream once more when it ends; by then it writes to the null device.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _complain(text: str, code: int) -> int:
    """Print the text to standard error, if that is possible, and return the exit code."""
    _note(text)
    return code


def _note(text: str) -> None:
    """Print a sentence to standard error, beside the line of progress, if that is possible."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(visible(text), file=sys.stderr, flush=True)


def options_parser() -> Parser:
    """The parser of the four commands with their options."""
    parser = Parser(prog="setwise", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"setwise {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)

    _add_compare(commands)

    add = commands.add_parser("predict", help="label the rows of a file by a saved model")
    add.add_argument("model", type=Path, metavar="MODEL", help="a file .skops; its code is not run, only data are read")
    add.add_argument(
        "data", metavar="DATA", help="a file with the columns of the training, in any order; others are ignored"
    )
    add.add_argument("--group", metavar="COLUMN", help="column of ids: rows with the same id are one set")
    add.add_argument("--keep", metavar="COLUMN[,COLUMN]", help="columns to write beside the labels, such as ids")
    _add_text_form(add)
    add.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="CSV file for the labels, as l.csv or l.csv.gz (default: standard output)",
    )
    add.add_argument(
        "--single-threshold", action="store_true",
        help="decide by the tuned threshold, which needs no costs, where the model decides each row by its own costs",
    )  # fmt: skip
    add.set_defaults(run=_predict)

    _add_tune(commands)

    add = commands.add_parser(
        "list", help="losses, surrogates, methods of inference, learners, label spaces and strategies, one line each"
    )
    add.add_argument("--for", dest="task", choices=TASKS, help="only the functions, classes and losses of one task")
    add.set_defaults(run=_list)
    return parser


def _add_compare(commands: Any) -> None:
    """The options of ``setwise compare``."""
    add = commands.add_parser(
        "compare",
        help="which model, threshold and way of deciding is best for a measure on a table, and how sure it is",
    )
    add.add_argument(
        "data", nargs="?", metavar="DATA",
        help="a file .csv, .csv.gz, .tsv, .txt, .parquet, .svm or .npz, with words and gaps; none takes bundled data",
    )  # fmt: skip
    add.add_argument(
        "--target", metavar="COLUMN[,COLUMN]",
        help="column to predict; several make a label matrix (default: the one called target, y, label or class)",
    )  # fmt: skip
    add.add_argument(
        "--positive", metavar="VALUE",
        help="which of the two labels is the positive one (default: the later in order); of more classes the one that "
        "is told from the others (default: all are told apart)",
    )  # fmt: skip
    add.add_argument("--group", metavar="COLUMN", help="column of ids: rows with the same id are one set")
    add.add_argument("--drop", metavar="COLUMN[,COLUMN]", help="columns that are not features; costs may be among them")
    add.add_argument(
        "--keep-column", action="append", metavar="COLUMN",
        help="a column that is a feature although it numbers rows, gives the label away or is nearly empty; repeatable",
    )  # fmt: skip
    add.add_argument(
        "--similar-apart", action="store_const", const=True,
        help="folds may part rows that are much like each other, though labels are known from such rows alone",
    )  # fmt: skip
    add.add_argument("--time-column", metavar="COLUMN", help="a date or number: outer folds are judged on later rows")
    add.add_argument(
        "--kind", action="append", metavar="COLUMN=KIND",
        help="how a column is read: number, category, date, text, cost, which is no feature, or id, which is left out",
    )  # fmt: skip
    add.add_argument("--missing", action="append", metavar="WORD", help="a word for a gap; may be repeated")
    _add_text_form(add)
    add.add_argument(
        "--loss", metavar="LOSS[,LOSS]",
        help="measures, one answer for each, with parameters after colons, as f1,fbeta:2,tversky:0.3:0.7; see "
        "'setwise list', or module:function for a function of y_true and y_pred of yours (default: f1)",
    )  # fmt: skip
    _add_costs(add)
    add.add_argument(
        "--average", choices=("samples", "macro", "micro"),
        help="what a set is in a label matrix: a row, a label, or the whole (default: samples)",
    )  # fmt: skip
    add.add_argument(
        "--base", metavar="NAME[,NAME]",
        help="base models: linear, forest, boosted, lightgbm, xgboost, catboost, or module:object for a classifier of "
        "yours (default: all that are installed; with --quick linear and boosted)",
    )  # fmt: skip
    add.add_argument("--strategies", metavar="NAME[,NAME]", help="ways to get labels from a base model (default: all)")
    _add_floors(add)
    _add_effort(add)
    add.set_defaults(run=_compare)


def _add_tune(commands: Any) -> None:
    """The options of ``setwise tune``."""
    add = commands.add_parser(
        "tune", help="change the threshold or the class multipliers of a saved model, by new labelled rows"
    )
    add.add_argument("model", type=Path, metavar="MODEL", help="a file .skops of 'setwise compare' or save_model")
    add.add_argument("data", metavar="DATA", help="a file with its columns and that of the label; not its training")
    add.add_argument("--target", metavar="COLUMN", help="column of the label (default: target, y, label or class)")
    add.add_argument("--loss", metavar="LOSS", help="measure, as f1 or fbeta:2; see 'setwise list' (default: f1)")
    _add_costs(add)
    add.add_argument("--group", metavar="COLUMN", help="column of ids: rows with the same id are one set")
    add.add_argument(
        "--average", choices=("samples", "macro", "micro"),
        help="what a set is in a label matrix: a row, a label, or the whole (default: samples)",
    )  # fmt: skip
    _add_floors(add)
    add.add_argument(
        "--new-rows", action="store_true",
        help="say that no row of DATA was in the training; asked for where the model does not know",
    )  # fmt: skip
    _add_text_form(add)
    add.add_argument("--out", type=Path, required=True, metavar="FILE", help="the model with the new threshold, .skops")
    add.set_defaults(run=_tune)


def _add_costs(add: argparse.ArgumentParser) -> None:
    """The options of what the outcomes cost."""
    for cell, what in (("fp", "an alarm"), ("fn", "a miss"), ("tp", "a hit"), ("tn", "a right negative")):
        add.add_argument(
            f"--{cell}-cost", metavar="COST",
            help=f"what {what} costs, a number or a column; with costs the measure is the cost of 1,000 rows",
        )  # fmt: skip
    add.add_argument(
        "--cost-matrix", metavar="FILE",
        help="a .csv file of what decisions cost, for more than two classes: a line for each true class, whose name is "
        "in the first column, and a column for each predicted one",
    )  # fmt: skip


def _add_floors(add: argparse.ArgumentParser) -> None:
    """The options of what the threshold must keep."""
    floor = "a floor that the threshold must keep on the rows at hand; see --confidence"
    add.add_argument("--recall-at-least", type=float, metavar="R", help=floor)
    add.add_argument("--precision-at-least", type=float, metavar="P", help=floor)
    add.add_argument(
        "--alarms-at-most", type=float, metavar="A",
        help="how many rows may be called positive: a share below 1, or a number of those of the table, from 1 on",
    )  # fmt: skip
    add.add_argument(
        "--confidence", type=float, metavar="Q",
        help="with which new rows keep a floor in the long run, as 0.95 (not each file; with --group, all rows of new "
        "groups together); without it about half fail",
    )  # fmt: skip


def _add_text_form(add: argparse.ArgumentParser) -> None:
    """The options of how a text table is written."""
    add.add_argument(
        "--sep", metavar="CHARACTER", help="what parts the cells of a text table (default: it is looked for)"
    )
    add.add_argument("--encoding", metavar="NAME", help="its encoding, as cp1252 (default: it is looked for)")


def _add_effort(add: argparse.ArgumentParser) -> None:
    """The options of how thorough ``setwise compare`` is, and of what it writes."""
    add.add_argument("--test", metavar="FILE", help="further rows, on which the advice is judged too")
    add.add_argument("--quick", action="store_true", help="fewer folds, constants C and base models; a minute")
    add.add_argument("--folds", type=int, default=5, metavar="K", help="outer folds (default: 5)")
    add.add_argument("--seed", type=int, default=0, help="of the outer folds and of what is drawn (default: 0)")
    add.add_argument(
        "--n-jobs", type=int, metavar="N", help="processes; -1 takes all processors (default: by the size)"
    )
    add.add_argument(
        "--time-budget", type=float, metavar="SECONDS",
        help="how long it may take (default: 600 for a file, with --quick 60); what does not fit is named",
    )  # fmt: skip
    add.add_argument(
        "--memory", metavar="BYTES",
        help="as 500MB, for a larger .parquet file: ways are compared on random rows, and judged on the others too",
    )  # fmt: skip
    add.add_argument("-v", "--verbose", action="store_true", help="print the details too, which the report has as well")
    add.add_argument("--save", type=Path, metavar="FILE", help="write the recommended model, as model.skops")
    add.add_argument(
        "--checkpoint", type=Path, metavar="FILE",
        help="write to this file every so often what was found, so that --resume can go on from there",
    )  # fmt: skip
    add.add_argument(
        "--plan", type=Path, metavar="FILE",
        help="do what an earlier comparison did, and nothing else: the results.json of its report",
    )  # fmt: skip
    add.add_argument("--resume", action="store_true", help="go on from the file of --checkpoint, if there is one")
    add.add_argument(
        "--out", type=Path, default=Path("setwise-report"), metavar="DIR",
        help="folder for the report, empty or with an earlier report to replace (default: setwise-report)",
    )  # fmt: skip


def _compare(options: argparse.Namespace) -> int:
    """The command ``setwise compare``."""
    # Imports are inside the commands, so that --help and --version do not wait for them.
    from setwise.compare.command import compare_command

    begin = time.perf_counter()
    sections, files, failed = compare_command(options)
    print("\n\n".join(sections))
    if files:
        page, results = files
        held = f"Written in {time.perf_counter() - begin:.0f} s: {page} (pictures, columns, Python code)"
        print("\n" + wrapped(f"{held} and {results.name}."))
    return max((_complain(f"setwise: {what}: {_sentence(error)}", 2) for what, error in failed), default=0)


def _predict(options: argparse.Namespace) -> int:
    """The command ``setwise predict``."""
    from setwise.compare.predict import predict_command

    text, notes, done = predict_command(options)
    for note in notes:
        _note(f"setwise: {in_line(note)}")
    if options.out is None:
        # A pipe gets the labels as they are.
        print(visible(text) if sys.stdout.isatty() else text, end="")
    elif is_standard_output(options.out):
        _note(wrapped(done))
    else:
        print(wrapped(done))
    return 0


def _tune(options: argparse.Namespace) -> int:
    """The command ``setwise tune``."""
    from setwise.compare.tuning import tune_command

    print(tune_command(options))
    return 0


def _list(options: argparse.Namespace) -> int:
    """The command ``setwise list``."""
    if options.task is not None:
        task = TASKS[options.task]
        print(f"{task.title} (documentation: {task.page})")
        _print_aligned(task.names)
        return 0
    from setwise.estimators.selection import STRATEGIES
    from setwise.inference import INFERENCES
    from setwise.learners import LEARNERS
    from setwise.losses import LOSSES, loss_forms
    from setwise.spaces import SEARCHES, SPACES
    from setwise.surrogates import SURROGATES

    # Parameters that --loss takes are in brackets behind the description.
    taken = {name: f" [{form}]" for name, form in loss_forms().items() if form != name}
    for title, entries in (
        ("losses", {name: _line(kind) + taken.get(name, "") for name, kind in LOSSES.items()}),
        ("surrogates", {name: _line(kind) for name, kind in SURROGATES.items()}),
        ("inference", {name: _line(kind) for name, kind in sorted({**INFERENCES, **SEARCHES}.items())}),
        ("learners", {name: _line(kind) for name, kind in LEARNERS.items()}),
        ("label spaces", {name: _line(kind) for name, kind in SPACES.items()}),
        ("strategies", {name: _line(kind) for name, kind in STRATEGIES.items()}),
    ):
        print(f"{title}:")
        _print_aligned(entries)
        print()
    return 0


def _print_aligned(entries: Mapping[str, str]) -> None:
    """Print a line for each name; the descriptions begin in one column."""
    width = max(map(len, entries), default=0)
    for name, line in entries.items():
        print(f"  {name.ljust(width)}  {line}")


def _line(kind: object) -> str:
    """The first sentence of the docstring of a class, without its markup."""
    # The first paragraph may hold several lines and several sentences.
    text = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split()).replace("``", "")
    end = SENTENCE_END.search(text)
    return text if end is None else text[: end.start() + 1]


def wrapped(sentence: str) -> str:
    """The sentence in lines, as :func:`setwise.compare.text.wrap` makes them."""
    from setwise.compare.text import wrap

    return wrap(sentence)


OTHER_NAMES = {"bases": "base", "recall": "recall_at_least", "precision": "precision_at_least"}
"""Arguments of functions, with the options that are called otherwise."""


def _of_options(sentence: str, options: Mapping[str, Any]) -> str:
    """A refusal of an argument as one of the option that the user has typed."""
    name, must, rest = sentence.partition(" must ")
    name = OTHER_NAMES.get(name, name)
    return f"--{name.replace('_', '-')}{must}{rest}" if must and name in options else sentence


def _sentence(error: Exception) -> str:
    """The message of an error in one line."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for these data."
    # The text of an OSError begins with a number, which says nothing to the user.
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {in_line(str(error.filename))}." if error.filename else f"{error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
