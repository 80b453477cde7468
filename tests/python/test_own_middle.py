"""ps.transform() in the middle of a chain: what the function sees, and that the steps behind it do as for decoded rows."""

import io
import pickle

import numpy as np
import penstock as ps
import pytest

MEAN, STDDEV = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CROP = ps.image.random_resized_crop((24, 20))
END = ps.image.normalize(MEAN, STDDEV)
OPTIONS = {"batch_size": 16, "shuffle": True, "seed": 5}


def rows_of(dataset, chain, **options):
    made = [
        np.asarray(batch["jpg"]) for batch in ps.Loader(dataset, transforms={"jpg": chain}, **{**OPTIONS, **options})
    ]
    return np.concatenate(made)


def same(row):
    return row


def test_steps_behind_a_function_give_what_they_give_without_it(images):
    expected = rows_of(images, CROP | END)
    seen = set()

    def look(row):
        seen.add((row.shape, row.dtype.name, row.flags.c_contiguous))
        return row

    for layout, shape in ((None, (3, 24, 20)), ("CHW", (3, 24, 20)), ("HWC", (24, 20, 3))):
        seen.clear()
        np.testing.assert_array_equal(rows_of(images, CROP | ps.transform(look, layout=layout) | END), expected)
        assert seen == {(shape, "uint8", True)}
    assert expected.dtype == np.float32 and expected.shape == (60, 3, 24, 20)


def test_functions_and_steps_alternate(images):
    seen = []

    def look(row):
        seen.append((row.shape, row.dtype.name))
        return row

    chain = CROP | ps.transform(look) | ps.image.grayscale(3) | ps.transform(look, layout="HWC")
    chain = chain | ps.transform(look, layout="CHW") | END | ps.transform(look)
    made = rows_of(images, chain)
    np.testing.assert_array_equal(made, rows_of(images, CROP | ps.image.grayscale(3) | END))
    assert seen[:4] == [
        ((3, 24, 20), "uint8"),
        ((24, 20, 3), "uint8"),
        ((3, 24, 20), "uint8"),
        ((3, 24, 20), "float32"),
    ]
    hwc = rows_of(images, CROP | ps.transform(same, layout="HWC"))
    np.testing.assert_array_equal(np.moveaxis(hwc, 3, 1), rows_of(images, CROP))
    last = rows_of(images, CROP | ps.transform(same, layout="HWC") | END | ps.transform(same, layout="HWC"))
    np.testing.assert_array_equal(np.moveaxis(last, 3, 1), rows_of(images, CROP | END))
    own = CROP | ps.image.channels_last() | ps.transform(same)
    np.testing.assert_array_equal(rows_of(images, own | END), rows_of(images, CROP | END))


def test_what_is_drawn_behind_a_function_goes_by_its_place_in_the_whole_chain(images):
    crop, nothing = ps.image.random_crop(20), ps.image.random_invert(0)
    plain = rows_of(images, crop | nothing | ps.image.random_horizontal_flip() | ps.image.random_erasing(1.0, value=7))
    for layout in (None, "HWC"):
        made = rows_of(
            images,
            crop
            | ps.transform(same, layout=layout)
            | ps.image.random_horizontal_flip()
            | ps.image.random_erasing(1.0, value=7),
        )
        np.testing.assert_array_equal(made, plain)
    assert not np.array_equal(
        plain, rows_of(images, crop | ps.image.random_horizontal_flip() | ps.image.random_erasing(1.0, value=7))
    )


def test_at_and_restored_loaders_give_the_same_rows(images):
    def options():
        noisy = ps.transform(lambda row, random: row ^ random.integers(0, 9, row.shape, np.uint8), layout="HWC")
        return {**OPTIONS, "transforms": {"jpg": CROP | noisy | ps.image.random_horizontal_flip() | END}}

    loader = ps.Loader(images, **options())
    epochs = [[np.array(batch["jpg"]) for batch in loader] for _ in range(2)]
    np.testing.assert_array_equal(loader.at(1, 2)["jpg"], epochs[1][2])
    other = ps.Loader(images, **options(), workers=1)
    next(iter(other))
    restored = ps.Loader(images, **options())
    restored.load_state_dict(other.state_dict())
    for made, expected in zip(restored, epochs[0][1:]):
        np.testing.assert_array_equal(made["jpg"], expected)


