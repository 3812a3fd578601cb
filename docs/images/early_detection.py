"""Draws the picture of the README beside this file: ``python docs/images/early_detection.py``."""

from pathlib import Path

import numpy as np

from setwise import SetClassifier
from setwise.core.sets import Sets
from setwise.datasets.early_detection import early_detection, early_stage
from setwise.losses import EarlyDetection, Hamming
from setwise.plotting.scores import plane

X, y, groups = early_detection(1000, random_state=0)
X_test, y_test, _ = early_detection(5000, random_state=1)
sets = Sets.rows(y_test.reshape(-1, 15))
lines = {}
for name, loss, C in (("Lovász hinge of early detection", EarlyDetection(), 300.0), ("Hamming SVM", Hamming(), 20.0)):
    model = SetClassifier(loss, "lovasz", C=C, intercept_scaling=10.0).fit(X, y, groups=groups)
    scores = model.decision_function(X_test)
    early, wrong = (measure.values(sets, scores > 0).mean() for measure in (EarlyDetection(), Hamming()))
    label = f"{name}:\nearly loss {early:.3f}, {wrong:.1f} of 15 wrong"
    lines[label] = (*model.coef_[0], model.intercept_[0])

kinds = np.where(y_test == 0, 0, np.where(np.tile(early_stage(15), 5000), 1, 2))
title = "Bags of 15 samples in time order: what is learned depends on the loss"
figure = plane(X_test[:900], kinds[:900], ("negative", "early positive", "late positive"), lines, title)
figure.set_size_inches(8.4, 4.2)
figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)
