"""Images with labels of pixels: what is read, what is refused, and the objects that are generated."""

import numpy as np
import pytest
from scipy.ndimage import laplace

from setwise.datasets import LabeledImages, load_horses, load_labeled_images, textured_objects

Image = pytest.importorskip("PIL.Image")


def palette(labels):
    """A palette image whose colors say nothing about its numbers."""
    image = Image.fromarray(labels.astype(np.uint8), "L").copy()
    image.putpalette([7 * i % 256 for i in range(768)])
    return image


@pytest.fixture
def folders(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("images", "labels"):
        (tmp_path / name).mkdir()
    made = {}
    for name, shape in (("b", (8, 12)), ("a", (12, 6))):
        colors, labels = rng.integers(0, 256, (*shape, 3), np.uint8), rng.integers(0, 24, shape)
        Image.fromarray(colors).save(tmp_path / "images" / f"{name}.png")
        palette(labels).save(tmp_path / "labels" / f"{name}.png")
        made[name] = colors, labels
    return tmp_path / "images", tmp_path / "labels", made


def test_numbers_of_a_palette_are_classes(folders):
    images, labels, made = folders
    found = load_labeled_images(images, str(labels))
    assert found.names == ("a", "b")
    for name, colors, classes in zip(found.names, found.images, found.labels, strict=True):
        np.testing.assert_array_equal(colors, made[name][0])
        np.testing.assert_array_equal(classes, made[name][1])
        assert classes.dtype == np.int64
    assert load_labeled_images(images, labels, ["b"]).names == ("b",)
    # Photographs may be of another format than maps.
    Image.fromarray(made["a"][0]).save(images / "a.bmp")
    (images / "a.png").unlink()
    np.testing.assert_array_equal(load_labeled_images(images, labels).images[0], made["a"][0])


def test_images_and_labels_are_scaled_together(folders):
    images, labels, made = folders
    for side in (3, 4, 20):
        for colors, classes in zip(
            *(getattr(load_labeled_images(images, labels, None, side), n) for n in ("images", "labels")), strict=True
        ):
            assert min(classes.shape) == side
            assert colors.shape == (*classes.shape, 3)
    small = load_labeled_images(images, labels, ["b"], 4)
    assert small.labels[0].shape == (4, 6)
    blocks = made["b"][0].reshape(4, 2, 6, 2, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(small.images[0], blocks, atol=1.0)
    # The nearest label is one of the four, and no mean of them.
    four = made["b"][1].reshape(4, 2, 6, 2).transpose(0, 2, 1, 3).reshape(4, 6, 4)
    assert (four == small.labels[0][:, :, None]).any(axis=2).all()


def test_what_does_not_fit_is_refused_in_a_sentence(folders):
    images, labels, made = folders
    with pytest.raises(FileNotFoundError, match="there is no folder nowhere"):
        load_labeled_images("nowhere", labels)
    with pytest.raises(TypeError, match="labels must be the path of a folder"):
        load_labeled_images(images, 3)
    with pytest.raises(FileNotFoundError, match="there is no image 'c' in the folder"):
        load_labeled_images(images, labels, ["c"])
    with pytest.raises(TypeError, match="names must be a list"):
        load_labeled_images(images, labels, "a")
    with pytest.raises(ValueError, match="shorter_side must be"):
        load_labeled_images(images, labels, None, 0)
    Image.fromarray(made["a"][0]).save(labels / "a.png")
    with pytest.raises(ValueError, match=r"labels a\.png must be a palette or grey image; got the mode RGB"):
        load_labeled_images(images, labels)
    palette(made["b"][1]).save(labels / "a.png")
    with pytest.raises(ValueError, match=r"a\.png has \(6, 12\) pixels and its labels have \(12, 8\)"):
        load_labeled_images(images, labels)
    (labels / "a.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match="is no image, or a damaged one"):
        load_labeled_images(images, labels)
    whole = (labels / "b.png").read_bytes()
    (labels / "b.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"b\.png is no image, or a damaged one"):
        load_labeled_images(images, labels, ["b"])
    for name in "ab":
        (labels / f"{name}.png").unlink()
    with pytest.raises(ValueError, match="there is no image in the folder"):
        load_labeled_images(images, labels)


def test_images_of_too_many_pixels_are_refused(folders, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1)
    with pytest.raises(ValueError, match="a.png is no image, or a damaged one: Image size .72 pixels. exceeds limit"):
        load_labeled_images(*folders[:2])


def test_one_class_against_the_rest():
    maps = (np.array([[0, 3], [4, 3]]), np.array([[0, 1], [4, 4]]))
    all_of = LabeledImages(("a", "b"), tuple(np.zeros((2, 2, 3), np.uint8) for _ in maps), maps)
    found = all_of.with_class(3)
    assert found.names == ("a",)
    np.testing.assert_array_equal(found.labels[0], [[0, 1], [0, 1]])
    assert len(all_of.with_class(9)) == 0
    assert all_of.take([1, 0]).names == ("b", "a")


@pytest.fixture
def horses(tmp_path):
    rng = np.random.default_rng(0)
    masks, colors = rng.integers(0, 2, (3, 32, 32)).astype(np.uint8), rng.integers(0, 256, (3, 32, 32, 3), np.uint8)
    np.savez(tmp_path / "masks.npz", masks32=masks, names=np.array(["h1", "h2", "h3"]), near_duplicate_dropped=[1])
    np.savez(tmp_path / "rgb_32_50.npz", rgb32=colors)
    return tmp_path, masks, colors


def test_horses_are_read_without_near_duplicates(horses):
    folder, masks, colors = horses
    found = load_horses(folder, 32)
    assert found.names == ("h1", "h3")
    np.testing.assert_array_equal(found.labels[1], masks[2])
    np.testing.assert_array_equal(found.images[1], colors[2])


def test_horses_that_do_not_fit_are_refused_in_a_sentence(horses):
    folder, _, _ = horses
    with pytest.raises(ValueError, match="size must be one of which .* holds names, masks33 and rgb33; got 33"):
        load_horses(folder, 33)
    with pytest.raises(ValueError, match="of which .* holds names, masks50 and rgb50; got 50"):
        load_horses(folder)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*rgb_128\.npz"):
        load_horses(folder, 128)
    with pytest.raises(FileNotFoundError, match="there is no folder nowhere"):
        load_horses("nowhere")


def test_objects_differ_from_their_surroundings_as_described():
    drawn = textured_objects(60, (40, 60), random_state=1)
    again = textured_objects(60, (40, 60), random_state=1)
    assert all((a == b).all() for a, b in zip(drawn.images, again.images, strict=True))
    shares, red, blue, rough = [], [], [], []
    for image, labels in zip(drawn.images, drawn.labels, strict=True):
        assert image.dtype == np.uint8
        assert image.shape == (40, 60, 3)
        inside, values = labels == 1, image / 255.0
        apart = values[inside].mean(axis=0) - values[~inside].mean(axis=0)
        shares.append(inside.mean())
        red.append(apart[0])
        blue.append(apart[2])
        grain = np.abs(laplace(values.mean(axis=-1)))
        rough.append(grain[inside].mean() / grain[~inside].mean())
    assert min(shares) > 0.02
    assert max(shares) < 0.5
    assert np.mean(red) == pytest.approx(0.15, abs=0.05)
    assert np.mean(blue) == pytest.approx(-0.15, abs=0.05)
    assert np.mean(rough) > 1.1
    assert np.mean([a - b for a, b in zip(textured_reds(0.0), textured_reds(0.3), strict=True)]) < -0.2


def textured_reds(contrast):
    drawn = textured_objects(20, (24, 24), contrast, 2)
    return [
        float((image[labels == 1].mean(axis=0) - image[labels == 0].mean(axis=0))[0] / 255.0)
        for image, labels in zip(drawn.images, drawn.labels, strict=True)
    ]


def test_arguments_of_objects_are_checked():
    with pytest.raises(TypeError, match="shape must be a pair"):
        textured_objects(2, 40)
    with pytest.raises(ValueError, match="shape must be at least 8"):
        textured_objects(2, (40, 4))
    with pytest.raises(ValueError, match="contrast must be"):
        textured_objects(2, contrast=-1.0)
