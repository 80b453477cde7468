"""Point clouds through the package: arrays of points beside NumPy, packing, followers."""

import io
import pickle

import numpy as np
import pytest

import penstock as ps

CLOUDS, POINTS = 12, 500


def npy(array):
    encoded = io.BytesIO()
    np.save(encoded, array)
    return encoded.getvalue()


@pytest.fixture(name="clouds", scope="module")
def clouds_fixture(tmp_path_factory):
    """A folder of float32 arrays (500, 4): x is the point's number, y the cloud's, the fourth column the number modulo 7;
    beside each, int16 labels: the number modulo 5."""
    folder = tmp_path_factory.mktemp("clouds") / "arrays"
    folder.mkdir()
    numbers = np.arange(POINTS, dtype=np.float32)
    for i in range(CLOUDS):
        cloud = np.stack([numbers, np.full(POINTS, i, np.float32), np.sin(numbers), numbers % 7], axis=1)
        (folder / f"{i:02}.cloud.npy").write_bytes(npy(cloud.astype(np.float32)))
        (folder / f"{i:02}.seg.npy").write_bytes(npy((numbers % 5).astype(np.int16)))
    return folder


def rows(folder, chain, **options):
    with ps.Loader(folder, batch_size=4, transforms={"cloud.npy": chain}, **options) as loader:
        return np.concatenate([np.array(batch["cloud.npy"]) for batch in loader])


def stored(folder, i):
    return np.load(folder / f"{i:02}.cloud.npy")


def test_normalization_is_pointnets(clouds):
    made = rows(clouds, ps.points.center() | ps.points.unit_sphere())
    for i in range(CLOUDS):
        cloud = stored(clouds, i)[:, :3].astype(np.float64)
        cloud -= cloud.mean(axis=0)
        cloud /= np.sqrt((cloud**2).sum(axis=1).max())
        np.testing.assert_allclose(made[i, :, :3], cloud, atol=2e-6)
        np.testing.assert_array_equal(made[i, :, 3], stored(clouds, i)[:, 3])


def test_samples_are_points_of_the_cloud_and_channels_come_first(clouds):
    made = rows(clouds, ps.points.sample(64) | ps.points.channels_first(), seed=3)
    assert made.shape == (CLOUDS, 4, 64)
    for i in range(CLOUDS):
        numbers = made[i, 0].astype(int)
        assert len(set(numbers)) == 64
        np.testing.assert_array_equal(made[i].T, stored(clouds, i)[numbers])


@pytest.mark.parametrize("method", ["random", "blocks", "fps", "stratified"])
def test_every_method_gives_as_many_points_as_wanted_whatever_the_workers(clouds, method):
    chain = ps.points.sample(32, method, slices=8)
    one = rows(clouds, chain, workers=1, seed=5)
    np.testing.assert_array_equal(one, rows(clouds, chain, workers=3, seed=5))
    assert all(len(set(cloud[:, 0])) == 32 for cloud in one)


def test_labels_follow_their_points(clouds):
    fields = {
        "cloud.npy": ps.points.sample(100) | ps.points.random_shuffle() | ps.points.random_dropout(),
        "seg.npy": ps.follow("cloud.npy"),
        "mask": ps.field("cloud.npy") | ps.follow("cloud.npy") | ps.points.valid_mask(),
    }
    with ps.Loader(clouds, batch_size=4, shuffle=True, transforms=fields) as loader:
        for batch in loader:
            points, labels = np.array(batch["cloud.npy"]), np.array(batch["seg.npy"])
            assert labels.dtype == np.int16 and labels.shape == (4, 100)
            np.testing.assert_array_equal(labels, points[:, :, 0] % 5)
            assert np.array(batch["mask"]).all()


def test_ragged_rows_and_float16(clouds):
    with ps.Loader(clouds, batch_size=4, transforms={"cloud.npy": ps.points.voxel(50.0, "first")}) as loader:
        batch = next(iter(loader))
        ragged = batch["cloud.npy"]
        offsets = np.array(ragged.offsets)
        assert np.array(ragged.values).shape == (offsets[-1], 4) and (np.diff(offsets) >= 10).all()
    assert rows(clouds, ps.points.scale(0.01) | ps.points.cast("float16")).dtype == np.float16


def test_chains_travel_as_pickles(clouds):
    chain = ps.points.decode(["a b"]) | ps.points.sample(7, "voxel", size=0.25, voxel="random", if_fewer="ragged")
    assert repr(pickle.loads(pickle.dumps(chain))) == repr(chain)


