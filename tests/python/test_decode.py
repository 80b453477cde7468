"""ps.decode(), ps.decode_batch() and ps.decoder(): the decoder for programs with a loader of their own."""

import concurrent.futures
import io
import json
import multiprocessing
import os
import pickle
import random

import numpy as np
import penstock as ps
import pytest
from penstock import _decode
from torchvision_package import require_torchvision

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed; run scripts/python_environment.sh")

CROP = ps.image.random_resized_crop(24) | ps.image.random_horizontal_flip()


def picture(width, height, seed=0, mode="RGB"):
    pixels = np.random.default_rng(seed).integers(0, 256, (height // 4, width // 4, 3), np.uint8)
    return Image.fromarray(pixels).resize((width, height), Image.Resampling.BICUBIC).convert(mode)


def encoded(image, format="JPEG", **options):
    memory = io.BytesIO()
    image.save(memory, format, **options)
    return memory.getvalue()


PHOTO, WIDE, GRAY = encoded(picture(80, 60)), encoded(picture(120, 60, 1)), encoded(picture(80, 60, 2, "L"))
PNG = encoded(picture(40, 40, 3), "PNG")


@pytest.fixture(name="files")
def files_fixture(tmp_path):
    for name, value in (("a.jpg", PHOTO), ("b.jpg", WIDE), ("c.jpg", encoded(picture(60, 80, 5)))):
        (tmp_path / name).write_bytes(value)
    return tmp_path


@pytest.mark.parametrize(
    "chain",
    [
        ps.image.resize((32, 48)),
        ps.image.resize(32) | ps.image.center_crop(32) | ps.image.normalize([0.5, 0.4, 0.3], [0.2, 0.2, 0.2]),
        ps.image.center_crop(24) | ps.image.channels_last(),
        ps.image.resize((20, 20)) | ps.image.grayscale(1) | ps.image.cast("float16"),
    ],
    ids=str,
)
def test_results_are_the_rows_of_a_loader(files, chain):
    (batch,) = ps.Loader(files, batch_size=3, transforms={"jpg": chain})
    wanted = np.asarray(batch["jpg"])
    for i, name in enumerate(("a.jpg", "b.jpg", "c.jpg")):
        of_path, of_bytes = ps.decode(files / name, chain), ps.decode((files / name).read_bytes(), chain)
        assert of_path.dtype == of_bytes.dtype == wanted.dtype
        np.testing.assert_array_equal(of_path, wanted[i])
        np.testing.assert_array_equal(of_bytes, wanted[i])
    np.testing.assert_array_equal(ps.decode_batch([files / "a.jpg", WIDE, str(files / "c.jpg")], chain), wanted)


def test_images_keep_their_sizes():
    for value in (PNG, encoded(picture(16, 20, 1, "L"), "PNG")):  # grey levels become colours, as in a Loader
        wanted = np.asarray(Image.open(io.BytesIO(value)).convert("RGB"))
        pixels = ps.decode(value)
        assert pixels.flags.writeable and pixels.flags.c_contiguous
        np.testing.assert_array_equal(pixels, wanted.transpose(2, 0, 1))
        np.testing.assert_array_equal(ps.decode(value, ps.image.channels_last()), wanted)


@pytest.mark.parametrize(
    "chain", [None, CROP, ps.image.resize(20), ps.image.color_jitter(0.4, 0.4, 0.4), ps.raw()], ids=str
)
def test_a_result_does_not_depend_on_earlier_values(chain):
    values = [PHOTO, WIDE, GRAY, PNG, encoded(picture(52, 44, 7), "PNG"), encoded(picture(80, 60, 8), "WEBP")]
    alone = []
    for value in values:
        _decode._decoders.clear()
        alone.append(ps.decode(value, chain, seed=5))
    for order in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 2, 0, 1, 0, 5, 3, 4, 1]):
        _decode._decoders.clear()
        for i in order:
            result = ps.decode(values[i], chain, seed=5)
            assert result.shape == alone[i].shape and result.dtype == alone[i].dtype
            np.testing.assert_array_equal(result, alone[i])


def test_draws_depend_on_the_seed_alone():
    assert np.array_equal(ps.decode(PHOTO, CROP, seed=1), ps.decode(PHOTO, CROP, seed=1))
    assert len({ps.decode(PHOTO, CROP, seed=seed).tobytes() for seed in range(20)}) > 15
    random.seed(3)
    first = [ps.decode(PHOTO, CROP) for _ in range(4)]
    random.seed(3)
    np.testing.assert_array_equal(first, [ps.decode(PHOTO, CROP) for _ in range(4)])
    assert len({row.tobytes() for row in first}) == 4
    rows = ps.decode_batch([PHOTO] * 12, CROP, seed=9, workers=3)
    assert len({row.tobytes() for row in rows}) > 8
    np.testing.assert_array_equal(rows, ps.decode_batch([PHOTO] * 12, CROP, seed=9, workers=1))
    np.testing.assert_array_equal(rows[0], ps.decode(PHOTO, CROP, seed=9))


