"""Words that the search leads to a page, although its title does not have them."""

from sphinx.application import Sphinx

WORDS = {
    "tables/index": ("AUC", "ROC", "tabular"),
    "segmentation/index": ("IoU", "Dice", "mask"),
    "labels/index": ("multilabel", "multi-label"),
    "guide/measure": ("F1", "MCC", "prefit"),
    "guide/several_classes": ("macro F1", "macro-F1", "multiclass", "multi-class", "multiclass F1"),
    "guide/thresholds": ("threshold", "fitted model", "tune threshold", "tune threshold pickle", "joblib"),
    "guide/floors": ("recall floor", "minimum recall", "alarms", "how sure"),
    "guide/costs": ("costs", "cost-sensitive", "cost sensitive", "fraud"),
    "guide/saved_models": ("save model", "load model", "change threshold saved model", "production"),
    "guide/boosting": ("LightGBM", "XGBoost", "early stopping"),
    "guide/multilabel": ("hierarchy", "hierarchical labels", "hierarchical classification", "taxonomy"),
    "guide/own_loss": ("custom loss", "own loss", "new loss", "custom metric"),
    "guide/torch": ("segmentation loss", "PyTorch"),
    "guide/bags": ("weak labels", "multiple instance learning", "label proportions"),
    "guide/cluster": ("AUC over workers", "memory", "out of core"),
}


def add_words(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Put index entries below the title of a page."""
    if docname in WORDS:
        title, rest = source[0].split("\n", 1)
        entries = ", ".join(f"! {word}" for word in WORDS[docname])
        source[0] = f"{title}\n\n```{{index}} {entries}\n```\n{rest}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the words."""
    app.connect("source-read", add_words)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