def test_mistakes_are_told_with_the_output(clouds):
    for chain, cause in {
        ps.points.decode(["intensity"]) | ps.points.center(): "requires clouds",
        ps.points.center() | ps.image.random_horizontal_flip(): "cannot be combined in one chain",
    }.items():
        with pytest.raises(ps.Error, match=cause) as raised:
            ps.Loader(clouds, transforms={"cloud.npy": chain})
        assert "cloud.npy" in str(raised.value)


def test_arguments_of_a_wrong_type_are_told_with_step_and_parameter():
    for write, cause in {
        lambda: ps.points.pad("many"): r"points.pad\(\) points must be a whole number",
        lambda: ps.points.pad(2.5): "points must be a whole number",
        lambda: ps.points.pad(): "needs points",
        lambda: ps.points.pad(2, 3): "too many arguments",
        lambda: ps.points.pad(2, points=3): 'takes no argument "points", or it is given twice',
        lambda: ps.points.pad(None): "points must not be None",
        lambda: ps.points.random_jitter(None, 0.5): "sigma must not be None",
        lambda: ps.points.random_jitter(sigma=None): "sigma must not be None",
        lambda: ps.points.random_jitter(noise=1): "has no keyword noise; expected sigma or clip",
        lambda: ps.points.random_jitter({}): "sigma cannot be {}",
        lambda: ps.points.decode("intensity"): "list of names",
        lambda: ps.points.decode([1]): "list of names",
        lambda: ps.points.decode([], 4): "too many arguments",
        lambda: ps.image.decode(fast=1): "fast must be a word",
        lambda: ps.image.resize((1, 2, 3)): "one number or two",
        lambda: ps.image.normalize("a", [1]): "list of numbers",
        lambda: ps.image.random_resized_crop(8, scale=0.5): "pair of numbers",
    }.items():
        with pytest.raises(TypeError, match=cause):
            write()


def test_numbers_come_as_python_and_numpy_have_them():
    assert repr(ps.image.random_crop(np.int64(8), None)) == "image.random_crop(8, 8)"
    assert repr(ps.image.resize(np.array([3, 4]))) == "image.resize(3, 4)"
    assert repr(ps.points.random_jitter(np.float32(0.5), 1)) == "points.random_jitter(0.5, 1)"
    assert repr(ps.image.normalize(np.array([0.5], "f4"), (1,))) == "image.normalize([0.5], [1])"
    assert repr(ps.image.random_affine(5, scale=None, shear=None)) == "image.random_affine((-5, 5))"
    assert repr(ps.image.decode(fast=True)) == "image.decode(fast=True)"


def test_the_functions_have_signatures_and_docstrings_from_their_tables():
    assert ps.points.random_jitter.__doc__ == (
        "random_jitter(sigma: float = 0.01, clip: float = 0.05) -> penstock._penstock.Chain\n\n"
        "Adds normal noise to each coordinate, clipped.\n"
        "sigma: standard deviation, in the cloud's unit; 0 or more.\n"
        "clip: largest change of a coordinate, in the cloud's unit; 0 or more."
    )
    assert ps.image.random_affine.__doc__.startswith(
        "random_affine(degrees: float | tuple[float, float], *, translate: tuple[float, float] | None = None, "
        "scale: float | tuple[float, float] | None = None, shear: "
    )


def test_arguments_that_make_no_sense_are_refused_where_they_are_written():
    for write, cause in {
        lambda: ps.points.sample(0): "at least 1 point",
        lambda: ps.points.sample(7, "nearest"): 'not "nearest"',
        lambda: ps.points.random_rotate("x"): "about must be",
        lambda: ps.points.random_dropout(2.0): "max_ratio from 0 to 1",
        lambda: ps.points.pad(0): "points of at least 1",
        lambda: ps.points.scale(float("inf")): "factor that is finite",
        lambda: ps.image.random_horizontal_flip(1.5): "probability from 0 to 1",
        lambda: ps.image.resize((0, 4)): "at least 1 pixel",
        lambda: ps.image.gaussian_blur(4): "odd kernel_size",
        lambda: ps.label(-1): "num_classes must not be negative",
        lambda: ps.field("jpg||png"): "empty name",
    }.items():
        with pytest.raises(ps.Error, match=cause):
            write()
