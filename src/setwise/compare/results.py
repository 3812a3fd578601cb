"""Answers as data for results.json."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from setwise import __version__
from setwise.compare.answer import Answer, Others, Row
from setwise.compare.detail_words import details
from setwise.compare.fact_words import data_of, facts
from setwise.compare.words import headline


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
        "data": data_of(found.problem),
        "change": found.changes,
        "base": winner.key[0],
        "lever": winner.key[1],
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
        "plan": {
            "folds": found.plan.folds,
            "inner": found.plan.inner,
            "grid": list(found.plan.grid),
            "bases": list(found.plan.bases),
            "levers": list(found.plan.levers),
            "seed": found.plan.seed,
        },
        "facts": facts(found),
        "words": headline(found),
        "details": details(found),
        "seconds": round(found.seconds, 2),
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "base": row.base,
        "lever": row.lever,
        "out_of_fold_loss": _number(row.inner),
        "out_of_fold_gain": _number(row.gain),
        "out_of_fold_gain_error": _number(row.gain_error),
        "loss_in_folds": [_number(loss) for loss in row.outer.tolist()],
        "loss_on_test_file": _number(row.test),
        "refusal": row.refusal,
    }


def _others(found: Others) -> dict[str, Any]:
    return {
        "count": found.count,
        "losses": [{"base": base, "lever": lever, "loss": loss} for (base, lever), loss in found.losses.items()],
        "refusal": found.refusal,
    }


def _number(value: Any) -> Any:
    """A number for JSON: the word for one that is not finite, as JSON has none; a list for several."""
    if value is None:
        return None
    if np.ndim(value):
        return [_number(one) for one in np.asarray(value).tolist()]
    return float(value) if np.isfinite(value) else None if np.isnan(value) else "inf" if value > 0 else "-inf"