def test_arrays_text_and_labels(tmp_path):
    for array in (np.arange(6, dtype=np.int16).reshape(2, 3), np.float64(2.5), np.zeros((0, 4), np.float32)):
        memory = io.BytesIO()
        np.save(memory, array)
        result = ps.decode(memory.getvalue(), ps.array.decode())
        assert result.dtype == np.asarray(array).dtype
        np.testing.assert_array_equal(result, array)
    (tmp_path / "a.txt").write_text("grün")
    (tmp_path / "a.cls").write_text("7")
    (tmp_path / "a.json").write_text(json.dumps({"box": [1, 2, 3, 4], "name": "x"}))
    assert ps.decode(tmp_path / "a.txt", ps.raw()).tobytes().decode() == "grün"
    assert ps.decode(tmp_path / "a.cls", ps.label()) == 7
    assert ps.decode(
        {"cls": b"12", "json": (tmp_path / "a.json").read_bytes()},
        {"cls": ps.label(), "box": ps.field("json:box") | ps.array.decode("float32")},
    )["box"].tolist() == [1, 2, 3, 4]


def test_a_mask_and_boxes_follow_their_image():
    mask = Image.fromarray(np.kron(np.arange(12, dtype=np.uint8).reshape(3, 4), np.ones((20, 20), np.uint8)))
    boxes = json.dumps([[0, 0, 40, 30], [10, 10, 80, 60]]).encode()
    chains = {"jpg": CROP, "png": ps.follow("jpg"), "json": ps.follow("jpg") | ps.boxes()}
    values = {"jpg": PHOTO, "png": encoded(mask, "PNG"), "json": boxes}
    results = ps.decode(values, chains, seed=4)
    assert list(results) == ["jpg", "png", "json"]
    assert results["jpg"].shape == (3, 24, 24) and results["png"].shape[-2:] == (24, 24)
    assert results["json"].shape == (2, 4) and results["json"].dtype == np.float32
    np.testing.assert_array_equal(results["jpg"], ps.decode({"jpg": PHOTO}, {"jpg": CROP}, seed=4)["jpg"])


def test_out_is_filled():
    out = np.zeros((3, 24, 24), np.uint8)
    assert ps.decode(PHOTO, CROP, out, seed=1) is out
    np.testing.assert_array_equal(out, ps.decode(PHOTO, CROP, seed=1))
    rows = np.zeros((2, 3, 24, 24), np.uint8)
    assert ps.decode_batch([PHOTO, WIDE], CROP, out=rows, seed=1) is rows
    np.testing.assert_array_equal(rows[0], out)
    for wrong in (np.zeros((3, 24, 24), np.int8), np.zeros((3, 24, 23), np.uint8), np.zeros((24, 24), np.uint8)):
        with pytest.raises(ps.Error, match=r"out does not have the result's dtype and shape, uint8 \(3, 24, 24\)"):
            ps.decode(PHOTO, CROP, wrong)
    with pytest.raises(ps.Error, match="C-contiguous"):
        ps.decode(PHOTO, CROP, np.zeros((3, 24, 48), np.uint8)[:, :, ::2])
    pixels = np.zeros((3, 60, 120), np.uint8)  # not the size of the value before it
    ps.decode(PHOTO)
    np.testing.assert_array_equal(ps.decode(WIDE, None, pixels), ps.decode(WIDE))


def test_threads_decode_at_the_same_time():
    values = [PHOTO, WIDE, GRAY, PNG] * 25
    wanted = [ps.decode(value, CROP, seed=i) for i, value in enumerate(values)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda i: ps.decode(values[i], CROP, seed=i), range(len(values))))
    for result, want in zip(results, wanted):
        np.testing.assert_array_equal(result, want)


def test_a_child_of_fork_decodes_too():
    ps.decode_batch([PHOTO] * 8, CROP, workers=2)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        sums = pool.map(_sum_of, range(6))
    assert sums == [int(ps.decode_batch([PHOTO, WIDE], CROP, seed=i).sum()) for i in range(6)]


def test_a_child_of_fork_has_decoders_of_its_own():
    """Another thread may hold the lock of a decoder at the time of fork(), and nobody would release it in the child."""
    ps.decode(PHOTO, CROP)
    assert _decode._decoders
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_known_decoders) == 0


def _known_decoders():
    return len(_decode._decoders)


def _sum_of(seed):
    return int(ps.decode_batch([PHOTO, WIDE], CROP, seed=seed).sum())


