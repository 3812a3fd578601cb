"""The order of the gallery: what most readers look for stands first, what needs more of the library last."""

ORDER = (
    "table_f1", "costs", "alarms", "recall_floor", "several_classes", "many_labels", "segmentation", "torch_finetuning",
    "early_detection", "early_warning", "denoising", "weak_labels", "windows", "hierarchy", "is_it_converged",
    "own_loss", "own_inference", "cluster",
)  # fmt: skip


class GalleryOrder:
    """A key of sphinx-gallery that sorts examples as in ``ORDER``; those that are not listed come last, by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> tuple[int, str]:
        """The key of the example in ``file``, as ``plot_windows.py``."""
        name = file.removeprefix("plot_").removesuffix(".py")
        return ORDER.index(name) if name in ORDER else len(ORDER), name

    def __repr__(self) -> str:
        """The same in each build, so that nothing is built anew."""
        return "GalleryOrder"
