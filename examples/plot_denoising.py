"""
Denoising with probabilities
============================

In black and white pictures one pixel in five was flipped, and there are no clean pictures. Which pixels are wrong, and
where is it uncertain? :class:`~setwise.BinaryDenoiser` learns from the noisy pictures how much neighboring pixels
agree, and gives each pixel a probability. The pictures show restored digits, and whether the probabilities are
calibrated.
"""

# %%
# We take the digits of scikit-learn, in black and white and twice as large. The denoiser knows the level of the noise.
# The clean pictures are only for testing.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import median_filter, zoom
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from setwise import BinaryDenoiser

rng = np.random.default_rng(0)
digits = load_digits().images[rng.permutation(1797)]
clean = np.array([zoom(image, 2, order=1) > 7 for image in digits])
noisy = clean ^ (rng.random(clean.shape) < 0.2)
known, new = slice(0, 1600), slice(1600, None)

alone = BinaryDenoiser(noise=0.2, steps=1000, random_state=0).fit(noisy[known])
probability = np.array(alone.predict_marginals(noisy[new]))

# %%
# A probability near one half means that the pixel is uncertain.

shown = slice(0, 6)
rows = {"noisy": noisy[new][shown], "probability": probability[shown], "clean": clean[new][shown]}
fig, grid = plt.subplots(3, 6, figsize=(6.4, 3.5), layout="constrained")
for (name, images), panels in zip(rows.items(), grid, strict=True):
    for image, axes in zip(images, panels, strict=True):
        drawn = axes.imshow(image, cmap="cividis", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
    panels[0].set_ylabel(name)
fig.colorbar(drawn, ax=grid, label="probability of ink", shrink=0.8)
fig.suptitle("Probabilities show where the denoiser is in doubt")
fig.set_label(
    "Six digits, each noisy, as probabilities of its pixels, and clean. The probabilities show the shape of the "
    "digit, with doubtful pixels along its border."
)
plt.show()

# %%
# What does it gain? The median of three by three pixels needs no clean pictures either. If there are clean pictures,
# logistic regression of each pixel on the 25 pixels around it and on its place is a strong competitor. It is as good as
# the denoiser with the same pictures, or slightly better.


def surroundings(images):
    """The five by five noisy pixels around each pixel, and its place as 256 columns of 0 and 1."""
    padded = np.pad(images, ((0, 0), (2, 2), (2, 2)))
    around = np.lib.stride_tricks.sliding_window_view(padded, (5, 5), axis=(1, 2)).reshape(-1, 25)
    return np.hstack([around, np.tile(np.eye(256), (len(images), 1))])


supervised = BinaryDenoiser(steps=1000, random_state=0).fit(noisy[:150], clean[:150])
regression = LogisticRegression(max_iter=500).fit(surroundings(noisy[:150]), clean[:150].ravel())
answers = {
    "noisy picture": noisy[new],
    "median of 3 x 3": median_filter(noisy[new].astype(int), (1, 3, 3)) > 0,
    "denoiser, noisy pictures alone": probability > 0.5,
    "denoiser, 150 clean known": np.array(supervised.transform(noisy[new])) > 0,
    "regression, 150 clean known": regression.predict(surroundings(noisy[new])).reshape(-1, 16, 16),
}
for name, images in answers.items():
    print(f"{name:31} {np.mean(images != clean[new]):6.1%} of the pixels wrong")

# %%
# Are the probabilities calibrated? Among pixels with a probability between .8 and .9, a share between .8 and .9 should
# be ink. They are slightly too cautious.

fig, axes = plt.subplots(figsize=(4.6, 4), layout="constrained")
axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, label="as it should be")
for name, found, style in (
    ("noisy pictures alone", probability, {"color": "#2a7fb8", "marker": "o"}),
    ("150 clean known", np.array(supervised.predict_marginals(noisy[new])), {"color": "#d1495b", "marker": "s"}),
):
    tenth = np.minimum((found * 10).astype(int), 9)
    said, came = ([values[tenth == i].mean() for i in range(10)] for values in (found, clean[new]))
    axes.plot(said, came, linestyle="--", label=name, **style)
    certain = (found < 0.1) | (found > 0.9)
    wrong = np.mean((found > 0.5)[certain] != clean[new][certain])
    print(f"{name:21} {certain.mean():.0%} of the pixels are surer than .9; {wrong:.1%} of these are wrong")
axes.set(xlabel="probability of ink", ylabel="share that is ink", aspect="equal")
axes.legend()
axes.set_title("The probabilities are a little too cautious")
plt.show()

# %%
# :doc:`/guide/probabilities` says what is learned and which bounds are certain. Labels of least
# expected loss come from ``BinaryDenoiser(decode="jaccard")``.
