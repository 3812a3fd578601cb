"""Scenes of objects: their boxes are tight, apart and inside, and the same seed draws the same scenes."""

import numpy as np
import pytest

from setwise.datasets import object_scenes


def edges(mask):
    rows, columns = np.nonzero(mask)
    return [rows.min(), columns.min(), rows.max() + 1, columns.max() + 1]


@pytest.mark.parametrize("length", range(20, 150, 7))
def test_boxes_are_tight_inside_and_have_the_shape_that_is_asked_for(length):
    drawn = object_scenes(3, (60, 150), (1, 1), (length, length), random_state=length)
    for image, boxes, mask in zip(drawn.images, drawn.boxes, drawn.masks, strict=True):
        assert image.shape == mask.shape == (60, 150)
        assert boxes.shape == (1, 4)
        assert boxes[0].tolist() == edges(mask == 1)
        assert boxes[0, 3] - boxes[0, 1] == length
        assert boxes[0, 2] - boxes[0, 0] == round(0.4 * length)


@pytest.mark.slow
def test_objects_of_an_image_are_apart_and_their_numbers_are_those_asked_for():
    drawn = object_scenes(40, objects=(0, 3), random_state=3)
    assert {len(boxes) for boxes in drawn.boxes} == {0, 1, 2, 3}
    for boxes, mask in zip(drawn.boxes, drawn.masks, strict=True):
        assert set(np.unique(mask).tolist()) == set(range(len(boxes) + 1))
        counted = np.zeros(mask.shape, int)
        for j, box in enumerate(boxes, 1):
            assert box.tolist() == edges(mask == j)
            counted[box[0] : box[2], box[1] : box[3]] += 1
        assert counted.max() <= 1


def test_objects_without_a_free_place_are_left_out():
    drawn = object_scenes(5, (30, 70), (4, 4), (70, 70), random_state=0)
    assert [len(boxes) for boxes in drawn.boxes] == [1] * 5


def test_an_object_differs_from_the_same_place_without_it():
    with_one = object_scenes(1, (40, 100), (1, 1), (100, 100), clutter=0.0, random_state=5)
    assert with_one.boxes[0].tolist() == [[0, 0, 40, 100]]
    empty = object_scenes(1, (40, 100), (0, 0), (100, 100), clutter=0.0, random_state=5)
    inside = with_one.masks[0] == 1
    difference = np.abs(with_one.images[0].astype(int) - empty.images[0])
    assert difference[inside].mean() > 3 * difference[~inside].mean()


def test_clutter_has_the_density_that_is_asked_for():
    plain, full = (object_scenes(20, (60, 80), (0, 0), (20, 20), c, random_state=2).images for c in (0.0, 10.0))
    assert np.mean([image.std() for image in full]) > 1.5 * np.mean([image.std() for image in plain])


def test_the_same_seed_draws_the_same_scenes():
    one, same, other = (object_scenes(4, random_state=seed) for seed in (1, 1, 2))
    for a, b in zip(one.images + one.boxes + one.masks, same.images + same.boxes + same.masks, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any((a != b).any() for a, b in zip(one.images, other.images, strict=True))
    assert len(one) == 4
    assert one.images[0].dtype == np.uint8


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="shape must be a pair"):
        object_scenes(2, 40)
    with pytest.raises(ValueError, match="shape must have room for an object of 56 x 140 pixels"):
        object_scenes(2, (50, 240))
    with pytest.raises(ValueError, match="objects must be a pair"):
        object_scenes(2, objects=(3, 0))
    with pytest.raises(ValueError, match="lengths must be at least 20"):
        object_scenes(2, lengths=(10, 40))
    with pytest.raises(ValueError, match="clutter must be"):
        object_scenes(2, clutter=-1.0)
