"""bindings/python/examples: they learn, their limits are told apart, and a profiler sees them wait for data."""

import functools
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

pytest.importorskip("torch")

EXAMPLES = pathlib.Path(__file__).parents[2] / "bindings/python/examples"
ICONS = 900
HELD_OUT = 93  # a tenth of the icons, by the hashes of their keys
HEADER = "epoch   step     loss  accuracy  samples/s  loading ms  training ms"


def made(folder, synth, pack=()):
    """A folder of generated samples, and the packed dataset of them."""
    command = os.environ["PENSTOCK_COMMAND"]
    subprocess.run([command, "synth", synth[0], "files", *synth[1:], "--seed", "1"], cwd=folder, check=True)
    subprocess.run([command, "pack", "files", "packed.tar.d", "--format", "tar", *pack], cwd=folder, check=True)
    return folder / "packed.tar.d"


@pytest.fixture(name="packed", scope="module")
def packed_fixture(tmp_path_factory):
    return made(tmp_path_factory.mktemp("train"), ["icons", "-n", str(ICONS)])


@pytest.fixture(name="trees", scope="module")
def trees_fixture(tmp_path_factory):
    clouds = ["clouds", "-n", "120", "--num-classes", "3", "--points", "4000"]
    return made(tmp_path_factory.mktemp("points"), clouds, ["--point-order", "progressive"])


