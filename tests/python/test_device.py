"""Batches on a device, as a training script meets them: on a GPU where there is one, else on a processor in its place."""

import gc
import os
import subprocess

import numpy as np
import penstock as ps
import pytest
import torch

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def no_gpu():
    """Why there is none to be used; empty where there is."""
    if not torch.cuda.is_available():
        return "PyTorch sees none"
    told = subprocess.run([os.environ["PENSTOCK_COMMAND"], "doctor"], check=True, capture_output=True, text=True).stdout
    line = next(line for line in told.splitlines() if line.split()[:1] == ["GPU"])
    return line.partition("none used: ")[2]


on_gpu = pytest.mark.skipif(bool(no_gpu()), reason=f"no GPU to use: {no_gpu()}; run tests/gpu.sh on a machine with one")


def options(**more):
    return {
        "batch_size": 8,
        "shuffle": True,
        "seed": 2,
        "workers": 2,
        "transforms": {"npy": ps.array.decode(), "cls": ps.label(), "raw": ps.field("cls") | ps.raw()},
        **more,
    }


def plain(batch):
    values = {name: np.asarray(batch[name]) for name in ("npy", "cls", "__valid__")}
    rows = [batch["raw"][i].tobytes() for i in range(len(batch["raw"]))]
    return {**{name: array.tolist() for name, array in values.items()}, "raw": rows, "keys": batch["__key__"]}


def test_batches_that_were_copied_are_those_of_the_host(arrays):
    here = ps.Loader(arrays, **options())
    there = ps.Loader(arrays, **options(device="host:0", device_options=ps.DeviceOptions(prefetch=3)))
    for _ in range(2):
        assert [plain(batch) for batch in there] == [plain(batch) for batch in here]
    assert plain(there.at(0, 1)) == plain(here.at(0, 1))
    assert there.state_dict() == here.state_dict()


def test_tensors_of_a_processor_in_a_devices_place_are_memory_of_the_host(arrays):
    batch = next(iter(ps.Loader(arrays, **options(device="host"))))  # the loader is gone
    tensor = batch["npy"]
    assert tensor.device == "cpu" and tensor.__dlpack_device__() == (1, 0)
    for array in (
        np.asarray(tensor),
        np.from_dlpack(tensor),
        np.array(torch.from_dlpack(tensor).tolist()),  # its .numpy() is not to be had where it was built for NumPy 1
        np.asarray(tensor.cpu()),
    ):
        np.testing.assert_array_equal(array[:, 1], array[:, 0] + 1)
    assert np.from_dlpack(tensor).ctypes.data != np.asarray(tensor.cpu()).ctypes.data
    assert tensor.tobytes() == np.asarray(tensor).tobytes()
    tensor.synchronize()
    with pytest.raises(BufferError):
        tensor.__dlpack__(stream=1)
    kept = np.asarray(tensor)[3]
    expected = kept.copy()
    del batch, tensor, array
    gc.collect()
    np.testing.assert_array_equal(kept, expected)


def test_a_program_may_hold_as_many_batches_as_without_a_device(arrays):
    batches = iter(
        ps.Loader(arrays, **options(device="host", memory_options=ps.MemoryOptions(reserved_batches=2), batch_size=4))
    )
    held = [next(batches), next(batches)]
    with pytest.raises(ps.Error, match="reserved_batches=2"):
        next(batches)
    held.pop()
    next(batches)


def test_stats_tell_the_device_the_pinning_and_the_copies(arrays):
    loader = ps.Loader(arrays, **options(device="host"))
    for _ in range(10):  # more batches than there are slabs: most copies are over, and counted
        for _ in loader:
            pass
    stats = loader.stats()
    assert stats["device"].startswith("host:0: ") and stats["device_slabs"] == 2 + 4 and stats["device_bytes"] > 0
    assert stats["staging"] == "page-locked memory for host:0"
    assert list(stats["stages"])[-1] == "copy" and stats["stages"]["copy"]["busy_s"] > 0
    assert "copy" in stats["data_wait_by_stage_s"] and "host:0" in str(stats)
    assert ps.Loader(arrays, **options()).stats()["staging"] == "plain memory: no device was asked for"