def test_a_function_may_give_rows_of_any_size_to_steps_that_make_them_alike(images):
    def cut(row, random):
        return row[: random.integers(8, 24), : random.integers(8, 20)]

    made = rows_of(images, CROP | ps.transform(cut, layout="HWC") | ps.image.resize((8, 8)) | END)
    assert made.shape == (60, 3, 8, 8)
    gray = rows_of(images, CROP | ps.transform(lambda row: row[:, :, 0], layout="HWC") | ps.image.normalize(0.5, 0.5))
    assert gray.shape == (60, 1, 24, 20)


def test_features_of_an_image_go_on_as_arrays(images):
    def means(row):
        return row.mean(2, dtype=np.float32)

    def floats(row):
        return row / np.float32(2)

    expected = rows_of(images, CROP)
    made = rows_of(images, CROP | ps.transform(means) | ps.array.cast("float16"))
    assert made.shape == (60, 3, 24) and made.dtype == np.float16
    np.testing.assert_allclose(made, expected.mean(3), rtol=1e-3)
    np.testing.assert_array_equal(rows_of(images, CROP | ps.transform(floats) | ps.array.cast("float64")), expected / 2)
    padded = rows_of(images, CROP | ps.transform(means) | ps.pad(5, value=-1))
    assert padded.shape == (60, 5, 24) and (padded[:, 3:] == -1).all()
    with pytest.raises(ps.Error, match="not an image"):  # (C, H, W) would have to come of it
        rows_of(images, CROP | ps.transform(floats, layout="HWC") | ps.image.cast("float16"))


def test_images_of_sizes_of_their_own_have_one_shape_behind_a_function(tmp_path):
    from PIL import Image

    for i in range(3):
        Image.fromarray(np.full((8 + i, 9, 3), i, np.uint8)).save(tmp_path / f"{i}.png")
    own = ps.image.decode(ragged=True)
    with pytest.raises(
        ps.Error, match=r"gave uint8 \(3, 9, 9\), and uint8 \(3, 8, 9\).*images of different sizes must have one shape"
    ):
        list(ps.Loader(tmp_path, batch_size=3, transforms={"png": own | ps.transform(same)}))
    batch = next(
        iter(ps.Loader(tmp_path, batch_size=3, transforms={"png": own | ps.transform(same) | ps.image.resize((4, 5))}))
    )
    assert batch["png"].shape == (3, 3, 4, 5)


def test_arrays_and_points_go_on_too(arrays, tmp_path):
    fields = {"npy": ps.transform(lambda row: row * 2) | ps.array.random_slice(3) | ps.array.cast("float64")}
    for batch in ps.Loader(arrays, transforms=fields, batch_size=8):
        assert batch["npy"].shape == (8, 3) and batch["npy"].dtype == np.float64
        np.testing.assert_array_equal(np.diff(batch["npy"]), 2)
    for i in range(4):
        encoded = io.BytesIO()
        np.save(encoded, np.random.default_rng(i).random((50, 3), np.float32))
        (tmp_path / f"{i}.npy").write_bytes(encoded.getvalue())
    fields = {
        "npy": ps.array.decode() | ps.transform(lambda row: row[::2]) | ps.points.center() | ps.points.channels_first()
    }
    for batch in ps.Loader(tmp_path, transforms=fields):
        assert batch["npy"].shape == (4, 3, 25)
        np.testing.assert_allclose(batch["npy"].mean(axis=2), 0, atol=1e-5)


