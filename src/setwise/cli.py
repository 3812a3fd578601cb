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
        message = re.sub(
            r"argument (-\S+): expected one argument", r"\1 needs a value, as \1=VALUE where it begins with -", message
        )
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

    add = commands.add_parser("predict", help="label the rows of a file with a saved model")
    add.add_argument("model", type=Path, metavar="MODEL", help="a file .skops; its code is not run, only data are read")
    add.add_argument(
        "data",
        metavar="DATA",
        help="a file with the columns of the training data, in any order; other columns are ignored",
    )
    add.add_argument("--group", metavar="COLUMN", help="column of ids: rows with the same id are one set")
    add.add_argument("--keep", metavar="COLUMN[,COLUMN]", help="columns to copy to the output, such as ids")
    _add_text_form(add)
    add.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="CSV file for the labels, such as l.csv or l.csv.gz (default: standard output)",
    )
    add.add_argument(
        "--single-threshold", action="store_true",
        help="use the tuned threshold instead of the costs of each row; it needs no costs",
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
        help="find the best model and decision rule for a measure on a table, and how certain that is",
    )
    add.add_argument(
        "data", nargs="?", metavar="DATA",
        help="file: .csv, .csv.gz, .tsv, .txt, .parquet, .svm or .npz (default: three bundled problems)",
    )  # fmt: skip
    add.add_argument(
        "--target", metavar="COLUMN[,COLUMN]",
        help="column to predict; several make a label matrix (default: the one called target, y, label or class)",
    )  # fmt: skip
    add.add_argument(
        "--positive", metavar="VALUE",
        help="the positive label (default: the later of two in sorted order); with more classes: this class against "
        "all others (default: all classes are predicted)",
    )  # fmt: skip
    add.add_argument("--group", metavar="COLUMN", help="column of ids: rows with the same id are one set")
    add.add_argument(
        "--drop", metavar="COLUMN[,COLUMN]", help="columns not to use as features; costs may be among them"
    )
    add.add_argument(
        "--keep-column", action="append", metavar="COLUMN",
        help="use this column although it numbers rows, gives the label away or is nearly empty; repeatable",
    )  # fmt: skip
    apart = "put similar rows into different folds, although they may tell each other's labels"
    add.add_argument("--similar-apart", action="store_const", const=True, help=apart)
    add.add_argument("--time-column", metavar="COLUMN", help="date or number: outer folds are judged on later rows")
    add.add_argument(
        "--kind", action="append", metavar="COLUMN=KIND",
        help="how to read a column: number, category, date, text, cost (not a feature) or id (left out)",
    )  # fmt: skip
    add.add_argument("--missing", action="append", metavar="WORD", help="a word that means a missing value; repeatable")
    _add_text_form(add)
    add.add_argument(
        "--loss", metavar="LOSS[,LOSS]",
        help="measures, with parameters after colons, such as f1,fbeta:2,tversky:0.3:0.7 (see 'setwise list'), or "
        "module:function for your own function of y_true and y_pred; one answer for each (default: f1)",
    )  # fmt: skip
    _add_costs(add)
    add.add_argument(
        "--average", choices=("samples", "macro", "micro"),
        help="how a label matrix is averaged: over rows, over labels, or all cells together (default: samples)",
    )  # fmt: skip
    add.add_argument(
        "--base", metavar="NAME[,NAME]",
        help="base models: linear, forest, boosted, lightgbm, xgboost, catboost, or module:object for your own "
        "classifier (default: all that are installed; with --quick: linear and boosted)",
    )  # fmt: skip
    add.add_argument("--strategies", metavar="NAME[,NAME]", help="decision rules on each base model (default: all)")
    _add_floors(add)
    _add_effort(add)
    add.set_defaults(run=_compare)