def test_images_are_normalized_on_the_device_with_the_same_bytes(icons):
    chain = ps.field("png") | ps.image.random_resized_crop(16) | ps.image.random_horizontal_flip()
    fields = {
        "planes": chain | ps.image.normalize(MEAN, DEVIATION),
        "last": chain | ps.image.normalize(MEAN, DEVIATION) | ps.image.cast("float16") | ps.image.channels_last(),
    }
    more = {"batch_size": 32, "shuffle": True, "workers": 2, "transforms": fields}
    loaders = [ps.Loader(icons, **more)] + [
        ps.Loader(icons, device="host", device_options=ps.DeviceOptions(finish_on=where), **more)
        for where in ("auto", "host", "device")
    ]
    for batches in zip(*loaders):
        for name in fields:
            assert len({batch[name].tobytes() for batch in batches}) == 1
            assert len({(batch[name].shape, batch[name].dtype) for batch in batches}) == 1


def test_points_are_moved_on_the_device_with_the_same_bytes(tmp_path):
    generator = np.random.default_rng(4)
    for i in range(20):
        np.save(tmp_path / f"{i:03d}.npy", generator.normal(size=(70, 3)).astype("float32"))
    steps = (
        ps.points.center() | ps.points.unit_sphere() | ps.points.random_rotate() | ps.points.random_jitter(0.02, 0.05)
    )
    fields = {
        "npy": steps,
        "planes": ps.field("npy") | ps.points.sample(50) | steps | ps.points.channels_first(),
        "half": ps.field("npy") | steps | ps.points.cast("float16"),
    }
    more = {"batch_size": 6, "shuffle": True, "workers": 2, "transforms": fields}
    loaders = [ps.Loader(tmp_path, **more)] + [
        ps.Loader(tmp_path, device="host", device_options=ps.DeviceOptions(finish_on=where), **more)
        for where in ("auto", "host", "device")
    ]
    for batches in zip(*loaders):
        for name in fields:
            assert len({batch[name].tobytes() for batch in batches}) == 1
            assert len({(batch[name].shape, batch[name].dtype) for batch in batches}) == 1


def test_rows_that_the_device_reads_itself_are_those_of_the_host(tmp_path):
    rows = np.random.default_rng(3).integers(0, 256, (50, 40, 40, 3), dtype=np.uint8)
    np.save(tmp_path / "rows.npy", rows)
    value = ps.field("value")
    fields = {"rows": value | ps.array.decode(), "crop": value | ps.image.random_resized_crop(8)}
    more = {"batch_size": 8, "shuffle": True, "workers": 2, "transforms": fields}
    here = ps.Loader(tmp_path / "rows.npy", **more)
    there = ps.Loader(tmp_path / "rows.npy", device="host", device_options=ps.DeviceOptions(gpu_direct=True), **more)
    for _ in range(2):
        for batch, same in zip(there, here, strict=True):
            assert batch["__key__"] == same["__key__"]
            assert all(batch[name].tobytes() == same[name].tobytes() for name in fields)
    stats = there.stats()
    assert stats["gpu_direct"] == "bounce buffer, the device is a processor: rows"
    assert stats["gpu_direct_bytes"] >= 2 * rows.nbytes
    assert "gpu direct" in str(stats) and "gpu direct" not in str(here.stats())
    assert here.stats()["gpu_direct"] == "" and here.stats()["gpu_direct_bytes"] == 0


def test_why_a_device_reads_no_rows_itself_is_told(arrays):
    stats = ps.Loader(arrays, **options(device="host", device_options=ps.DeviceOptions(gpu_direct=True))).stats()
    assert stats["gpu_direct"].startswith("not used: no output's rows are stored as they are")