def test_what_does_not_fit_is_told_with_output_and_step(images, arrays):
    with pytest.raises(TypeError, match="come first in a chain"):
        ps.transform(same) | ps.field("jpg")
    with pytest.raises(TypeError, match='"CHW" or "HWC"'):
        ps.transform(same, layout="NHWC")
    with pytest.raises(ps.Error, match="float32.*not an image") as caught:
        rows_of(images, CROP | ps.transform(lambda row: row / np.float32(255)) | END)
    assert (caught.value.field, caught.value.kind) == ("jpg", "invalid_argument")
    assert "sample" in caught.value.__notes__[0]
    assert "<lambda>) gave float32 (3, 24, 20) to image.normalize(" in str(caught.value) and caught.value.key
    assert "uint8 (C, H, W)" in str(caught.value) and "normalize() itself divides" in str(caught.value)
    turned = ps.transform(lambda row: np.moveaxis(row, 0, 2))
    with pytest.raises(ps.Error, match=r'gave uint8 \(24, 20, 3\) to image.normalize.*layout="HWC" the function gets'):
        rows_of(images, CROP | turned | END)
    with pytest.raises(ps.Error, match=r'gave uint8 \(3, 24, 20\) to .*\(H, W, C\) with.*without layout="HWC"'):
        rows_of(images, CROP | ps.transform(lambda row: np.moveaxis(row, 2, 0), layout="HWC") | END)
    with pytest.raises(ps.Error, match=r"gave int64 \(\) to array.random_slice\(3\): .* needs arrays of rows"):
        list(ps.Loader(arrays, transforms={"npy": ps.transform(lambda row: 3) | ps.array.random_slice(3)}))
    sample = ps.sample_transform(lambda jpg: {"jpg": jpg.astype("float32")}, ["jpg"], after={"jpg": END})
    with pytest.raises(ps.Error, match=r"sample_transform\(.*lambda>\) gave float32 \(3, 24, 20\) to image.normalize"):
        list(ps.Loader(images, transforms={"jpg": CROP}, sample_transform=sample))
    with pytest.raises(ps.Error, match="no step accepts complex64"):
        rows_of(images, CROP | ps.transform(lambda row: row * np.complex64(1), layout="HWC") | END)
    with pytest.raises(ps.Error, match="rows of one length"):
        list(ps.Loader(arrays, transforms={"npy": ps.transform(lambda row: row.astype(np.uint8)) | ps.raw()}))
    with pytest.raises(ps.Error, match="which NumPy lacks"):
        rows_of(images, CROP | ps.transform(same) | END | ps.image.cast("bfloat16"))
    fields = {
        "jpg": CROP | ps.transform(same) | ps.image.random_horizontal_flip(),
        "again": ps.field("jpg") | ps.follow("jpg"),
    }
    with pytest.raises(
        ps.Error, match=r'"again": follows "jpg", but image.random_horizontal_flip.* comes after a function'
    ):
        ps.Loader(images, transforms=fields)
    fields["jpg"] = CROP | ps.image.random_horizontal_flip() | ps.transform(same, layout="HWC") | END
    assert ps.Loader(images, transforms=fields, batch_size=4).at(0, 0)["jpg"].shape == (4, 3, 24, 20)


def test_chains_with_functions_in_the_middle_compose_and_pickle():
    chain = (
        ps.image.resize((8, 8))
        | (ps.transform(np.sort) | ps.image.random_horizontal_flip())
        | ps.transform(np.flip)
        | END
    )
    text = (
        "image.resize(8, 8) | transform(sort) | image.random_horizontal_flip(0.5) | transform(flip) | image.normalize"
    )
    assert repr(chain).startswith(text)
    assert repr(pickle.loads(pickle.dumps(chain))) == repr(chain)
    joined = (ps.image.resize((8, 8)) | ps.transform(np.sort)) | (
        ps.image.random_horizontal_flip() | ps.transform(np.flip)
    )
    assert repr(joined) == "image.resize(8, 8) | transform(sort) | image.random_horizontal_flip(0.5) | transform(flip)"


def test_rows_of_different_length_become_ragged_where_their_shape_says_so(arrays):
    def some(row):
        return row[: int(row[0]) % 3]

    def options(dtype):
        return {"transforms": {"npy": ps.transform(some, shape=(None,), dtype=dtype)}, "batch_size": 8}

    for batch in ps.Loader(arrays, **options(np.float64)):
        assert isinstance(batch["npy"], ps.Ragged) and batch["npy"].values.dtype == "float64"
        for key, row in zip(batch["__key__"], batch["npy"]):
            first = int(key)
            assert row.tolist() == [first, first + 1, first + 2][: first % 3]
    with pytest.raises(TypeError, match="only the first size"):
        ps.transform(some, shape=(3, None))


def test_rows_marked_bad_are_zeros_of_what_the_steps_behind_make(tmp_path, images):
    first = sorted(images.rglob("*.jpg"))[0].read_bytes()
    for i in range(6):
        (tmp_path / f"{i}.jpg").write_bytes(first if i < 3 else b"\xff\xd8\xff\xe0 broken")
    chain = ps.image.resize((8, 6)) | ps.transform(same, shape=(8, 6, 3), dtype=np.uint8, layout="HWC") | END
    loader = ps.Loader(tmp_path, transforms={"jpg": chain}, batch_size=3, on_error="mark", max_errors=1.0)
    good, bad = [np.asarray(batch["jpg"]) for batch in loader]
    assert good.any() and bad.shape == good.shape and bad.dtype == np.float32 and not bad.any()