def train(*arguments, script="train.py"):
    command = [sys.executable, str(EXAMPLES / script), *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == HEADER
    return done.stdout


def rows(out):
    return [line.split() for line in out.splitlines() if re.fullmatch(r"\s+\d+\s+\d+(\s+[\d.-]+){5}", line)]


def held_out(out):
    """Accuracies, and numbers of samples, one for each epoch."""
    found = re.findall(r"^held out: ([\d.]+) of (\d+) samples", out, re.MULTILINE)
    return [float(share) for share, _ in found], [int(count) for _, count in found]


def megabytes_read(out):
    return float(re.search(r", ([\d.]+) MB read$", out, re.MULTILINE)[1])


def test_it_learns_and_the_profiler_sees_the_loader(packed, tmp_path):
    trace = tmp_path / "trace.json"
    out = train(packed, "--epochs", 3, "--batch-size", 32, "--profile", trace)
    losses = [float(row[2]) for row in rows(out)]
    assert losses[-1] < losses[0]
    shares, counts = held_out(out)
    assert len(shares) == 3 and max(shares) > 0.25  # of 10 classes
    assert set(counts) == {HELD_OUT}
    samples = 3 * (ICONS - HELD_OUT)
    ends = rf"^{samples} samples in .* s: \d+ samples/s, loading .* s, training .* s, \d+\.\d MB read$"
    assert re.search(ends, out, re.MULTILINE)
    assert re.search(r"^data wait: .* s of .* s, [\d.]+%", out, re.MULTILINE)
    events = json.loads(trace.read_text())
    events = events if isinstance(events, list) else events["traceEvents"]  # torch before 2.0 writes the events alone
    waits = [event for event in events if event.get("name") == "enumerate(DataLoader)#PenstockLoader.__next__"]
    batches = math.ceil((ICONS - HELD_OUT) / 32) + math.ceil(HELD_OUT / 32)
    assert len(waits) == 3 * (batches + 2)  # of both loaders, and the ends of their epochs


def test_the_limits_are_told_apart(packed):
    loading = train(packed, "--epochs", 1, "--mock-trainer")
    assert rows(loading)[-1][2:4] == ["-", "-"] and "held out" not in loading
    training = train(packed, "--epochs", 1, "--batch-size", 150, "--mock-loader")
    assert float(rows(training)[-1][5]) < 1 and "held out" not in training


def test_ctrl_c_finishes_the_step_and_tells_the_sums(packed):
    command = [sys.executable, str(EXAMPLES / "train.py"), str(packed), "--epochs", "1000", "--every", "1"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == HEADER + "\n"
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130 and "KeyboardInterrupt" not in err
    assert "samples in" in out.splitlines()[-1]


SMALL = ("--points", 64, "--width", 8, "--batch-size", 8)
QUICK = (*SMALL, "--held-out", 0.25, "--learning-rate", 0.003, "--seed", 1)


@pytest.mark.parametrize("epochs, more", [(8, []), (6, ["--feature-transform"])])
def test_pointnet_learns_from_progressive_clouds(trees, epochs, more):
    out = train(trees, *QUICK, "--epochs", epochs, *more, script="train_points.py")
    losses = [float(row[2]) for row in rows(out)]
    assert losses[-1] < 0.75 * losses[0]
    shares, counts = held_out(out)
    assert len(shares) == epochs and shares[-1] > 0.6  # of 3 classes
    assert counts[0] == sum(number % 1000 < 250 for number in map(fnv1a, tree_keys()))


def tree_keys():
    return [f"class_{number % 3:02}/{number:06}" for number in range(120)]


def fnv1a(key):
    """64 bits. Source: Fowler, Noll, Vo, "The FNV Non-Cryptographic Hash Algorithm"."""
    return functools.reduce(lambda sum, byte: (sum ^ byte) * 0x100000001B3 % 2**64, key.encode(), 0xCBF29CE484222325)


def test_of_progressive_clouds_less_is_read_than_of_their_files(trees):
    options = ("--points", 512, "--epochs", 20, "--mock-trainer")
    packed = train(trees, *options, script="train_points.py")
    files = train(trees.parent / "files", *options, script="train_points.py")
    # 12 bytes of a point for 30, and no page beside; only the first epoch reads wider, whole ranges of a checksum
    assert megabytes_read(packed) < 0.6 * megabytes_read(files)
    assert rows(files)[-1][2:4] == ["-", "-"]


def test_clouds_keep_their_size_and_are_sampled_by_other_methods_where_that_is_asked_for(trees):
    out = train(
        trees.parent / "files", *SMALL, "--epochs", 1, "--sampling", "fps", "--scale", 0.05, script="train_points.py"
    )
    assert "samples correct after epoch 0" in out


def test_pointnet_prints_what_its_layers_cost_beside_loading(trees):
    out = train(trees, *SMALL, "--epochs", 1, "--layers", script="train_points.py")
    table = out[out.index("layer ") :].splitlines()
    assert table[0].split() == ["layer", "kind", "parameters", "MACs", "a", "sample", "ms", "share"]
    costs = {row.split()[0]: row.split()[1:] for row in table[1:-1]}
    # Width 8: three channels of 64 points to 8, each a sum of 3; the head sees a cloud once.
    assert costs["first.0"][:3] == ["Conv1d", "24", f"{64 * 8 * 3:,}"]
    assert costs["head.0"][:3] == ["Linear", f"{128 * 64:,}", f"{128 * 64:,}"]
    assert costs["input.points.0"][0] == "Conv1d" and costs["all"][-1] == "100.0%"
    number = r"\d+\.\d\d ms"
    assert re.fullmatch(f"a step: loading {number}, training {number}, forward pass of the layers {number}", table[-1])


def test_the_costs_of_layers_are_those_of_modules_worked_out_by_hand(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import layers
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv1d(4, 6, 3, padding=1, groups=2)
            self.conv2 = nn.Conv2d(2, 3, (3, 5), stride=2)
            self.linear = nn.Linear(10, 7)
            self.norm = nn.BatchNorm1d(6)

        def forward(self, points, images, rows):
            self.norm(self.conv1(points))
            self.conv2(images)
            return self.linear(self.linear.weight[:5] + rows[:5])

    model = Model()
    inputs = torch.randn(5, 4, 20), torch.randn(5, 2, 9, 11), torch.randn(5, 10)
    measured = {layer.name: layer for layer in layers.measure(model, *inputs, rounds=3)}
    assert model.training  # as it was
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    # (5 clouds, 6 channels, 20 points), each a sum over 4 / 2 channels and 3 neighbours
    assert measured["conv1"].macs == 5 * 6 * 20 * 2 * 3
    assert measured["conv1"].parameters == 6 * 2 * 3 + 6
    # (9, 11) becomes (4, 4) by steps of 2 of a window of (3, 5)
    assert measured["conv2"].macs == 5 * 3 * 4 * 4 * 2 * 3 * 5
    assert measured["linear"].macs == 5 * 7 * 10 and measured["linear"].parameters == 77
    assert measured["norm"].macs == 0 and measured["norm"].parameters == 12
    assert all(layer.seconds > 0 and layer.calls == 1 for layer in measured.values())
    assert sum(layer.parameters for layer in measured.values()) == sum(each.numel() for each in model.parameters())
    lines = []
    layers.table(list(measured.values()), 5, lines.append)
    assert lines[-1].split()[:3] == ["all", str(42 + 93 + 77 + 12), f"{6 * 20 * 6 + 48 * 30 + 70:,}"]


def test_a_layer_that_is_called_twice_counts_twice(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import layers
    import torch
    from torch import nn

    shared = nn.Linear(8, 8)
    measured = layers.measure(nn.Sequential(shared, nn.ReLU(), shared), torch.randn(3, 8))
    assert [(layer.kind, layer.macs, layer.calls) for layer in measured] == [
        ("Linear", 2 * 3 * 8 * 8, 2),
        ("ReLU", 0, 1),
    ]


def test_pointnet_does_not_see_the_order_of_points(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import pointnet
    import torch

    torch.manual_seed(0)
    model = pointnet.PointNet(4, 8, feature_transform=True).eval()
    clouds = torch.randn(5, 3, 100)
    torch.testing.assert_close(model(clouds), model(clouds[:, :, torch.randperm(100)]))
    assert model.far_from_orthogonal().item() < 1e-9  # at first its matrices are the identity
    model.matrices = torch.full((2, 2, 2), 1.0)
    assert model.far_from_orthogonal().item() == pytest.approx(10.0)  # |[[-1, -2], [-2, -1]]|^2


def test_the_study_of_sampling_prints_a_row_for_each_way(tmp_path):
    study = EXAMPLES.parents[2] / "bench/studies/sampling_accuracy.py"
    few = "--clouds=12 --test-clouds=6 --classes=2 --stored=1000 --points=32 --epochs=2 --seeds=2 --width=4".split()
    command = [sys.executable, str(study), *few, "--folder", str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    table = re.findall(r"^\| (fixed|progressive|resampled) \| .* \| ([\d.]+) \|$", done.stdout, re.MULTILINE)
    assert [way for way, _ in table] == ["fixed", "progressive", "resampled"]
    on_disk = {way: float(megabytes) for way, megabytes in table}
    assert on_disk["fixed"] < on_disk["progressive"] < on_disk["resampled"]
