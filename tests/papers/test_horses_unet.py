"""The U-Net on horses: its network, losses, decodings, what is kept, and what is said without PyTorch."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from scipy.special import expit  # noqa: E402

from papers import find, horses_unet  # noqa: E402
from papers.experiment import Settings, write_outcome  # noqa: E402
from papers.horses import training  # noqa: E402
from papers.horses.data import GRIDS, WAYS, HorseSize, Parts, Pictures, parts  # noqa: E402
from papers.horses.decoding import decoded, indices  # noqa: E402
from papers.horses.losses import cross_entropy, potentials, soft_dice, turning, ways  # noqa: E402
from papers.horses.network import UNet, made  # noqa: E402
from papers.horses.store import Run, Store, TrainingJob  # noqa: E402
from papers.horses_unet import FULL, QUICK, outcome, trained, words_of  # noqa: E402
from setwise.datasets import textured_objects  # noqa: E402
from setwise.decisions import expected_loss  # noqa: E402
from setwise.losses import Jaccard  # noqa: E402
from setwise.torch import most_probable  # noqa: E402

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set")
SMALL = HorseSize(seeds=2, rates=(0.01, 0.02), epochs=4, widths=(4, 6), batch=4, held=4, every=2)


def objects(n, seed=0):
    drawn = textured_objects(n, (16, 16), 0.4, seed)
    return Pictures(np.stack(drawn.images), np.stack(drawn.labels) == 1)


PARTS = Parts(objects(12), objects(7, 1))


def test_the_network_has_the_weights_that_the_protocol_says():
    network = made(FULL.widths, 1, 0)
    assert sum(one.numel() for one in network.parameters()) == 61_057
    assert network(torch.zeros(2, 3, 64, 64)).shape == (2, 1, 64, 64)
    assert UNet((4, 6), 3)(torch.zeros(1, 3, 10, 6)).shape == (1, 3, 10, 6)


def test_networks_of_one_seed_differ_in_their_last_layer_alone():
    one, other = (made((4, 6), channels, 5).state_dict() for channels in (1, 3))
    assert one.keys() == other.keys()
    assert {name for name in one if one[name].shape != other[name].shape} == {"head.weight", "head.bias"}
    assert all(torch.equal(one[name], other[name]) for name in one if not name.startswith("head"))
    assert not torch.equal(made((4, 6), 1, 6).state_dict()["down.0.0.weight"], one["down.0.0.weight"])


def test_dice_is_its_formula():
    outputs, masks = torch.randn(2, 1, 3, 4, generator=torch.Generator().manual_seed(0)), torch.zeros(2, 3, 4) > 0
    masks[1, 1:, 2:] = True
    found = []
    for s, y in zip(outputs[:, 0].double().numpy(), masks.numpy(), strict=True):
        q = expit(s)
        found.append(1 - (2 * q[y].sum() + 1) / (q.sum() + y.sum() + 1))
    assert soft_dice(outputs, masks).item() == pytest.approx(np.mean(found), rel=1e-6)


def test_losses_fall_where_scores_are_right():
    masks = torch.from_numpy(PARTS.test.masks)
    right = torch.where(masks, 3.0, -3.0)
    for name, way in ways(0).items():
        outputs = torch.zeros(len(masks), way.channels, 16, 16)
        start = way.second(outputs, masks).item()
        outputs[:, 0] = right
        assert way.second(outputs, masks).item() < 0.5 * start, name
        outputs[:, 0] = -right
        # A ramp never costs more than the loss.
        assert way.second(outputs, masks).item() > 0.9 * start, name


def test_couplings_are_never_negative():
    unary, coupling = potentials(torch.linspace(-50, 50, 3 * 4).reshape(1, 3, 2, 2))
    assert unary.shape == (1, 2, 2)
    assert coupling.shape == (1, 2, 2, 2)
    assert coupling.min() >= 0.0


def test_scores_of_a_grid_are_the_biases_at_which_its_pixels_turn():
    outputs = np.random.default_rng(0).normal(size=(3, 3, 5, 6)) * 2.0
    scores = turning(outputs, True)
    for bias in (-1.5, -0.2, 0.0, 0.4, 2.0):
        unary, coupling = potentials(torch.from_numpy(outputs))
        np.testing.assert_array_equal(scores > -bias, most_probable(unary + bias, coupling).numpy())
    np.testing.assert_array_equal(turning(outputs, False) > 0.0, scores > 0.0)


def test_decodings_are_what_they_are_called():
    rng = np.random.default_rng(3)
    truth = PARTS.test.masks
    scores = np.where(truth, 1.0, -1.0) + rng.normal(scale=1.5, size=truth.shape) - 1.0
    found = decoded(scores, truth, scores, truth)
    assert found.cells.shape == (3, 2)
    np.testing.assert_array_equal(found.masks[0], scores > 0.0)
    # Thresholds that are tuned on the images that are judged are no worse than none.
    assert (found.cells[1] >= found.cells[0]).all()
    assert found.cells[1, 0] > found.cells[0, 0] + 1.0
    q = expit(scores.reshape(len(truth), -1))
    costs = [expected_loss(q, masks.reshape(q.shape).astype(int), Jaccard()) for masks in found.masks]
    assert (costs[2] <= costs[0] + 1e-3).all()
    assert (costs[2] <= costs[1] + 1e-3).all()
    flat, right = found.masks[2], truth
    each = [(a & b).sum() / (a | b).sum() for a, b in zip(flat, right, strict=True)]
    np.testing.assert_allclose(
        indices(flat, right), [100 * np.mean(each), 100 * (flat & right).sum() / (flat | right).sum()]
    )


@pytest.mark.parametrize("way", ["Lovász hinge", "log-supermodular"])
def test_a_training_repeats_itself_and_leaves_nothing_behind(way):
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    one, other = (training.train(TrainingJob(way, 0.01, 1), PARTS, SMALL) for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    np.testing.assert_array_equal(one.cells, other.cells)
    np.testing.assert_array_equal(one.curve, other.curve)
    np.testing.assert_array_equal(one.shown, other.shown)
    assert one.shown.shape == (3, 6, 16, 16)
    assert len(one.curve) == 2
    assert 0.0 < one.share < 100.0


def test_a_step_is_one_of_plain_training():
    x, y = training.as_input(PARTS.known.images[:4]), torch.from_numpy(PARTS.known.masks[:4])
    one, other = made((4, 6), 1, 0), made((4, 6), 1, 0)
    training.StepClock().step(one, torch.optim.Adam(one.parameters()), cross_entropy, x, y)
    optimizer = torch.optim.Adam(other.parameters())
    cross_entropy(other(x), y).backward()
    optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_the_first_step_with_a_loss_has_no_part_in_its_share(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(training, "process_time", lambda: now[0])

    def slow_at_first(seconds):
        costs = iter(seconds)

        def loss(outputs, target):
            now[0] += next(costs)
            return cross_entropy(outputs, target)

        return loss

    x, y = training.as_input(PARTS.known.images[:4]), torch.from_numpy(PARTS.known.masks[:4])
    network, clock = made((4, 6), 1, 0), training.StepClock()
    network.register_forward_pre_hook(lambda *unused: now.__setitem__(0, now[0] + 3.0))
    optimizer = torch.optim.Adam(network.parameters())
    assert np.isnan(clock.share)
    for loss in (slow_at_first((50.0, 1.0, 1.0)), slow_at_first((70.0, 1.0, 1.0))):
        for _ in range(3):
            clock.step(network, optimizer, loss, x, y)
    assert clock.share == pytest.approx(25.0)
    assert clock.whole == pytest.approx(142.0)


def test_a_quick_run_says_that_it_reads_no_data(tmp_path, monkeypatch):
    monkeypatch.setattr(horses_unet, "QUICK", replace(SMALL, ways=("cross-entropy",), epochs=2))
    monkeypatch.setattr(horses_unet, "trained", partial(trained, n_jobs=1))
    told = horses_unet.run(Settings(quick=True, data=tmp_path / "absent"), lambda what: None)
    assert told.words[-1] == "The images are generated: no folder of data is read with --quick."


def test_all_ways_are_trained_and_said(tmp_path, monkeypatch):
    said = []
    settings = Settings(quick=True, out=tmp_path)
    found = trained(SMALL, PARTS, settings, said.append, n_jobs=1)
    assert len(said) == len(SMALL.ways) * 3
    assert tuple(ways(0)) == SMALL.ways == (*WAYS, *GRIDS)
    told = outcome(found, PARTS.test)
    text = told.text(horses_unet.EXPERIMENT)
    assert all(way in text for way in SMALL.ways)
    assert "the Lovász hinge alone is" in text
    np.testing.assert_array_equal(told.tables[1].means[0, 0], 0.0)
    files = write_outcome(tmp_path, horses_unet.EXPERIMENT, settings, told)
    assert [file.name.split("-")[-1] for file in files[1:]] == ["training.png", "grids.png", "masks.png"]

    def never(*unused):
        raise AssertionError("this training is new")

    monkeypatch.setattr(training, "train", never)
    same = trained(SMALL, PARTS, settings, said.append, n_jobs=1)
    with pytest.raises(AssertionError, match="is new"):
        trained(replace(SMALL, epochs=5), PARTS, settings, said.append, n_jobs=1)
    np.testing.assert_array_equal(same.samples, found.samples)
    assert same.rates == found.rates
    assert found.note == ""
    assert outcome(same, PARTS.test).words[-1].startswith("27 of 27 trainings were made before, and kept in ")


def test_the_learning_rate_is_the_best_in_validation(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "train", None)
    store = Store(tmp_path / "horses_unet_runs", SMALL, True)
    size = replace(SMALL, ways=("cross-entropy", "Dice"))

    def run(validation):
        return Run(validation, np.zeros((3, 2)), np.zeros(2), 1.0, 1.0, np.zeros((3, 6, 16, 16), bool))

    for way, values in (("cross-entropy", (50.0, 60.0)), ("Dice", (60.0, 60.0))):
        for rate, value in zip(size.rates, values, strict=True):
            store.write(TrainingJob(way, rate, 0), run(value))
        for rate in size.rates:
            store.write(TrainingJob(way, rate, 1), run(10.0))
    found = trained(size, PARTS, Settings(quick=True, out=tmp_path), lambda what: None, n_jobs=1)
    assert found.rates == {"cross-entropy": 0.02, "Dice": 0.01}


def test_a_run_that_is_interrupted_says_what_it_kept(tmp_path, monkeypatch):
    calls = []

    def stop(*given):
        calls.append(given)
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", stop)
    with pytest.raises(KeyboardInterrupt, match="are kept in .* and the same command goes on from there"):
        trained(SMALL, PARTS, Settings(quick=True, out=tmp_path), lambda what: None, n_jobs=1)
    assert len(calls) == 1


def test_only_clear_comparisons_are_said():
    samples = np.full((2, 3, 5), 70.0) + 0.1 * np.arange(5)
    samples[1, 0] += 4.0 + 0.1 * np.arange(5)
    said = words_of(("cross-entropy", "Lovász hinge"), samples)
    assert said[0].startswith("at 0.5: Lovász hinge wins against cross-entropy (74.4 and 70.2 %")
    assert said[1].startswith("Lovász hinge: tuned loses against at 0.5")
    assert said[-3] == "4 of 7 comparisons are undecided at 95 %."
    assert said[-2] == "All of these are single intervals of 95 %, not corrected for the number of comparisons."
    assert "+4.2" in said[-1]


def test_the_spelling_with_a_hyphen_is_found():
    assert find("horses-unet") is find("horses_unet") is horses_unet.EXPERIMENT
    for size in (FULL, QUICK):
        settings = Settings(quick=size is QUICK)
        assert horses_unet.steps(settings) == len(size.ways) * (len(size.rates) + size.seeds - 1)


def test_without_pytorch_there_is_a_sentence(tmp_path):
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from papers.__main__ import main\n"
        "main([])\n"
        "sys.exit(main(['horses-unet', '--quick', '--out', sys.argv[1]]))"
    )
    words = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 2
    assert "horses_unet" in done.stdout
    assert done.stderr == "papers: setwise.torch needs PyTorch 2.4 or later: pip install torch.\n"


def test_the_list_of_experiments_does_not_import_pytorch():
    code = "import sys; from papers import experiments; experiments(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_absent_horses_are_refused_in_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="give their folder by --data DIR"):
        parts(Settings())
    with pytest.raises(ValueError, match="needs masks.npz"):
        parts(Settings(data=tmp_path))


@needs_data
@pytest.mark.realdata
def test_the_horses_are_read():
    found = parts(Settings(data=Path(os.environ["SETWISE_DATA"])))
    assert found.known.images.shape == (200, 64, 64, 3)
    assert found.test.masks.shape == (119, 64, 64)
    assert 0.2 < found.test.masks.mean() < 0.3
    fitted, held = found.split(40, (0, 0))
    assert (len(fitted.masks), len(held.masks)) == (160, 40)