def test_jpegs_that_the_device_decodes_are_those_of_the_host(tmp_path):
    command = os.environ["PENSTOCK_COMMAND"]
    subprocess.run([command, "synth", "images", str(tmp_path / "images"), "-n", "60", "--seed", "1"], check=True)
    crop = ps.image.random_resized_crop(32) | ps.image.random_horizontal_flip()
    fields = {"jpg": crop | ps.image.normalize(MEAN, DEVIATION)}
    more = {"batch_size": 16, "shuffle": True, "workers": 2, "transforms": fields}
    here = ps.Loader(tmp_path / "images", **more)
    there = ps.Loader(
        tmp_path / "images",
        device="host",
        device_options=ps.DeviceOptions(gpu_jpeg=0.5, gpu_jpeg_bytes=8 << 20),
        **more,
    )
    for _ in range(2):
        for batch, same in zip(there, here, strict=True):
            assert batch["__key__"] == same["__key__"]
            assert batch["jpg"].tobytes() == same["jpg"].tobytes()
    stats = there.stats()
    assert stats["gpu_jpeg"] == "50 % by the processor's decoder: jpg"
    assert 30 <= stats["gpu_jpeg_rows"] <= 200 and stats["gpu_jpeg_refused"] == 0
    assert stats["device_bytes"] >= 8 << 20
    assert "gpu jpeg" in str(stats) and "gpu jpeg" not in str(here.stats())
    assert "jpeg" in there.state_dict()["transforms"]


def test_what_does_not_go_together_is_refused(arrays):
    for wrong, message in [
        ({"device_options": ps.DeviceOptions(gpu_direct=True)}, "gpu_direct requires a device"),
        (
            {"device": "host", "device_options": ps.DeviceOptions(gpu_direct=True), "cache": "encoded"},
            "gpu_direct cannot be combined with",
        ),
        ({"device_options": ps.DeviceOptions(gpu_jpeg=0.5)}, "gpu_jpeg requires a device"),
        ({"device": "host", "device_options": ps.DeviceOptions(gpu_jpeg=2)}, "gpu_jpeg must be between 0 and 1"),
        (
            {"device": "host", "device_options": ps.DeviceOptions(gpu_jpeg=0.5), "cache": "encoded"},
            "gpu_jpeg cannot be combined with",
        ),
        ({"device": "tpu"}, "device must be"),
        ({"device": "host", "batch_transform": lambda batch: batch}, "batch_transform"),
        ({"device_options": ps.DeviceOptions(finish_on="device")}, "finish_on"),
        ({"device": "host", "device_options": ps.DeviceOptions(prefetch=0)}, "prefetch"),
        ({"device": "cuda:999"}, "no device cuda:999: "),
    ]:
        with pytest.raises(ps.Error, match=message):
            ps.Loader(arrays, **options(**wrong))


@on_gpu
def test_torch_takes_tensors_of_a_gpu_behind_their_copies(icons):
    fields = {"png": ps.image.random_resized_crop(96) | ps.image.normalize(MEAN, DEVIATION), "cls": ps.label()}
    more = {"batch_size": 64, "shuffle": True, "transforms": fields, "drop_last": True}
    side = torch.cuda.Stream()
    for here, there in zip(ps.Loader(icons, **more), ps.Loader(icons, device="cuda:0", **more)):
        expected = torch.from_dlpack(here["png"]).clone()
        assert there["png"].device == "cuda:0" and there["png"].__dlpack_device__() == (2, 0)
        with pytest.raises(TypeError, match="cpu"):
            np.asarray(there["png"])
        with pytest.raises(BufferError):
            there["png"].__dlpack__(stream=0)
        with torch.cuda.stream(side):
            images = torch.from_dlpack(there["png"])
            doubled = images * 2
        first = torch.from_dlpack(there["png"]) + 0
        labels = torch.from_dlpack(there["cls"])
        del there, images
        assert labels.is_cuda and torch.equal(first.cpu(), expected)
        assert torch.equal(doubled.cpu(), expected * 2)