def test_errors_name_the_value(files):
    (files / "bad.jpg").write_bytes(PHOTO[:400])
    with pytest.raises(ps.Error, match=r"bad\.jpg.*corrupt: jpeg") as raised:
        ps.decode(files / "bad.jpg")
    assert raised.value.kind == "corrupt"
    with pytest.raises(ps.Error, match=r"sample 2: .*corrupt"):
        ps.decode_batch([PHOTO, WIDE, PHOTO[:400], PHOTO], CROP)
    with pytest.raises(ps.Error, match=r"bad\.jpg.*corrupt"):
        ps.decode_batch([PHOTO, files / "bad.jpg"], CROP)
    with pytest.raises(
        ps.Error, match=r"sample 1: .*gives uint8 \(3, 60, 120\), but value 0 gives uint8 \(3, 60, 80\)"
    ):
        ps.decode_batch([PHOTO, WIDE])
    with pytest.raises(ps.Error, match="No such file") as raised:
        ps.decode(files / "none.jpg")
    assert raised.value.kind == "io"
    with pytest.raises(ps.Error, match="identif"):
        ps.decode(b"12345")
    for empty in (b"", bytearray(), np.zeros(0, np.uint8)):
        with pytest.raises(ps.Error):
            ps.decode(empty)
    with pytest.raises(ps.Error, match="at least one value"):
        ps.decode_batch([])


def test_misuse_is_told():
    with pytest.raises(TypeError, match="does not run Python functions"):
        ps.decode(PHOTO, ps.image.decode() | ps.transform(lambda x: x))
    with pytest.raises(TypeError, match="a value is bytes or a path, not float"):
        ps.decode(1.5)
    with pytest.raises(TypeError, match="a chain is a step"):
        ps.decode(PHOTO, "resize")
    with pytest.raises(TypeError, match="a dict of values and a dict of chains"):
        ps.decode({"jpg": PHOTO}, CROP)
    with pytest.raises(ps.Error, match='no field "png"'):
        ps.decode({"jpg": PHOTO}, {"png": ps.image.decode()})
    with pytest.raises(ps.Error, match="dataset"):
        ps.decode({"jpg": PHOTO}, {"x": ps.window("jpg", offsets=[0, 1]) | ps.image.resize((8, 8))})
    with pytest.raises(ps.Error, match="bfloat16"):
        ps.decode(PHOTO, ps.image.cast("bfloat16"))


def test_a_decoder_can_be_pickled(files):
    load = ps.decoder(ps.image.resize((16, 16)))
    again = pickle.loads(pickle.dumps(load))
    np.testing.assert_array_equal(again(files / "a.jpg"), load(PHOTO))
    assert "resize" in repr(load)


def test_torch(files):
    torch = pytest.importorskip("torch")
    import penstock.torch as pst

    tensor = pst.decode(PHOTO, CROP, seed=2)
    assert isinstance(tensor, torch.Tensor) and tensor.dtype == torch.uint8
    np.testing.assert_array_equal(tensor.numpy(), ps.decode(PHOTO, CROP, seed=2))
    half = pst.decode(PHOTO, ps.image.resize((8, 8)) | ps.image.cast("bfloat16"))
    assert half.dtype == torch.bfloat16 and half.shape == (3, 8, 8)
    assert torch.equal(half.float(), pst.decode(PHOTO, ps.image.resize((8, 8))).float())
    for dtype in (torch.uint8, torch.bfloat16):
        chain = ps.image.resize((8, 8)) | ps.image.cast(str(dtype)[6:])
        out = torch.zeros(2, 3, 8, 8, dtype=dtype)
        assert pst.decode_batch([PHOTO, WIDE], chain, out) is out
        assert torch.equal(out, pst.decode_batch([PHOTO, WIDE], chain))

    class Photos(torch.utils.data.Dataset):
        def __init__(self, folder):
            self.paths, self.load = sorted(folder.glob("*.jpg")), pst.decoder(CROP)

        def __len__(self):
            return len(self.paths)

        def __getitem__(self, index):
            return self.load(self.paths[index])

    def epoch():
        torch.manual_seed(11)
        return torch.cat(list(torch.utils.data.DataLoader(Photos(files), batch_size=2, num_workers=2)))

    first = epoch()
    assert first.shape == (3, 3, 24, 24)
    assert torch.equal(first, epoch())  # torch seeds Python's random in its workers


def test_image_folder_of_torchvision(files, tmp_path_factory):
    torchvision = require_torchvision()
    root = tmp_path_factory.mktemp("classes")
    (root / "cat").mkdir()
    os.link(files / "a.jpg", root / "cat/a.jpg")
    data = torchvision.datasets.ImageFolder(root, loader=ps.decoder(ps.image.resize((16, 16))))
    np.testing.assert_array_equal(data[0][0], ps.decode(PHOTO, ps.image.resize((16, 16))))