def _add_tune(commands: Any) -> None:
    """The options of ``setwise tune``."""
    add = commands.add_parser(
        "tune", help="change the threshold or class multipliers of a saved model, from labelled rows that are new to it"
    )
    add.add_argument("model", type=Path, metavar="MODEL", help=".skops file of 'setwise compare' or save_model")
    add.add_argument("data", metavar="DATA", help="file with the same columns and the label; not the training data")
    add.add_argument("--target", metavar="COLUMN", help="column of the label (default: target, y, label or class)")
    add.add_argument(
        "--loss", metavar="LOSS",
        help="measure, such as f1 or fbeta:2 (see 'setwise list'), or module:function for your own (default: f1)",
    )  # fmt: skip
    _add_costs(add)
    add.add_argument("--group", metavar="COLUMN", help="column of ids: rows with the same id are one set")
    add.add_argument(
        "--average", choices=("samples", "macro", "micro"),
        help="how a label matrix is averaged: over rows, over labels, or all cells together (default: samples)",
    )  # fmt: skip
    _add_floors(add)
    add.add_argument(
        "--new-rows", action="store_true",
        help="confirm that no row of DATA was used for training; needed if the model cannot check it",
    )  # fmt: skip
    _add_text_form(add)
    add.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help=".skops file for the model with the new threshold"
    )
    add.set_defaults(run=_tune)


def _add_costs(add: argparse.ArgumentParser) -> None:
    """The options of what the outcomes cost."""
    for cell, what in (
        ("fp", "a false positive"),
        ("fn", "a false negative"),
        ("tp", "a true positive"),
        ("tn", "a true negative"),
    ):
        add.add_argument(
            f"--{cell}-cost", metavar="COST",
            help=f"cost of {what}: a number or a column; the measure is then the cost of 1,000 rows",
        )  # fmt: skip
    add.add_argument(
        "--cost-matrix", metavar="FILE",
        help=".csv file of costs for more than two classes: a row for each true class, named in the first column, and "
        "a column for each predicted class",
    )  # fmt: skip


def _add_floors(add: argparse.ArgumentParser) -> None:
    """The options of what the threshold must keep."""
    for name in ("recall", "precision"):
        words = f"lowest {name} allowed, on these rows; with --confidence on new rows"
        add.add_argument(f"--{name}-at-least", type=float, metavar=name[0].upper(), help=words)
    add.add_argument(
        "--alarms-at-most", type=float, metavar="A",
        help="the most rows that may be predicted positive: a share below 1, or a number of rows of the table",
    )  # fmt: skip
    add.add_argument(
        "--confidence", type=float, metavar="Q",
        help="confidence that new rows keep a floor in the long run, such as 0.95 (not each single file; with --group: "
        "all rows of new groups together); without it about half of the models fail",
    )  # fmt: skip


def _add_text_form(add: argparse.ArgumentParser) -> None:
    """The options of how a text table is written."""
    add.add_argument("--sep", metavar="CHARACTER", help="separator of a text table (default: found automatically)")
    add.add_argument(
        "--encoding", metavar="NAME", help="encoding of a text table, such as cp1252 (default: found automatically)"
    )


def _add_effort(add: argparse.ArgumentParser) -> None:
    """The options of how thorough ``setwise compare`` is, and of what it writes."""
    add.add_argument("--test", metavar="FILE", help="file with more rows, on which the advice is tested too")
    add.add_argument("--quick", action="store_true", help="about a minute: fewer folds, values of C and base models")
    add.add_argument("--folds", type=int, default=5, metavar="K", help="outer folds (default: 5)")
    add.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    add.add_argument(
        "--n-jobs",
        type=int,
        metavar="N",
        help="number of processes; -1 uses all processors (default: depends on the size)",
    )
    add.add_argument(
        "--time-budget", type=float, metavar="SECONDS",
        help="time limit (default: 600 for a file, 60 with --quick); the report names what was skipped",
    )  # fmt: skip
    add.add_argument(
        "--memory", metavar="BYTES",
        help="memory limit, such as 500MB, for a larger .parquet file: models are compared on random rows, and tested "
        "on the others",
    )  # fmt: skip
    add.add_argument("-v", "--verbose", action="store_true", help="also print the details, which are in the report too")
    add.add_argument("--save", type=Path, metavar="FILE", help="save the recommended model, for example as model.skops")
    add.add_argument(
        "--checkpoint", type=Path, metavar="FILE",
        help="save progress to this file, so that --resume can continue from it",
    )  # fmt: skip
    add.add_argument(
        "--plan", type=Path, metavar="FILE",
        help="repeat an earlier comparison exactly: the results.json of its report",
    )  # fmt: skip
    add.add_argument("--resume", action="store_true", help="continue from the file of --checkpoint, if it exists")
    add.add_argument(
        "--out", type=Path, default=Path("setwise-report"), metavar="DIR",
        help="folder for the report: empty, or with an earlier report to replace (default: setwise-report)",
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
        held = f"Written in {time.perf_counter() - begin:.0f} s: {page} (with pictures and Python code)"
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
