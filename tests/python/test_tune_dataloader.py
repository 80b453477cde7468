"""penstock tune-dataloader: the search, the figures of a run, and the table."""

import json
import math
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import textwrap
import time

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; run scripts/python_environment.sh")

from penstock._tune_dataloader import processes, search  # noqa: E402
from penstock._tune_dataloader.rebuilt import own_setting, rebuilt  # noqa: E402
from penstock._tune_dataloader.replaced import CannotReplace, replaced  # noqa: E402
from penstock._tune_dataloader.report import Result, json_of, text_of  # noqa: E402
from penstock._tune_dataloader.rows import Row, cheapest, equal_to, noise_of  # noqa: E402
from penstock._tune_dataloader.setting import Setting, grid_of, made  # noqa: E402
from penstock._tune_dataloader.source import WrongSource, loader_of  # noqa: E402
from penstock._tune_dataloader.trial import timed  # noqa: E402

HERE = pathlib.Path(__file__).parent
COMMAND = [sys.executable, "-m", "penstock", "tune-dataloader"]


# ---- The search ------------------------------------------------------------------------------------------------------


def grid(own=None, workers=None, cores=16, gpu=True, one_pass=False):
    return grid_of(own or made(4, False, 2, False), workers, cores, gpu=gpu, one_pass=one_pass)


def seconds_for(workers, start=0.0, prefetch=None, pin=0.0):
    """A planted loading time: `workers` is the best number of workers."""

    def seconds(setting):
        total = 10 / max(1, min(setting.num_workers, workers)) + 0.05 * max(0, setting.num_workers - workers)
        if setting.num_workers > 0 and not setting.persistent_workers:
            total += start
        if prefetch is not None and setting.num_workers > 0 and setting.prefetch_factor != prefetch:
            total *= 1.3
        return total * (1 if setting.pin_memory else 1 + pin)

    return seconds


def searched(grid, seconds):
    """Medians as the search sees them, and the runs in their order."""
    known, runs = {}, []
    for settings in search.rounds(grid, lambda: known, search.planned(grid)):
        assert len(set(settings)) == len(settings), "a round mixes settings"
        for setting in settings:
            known[setting] = seconds(setting)
            runs.append(setting)
    return known, runs


@pytest.mark.parametrize("cores", [1, 2, 4, 16, 64])
@pytest.mark.parametrize("gpu", [True, False])
@pytest.mark.parametrize("one_pass", [True, False])
def test_the_search_has_at_most_a_quarter_of_the_runs_of_a_full_sweep(cores, gpu, one_pass):
    for own in (made(0, False, None, False), made(4, True, 3, False)):
        space = grid(own, None, cores, gpu, one_pass)
        _, runs = searched(space, seconds_for(4))
        assert len(runs) <= 3 * len(space.settings()) / 4
        assert len(runs) == search.planned(space)
        assert runs[0] == own and set(runs) <= set(space.settings())
        assert max(runs.count(setting) for setting in runs) >= 2, "without repeats, the noise is unknown"


@pytest.mark.parametrize(
    "seconds",
    [
        seconds_for(1),
        seconds_for(4, start=0.5),
        seconds_for(8, start=0.2, prefetch=8),
        seconds_for(16, prefetch=4, pin=0.4),
        seconds_for(64, start=0.3, pin=0.2),
        lambda setting: 1 + setting.num_workers,
    ],
    ids=["one worker", "start", "prefetch", "pin", "all cores", "no worker"],
)
def test_the_search_finds_the_best_setting_of_the_full_sweep(seconds):
    space = grid()
    known, _ = searched(space, seconds)
    assert min(known.values()) == pytest.approx(min(map(seconds, space.settings())))


def test_the_grid_has_each_setting_once_and_without_workers_no_others():
    space = grid(made(3, False, 5, True), None, 6, True, False)
    assert space.workers == (0, 1, 2, 3, 4, 6) and space.prefetch == (2, 4, 5, 8)
    settings = space.settings()
    assert len(settings) == len(set(settings)) == 2 + 5 * 2 * 4 * 2
    assert [each for each in settings if each.num_workers == 0] == [Setting(0), Setting(0, pin_memory=True)]
    assert grid(gpu=False).pin == (False,) and grid(one_pass=True).persistent == (False,)
    assert grid(workers=[8, 0]).workers == (0, 4, 8)


def row(seconds, workers=1, peak=100, **options):
    figures = {"pass_s": 1.0, "batch_s": 0.5, "startup_s": 0.1, "first_batch_s": 0.2, "peak_bytes": peak * 10**6}
    return Row(made(workers, False, 2, False), [{"epoch_s": value, **figures} for value in seconds], **options)


def test_the_noise_is_that_of_repeated_runs():
    first, second = [1.0, 1.1, 1.05], [4.0, 4.8]
    deviations = [statistics.stdev(map(math.log, each)) for each in (first, second)]
    pooled = math.sqrt((2 * deviations[0] ** 2 + deviations[1] ** 2) / 3)
    assert noise_of([row(first), row(second), row([9.0])]) == pytest.approx(pooled)
    assert noise_of([row([1.0]), row([2.0])]) is None


def test_rows_within_the_noise_are_equal_and_the_cheapest_has_the_fewest_workers():
    best, near, far = row([1.0, 1.02], 8), row([1.03, 1.01], 4, peak=300), row([1.5, 1.52], 2)
    assert equal_to(best, [best, near, far], 0.02) == [best, near]
    assert equal_to(best, [best, near, far], None) == [best]
    assert cheapest([best, near]) is near
    assert cheapest([row([1.0], 4, 200), row([1.1], 4, 100)]).peak_bytes == 100 * 10**6
    assert cheapest([row([1.0], 4, 109), row([1.1], 4, 100)]).peak_bytes == 109 * 10**6


# ---- One run ---------------------------------------------------------------------------------------------------------


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return index * index


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(range(20))


def pairs(items):
    return ("pairs", items)


def loaders():
    data = torch.utils.data
    sampler = data.BatchSampler(data.SequentialSampler(range(20)), 5, True)
    return {
        "in order": data.DataLoader(Squares(), batch_size=3),
        "collate": data.DataLoader(Squares(), batch_size=4, collate_fn=pairs, drop_last=True),
        "batch sampler": data.DataLoader(Squares(), batch_sampler=sampler),
        "no batches": data.DataLoader(Squares(), batch_size=None),
        "weights": data.DataLoader(Squares(), 4, sampler=data.WeightedRandomSampler([1.0] * 20, 20)),
        "shuffled": data.DataLoader(Squares(), 4, shuffle=True, generator=torch.Generator().manual_seed(3)),
        "stream": data.DataLoader(Stream(), batch_size=3, drop_last=True),
        "workers": data.DataLoader(Squares(), 4, num_workers=2, timeout=5, prefetch_factor=3, persistent_workers=True),
    }


@pytest.mark.parametrize("name", loaders())
@pytest.mark.parametrize("workers", [0, 1])
def test_a_rebuilt_loader_has_the_batches_of_the_first(name, workers):
    theirs, ours = loaders()[name], loaders()[name]
    before = {key: id(value) for key, value in vars(ours).items()}
    torch.manual_seed(0)
    expected = [str(batch) for batch, _ in zip(theirs, range(4))]
    torch.manual_seed(0)
    copied = rebuilt(ours, made(workers, False, 3, False), 4)
    assert [str(batch) for batch, _ in zip(copied, range(4))] == expected
    assert copied.num_workers == workers and copied.collate_fn is ours.collate_fn
    assert {key: id(value) for key, value in vars(ours).items()} == before
    if name != "stream":
        assert len(list(copied)) == 4


def test_the_own_settings_are_read():
    assert own_setting(loaders()["workers"]) == Setting(2, True, 3, False)
    assert own_setting(loaders()["in order"]) == Setting(0, False, None, False)


class Sleeps(Squares):
    def __getitem__(self, index):
        time.sleep(0.01)
        return index


def test_an_epoch_is_extended_from_the_batches_of_a_pass():
    loader = rebuilt(torch.utils.data.DataLoader(Sleeps(), batch_size=2), made(0, False, None, False), 4)
    told = timed(loader, 0, {"batches": 4, "epoch_batches": 10})
    assert told["batches"] == 4 and told["pass_s"] >= 4 * 0.02 and told["batch_s"] >= 0.02
    assert told["epoch_s"] == pytest.approx(told["pass_s"] + 6 * told["batch_s"])
    assert 0 <= told["startup_s"] <= told["first_batch_s"] and told["first_batch_s"] >= 0.02
    stream = torch.utils.data.DataLoader(Stream(), batch_size=2)
    told = timed(stream, 0, {"batches": 3, "epoch_batches": None})
    assert told["batches"] == 3 and told["epoch_s"] == told["pass_s"]


def test_memory_that_processes_share_counts_once():
    code = """
        import os, sys
        held = bytearray(os.urandom(1) * (64 << 20))
        child = os.fork() if len(sys.argv) > 1 else 1
        if child: print("ready", flush=True)
        sys.stdin.read()
    """
    peaks = []
    for words in ([], ["fork"]):
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        child.stdout.readline()
        peaks.append(processes.memory_of(child.pid))
        child.communicate(b"")
    assert (64 << 20) < peaks[0] < (110 << 20)
    assert peaks[0] <= peaks[1] + (4 << 20) and peaks[1] < peaks[0] + (40 << 20)


def write(folder, text, name="train.py"):
    (folder / name).write_text(textwrap.dedent(text))
    return folder / name


def test_the_script_is_imported_and_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["x"])
    write(tmp_path, "ROWS = [1, 2, 3]", "beside.py")
    file = write(
        tmp_path,
        """
        import beside, torch
        if __name__ == "__main__":
            raise SystemExit("must not run")
        def make():
            return torch.utils.data.DataLoader(beside.ROWS, batch_size=2)
        ready = make()
        def pair():
            return ready, ready
        class Other(torch.utils.data.DataLoader):
            def __iter__(self):
                return iter([])
        def other():
            return Other([1])
        """,
        "planted.py",
    )
    assert len(loader_of(str(file), "make")) == 2 == len(loader_of(str(file), "ready"))
    for name, sentence in {
        "mak": r"planted\.py has no mak; its functions are Other, make, other, pair",
        "pair": r"returned a builtins\.tuple; it must return a torch\.utils\.data\.DataLoader",
        "other": "Other has an __iter__ that differs from DataLoader's",
    }.items():
        with pytest.raises(WrongSource, match=sentence):
            loader_of(str(file), name)


# ---- penstock's row --------------------------------------------------------------------------------------------------


@pytest.fixture(name="vision", scope="module")
def vision_fixture():
    from torchvision_package import require_torchvision

    require_torchvision()
    import torchvision

    return torchvision


def loader_for(dataset, **options):
    return torch.utils.data.DataLoader(dataset, **{"batch_size": 7, **options})


def test_an_image_folder_has_the_same_images_and_labels(vision, images):
    before = sorted(images.rglob("*"))
    steps = vision.transforms.Compose([vision.transforms.CenterCrop(8), vision.transforms.ToTensor()])
    folder = vision.datasets.ImageFolder(images, steps)
    for dataset in (folder, torch.utils.data.Subset(folder, [5, 59, 7, *range(20, 30)])):
        theirs = loader_for(dataset, drop_last=True)
        ours = list(replaced(theirs, None))
        assert len(ours) == len(theirs)
        for (pixels, labels), (expected, numbers) in zip(ours, theirs):
            assert torch.equal(labels, numbers) and labels.dtype == numbers.dtype
            assert torch.allclose(pixels, expected, atol=2 / 255)
    assert [len(labels) for _, labels in replaced(loader_for(folder), 4)] == [7] * 4
    assert len(list(replaced(loader_for(folder), 100))) == 9
    shuffled = torch.cat([labels for _, labels in replaced(loader_for(folder, shuffle=True), None)])
    assert shuffled.tolist() != sorted(shuffled.tolist()) == folder.targets
    assert sorted(images.rglob("*")) == before, "no index is left"


def test_the_reason_is_named_if_it_is_not_replaced(vision, images):
    folder, tensor = vision.datasets.ImageFolder, vision.transforms.ToTensor()

    class Other(folder):
        pass

    for dataset, reason in (
        (Squares(), "the dataset is a .*Squares, and not torchvision's ImageFolder"),
        (Stream(), "the dataset is a .*Stream, and not torchvision's ImageFolder"),
        (Other(images, tensor), "Other, and not"),
        (folder(images, tensor, loader=lambda path: None), "has a loader function of the program"),
        (folder(images, tensor, lambda number: number + 1), "has a target_transform of the program"),
        (folder(images, lambda image: 1), "cannot translate 1 transform"),
        (folder(images, tensor, is_valid_file=lambda path: path.endswith("0.jpg"), allow_empty=True), "other files"),
        (folder(images), "the images differ: Tensor .* instead of Image"),
    ):
        with pytest.raises(CannotReplace, match=reason):
            replaced(loader_for(dataset), None)
    good = folder(images, tensor)
    for options, reason in (
        ({"collate_fn": pairs}, "the DataLoader has a collate_fn of the program"),
        (
            {"sampler": torch.utils.data.WeightedRandomSampler([1.0] * 60, 60)},
            "the sampler is a .*WeightedRandomSampler",
        ),
        ({"batch_size": None}, "the sampler is a .*NoneType"),
    ):
        with pytest.raises(CannotReplace, match=reason):
            replaced(loader_for(good, **options), None)


def test_the_last_row_shows_the_same_data_through_penstock(vision, images, tmp_path):
    write(
        tmp_path,
        f"""
        import sys
        sys.path.insert(0, {str(HERE)!r})
        from torchvision_package import require_torchvision
        torchvision = require_torchvision()
        import torch
        def make():
            steps = torchvision.transforms.Compose(
                [torchvision.transforms.RandomResizedCrop(16), torchvision.transforms.ToTensor()])
            return torch.utils.data.DataLoader(torchvision.datasets.ImageFolder({str(images)!r}, steps), 4)
        """,
    )
    ran = command(tmp_path, "train.py:make", "--workers", "0", "--batches", "2", "--json", "-")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)["penstock"]
    assert told["num_workers"] == 0 and told["epoch_s"] > 0 and told["peak_bytes"] > 0
    assert "penstock: penstock: " in ran.stderr


# ---- The command -----------------------------------------------------------------------------------------------------

SCRIPT = """
    import torch, sys
    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 40
        def __getitem__(self, index):
            return torch.zeros(10)
    def make():
        print("a line of the script")
        return torch.utils.data.DataLoader(Rows(), batch_size=4)
    def fails_in_workers(number):
        raise KeyError("planted")
    def broken():
        return torch.utils.data.DataLoader(Rows(), batch_size=4, worker_init_fn=fails_in_workers)
    def wrong():
        raise ValueError("no data set")
    def slow():
        return torch.utils.data.DataLoader([*range(4000)], batch_size=1, collate_fn=rest)
    def rest(items):
        if torch.utils.data.get_worker_info() is not None:
            import time
            time.sleep(1000)
        return items
    if __name__ == "__main__":
        raise SystemExit("must not run")
"""


def command(folder, *words):
    return subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_table_is_sorted_and_marks_the_settings_of_the_script(tmp_path):
    write(tmp_path, SCRIPT)
    ran = command(tmp_path, "train.py:make", "--workers", "0,1", "--batches", "3", "--json", "table.json")
    assert ran.returncode == 0, ran.stderr
    told = json.loads((tmp_path / "table.json").read_text())
    assert (told["runs"], told["full_sweep"], told["batches"], told["epoch_batches"]) == (5, 21, 3, 10)
    assert sum(len(each["runs"]) for each in told["rows"]) == 5
    times = [each["epoch_s"] for each in told["rows"]]
    assert times == sorted(times) and all(each["peak_bytes"] > 10**7 for each in told["rows"])
    head, *lines = ran.stdout.splitlines()
    assert head.split()[:4] == ["num_workers", "persistent_workers", "prefetch_factor", "pin_memory"]
    [own] = [line for line in lines if line.endswith("the script's settings")]
    assert own.split()[0] == "0" and sum("<- recommended" in line for line in lines) == 1
    assert "penstock: not measured: the dataset is a train.Rows, and not torchvision's ImageFolder" in lines
    assert any(line.startswith("5 runs instead of 21, 3 batches of 10 in an epoch; noise of a run ") for line in lines)
    assert lines[-1].startswith("Do:  ")
    if not torch.cuda.is_available():
        assert "pin_memory: not measured, because torch finds no GPU" in lines
    assert "a line of the script" not in ran.stdout


def test_a_setting_that_fails_is_shown_last_and_not_recommended(tmp_path):
    write(tmp_path, SCRIPT)
    ran = command(tmp_path, "train.py:broken", "--workers", "0,1", "--batches", "2", "--json", "table.json")
    assert ran.returncode == 0, ran.stderr
    told = json.loads((tmp_path / "table.json").read_text())
    assert told["rows"][-1]["failure"] and told["rows"][-1]["epoch_s"] is None
    assert told["recommended"]["num_workers"] == 0
    assert re.search(r"^ +1 .* 0  failed: .*planted", ran.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["train.py:wrong"], 1, "train.py: ValueError: no data set"),
        (["train.py:missing"], 2, "train.py has no missing; its functions are"),
        (["other.py:make"], 2, "other.py: no such file"),
        (["train.py"], 2, "expected FILE.py:FUNCTION, not train.py"),
        (["train.py:make", "--workers", "-1"], 2, "must be numbers from 0, not -1"),
        (["train.py:make", "--workers", "1,x"], 2, "must be numbers from 0, not 1,x"),
        (["train.py:make", "--json", "no/table.json"], 2, "--json: no/table.json is not the path of a file"),
    ],
)
def test_wrong_usage_is_one_sentence(tmp_path, words, code, sentence):
    write(tmp_path, SCRIPT)
    ran = command(tmp_path, *words)
    assert ran.returncode == code and ran.stdout == ""
    assert sentence in ran.stderr and "Traceback" not in ran.stderr


def begun(folder):
    """The command after its first run; the next one has a worker, and does not end."""
    write(folder, SCRIPT)
    child = subprocess.Popen(
        [*COMMAND, str(folder / "train.py:slow"), "--batches", "5", "--workers", "0,1,2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr.readline().startswith("penstock: num_workers=0: ")
    return child


def trials(folder):
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"_tune_dataloader.trial" in words and os.fsencode(folder) in words:
            found.append(pid)
    return found


def all_end(folder):
    deadline = time.monotonic() + 60
    while trials(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    return trials(folder) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_prints_the_table_so_far_and_ends_all_processes(tmp_path, number):
    child = begun(tmp_path)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130 and "Traceback" not in err
    assert "the script's settings" in out and "interrupted: the table has the runs so far" in out
    told = 1 + err.count("penstock: num_workers=")  # begun() has read the first line
    assert re.search(r"^(\d+) runs?\b", out, re.MULTILINE)[1] == str(told), (out, err)
    assert all_end(tmp_path)


def test_a_run_ends_with_a_command_that_is_killed(tmp_path):
    child = begun(tmp_path)
    while not trials(tmp_path):  # between two runs
        time.sleep(0.01)
    child.kill()
    child.communicate()
    assert all_end(tmp_path)


def test_the_compiled_command_starts_it(tmp_path):
    if "PENSTOCK_COMMAND" not in os.environ:
        pytest.skip("this build has no penstock command; build penstock_command")
    write(tmp_path, SCRIPT)
    ran = subprocess.run(
        [os.environ["PENSTOCK_COMMAND"], "tune-dataloader", "train.py:missing"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PENSTOCK_PYTHON": sys.executable},
    )
    assert (ran.returncode, ran.stdout) == (2, "") and "has no missing" in ran.stderr


# ---- The table -------------------------------------------------------------------------------------------------------


def result(rows, own, **options):
    return Result("train.py:make", own.setting, rows, cores=8, batches=20, runs=9, full_sweep=40, **options)


def test_the_recommendation_is_the_cheapest_of_the_fastest():
    fast, near, own = row([1.0, 1.02], 8, 900), row([1.02, 1.04], 4, 500), row([3.0, 3.1], 1, 300)
    text = text_of(result([own, fast, near], own))
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["8", "4", "1"]
    assert lines[1].endswith("equally fast") and lines[2].endswith("<- recommended")
    assert lines[-1] == (
        "Do:  DataLoader(num_workers=4, persistent_workers=False, prefetch_factor=2): 3.05 -> 1.03 s for an epoch, "
        "300 -> 500 MB"
    )
    told = json_of(result([own, fast, near], own))
    assert [each["equal_to_best"] for each in told["rows"]] == [True, True, False]
    assert told["recommended"]["num_workers"] == 4 and json.loads(json.dumps(told)) == told


def test_settings_that_are_already_the_best_stay():
    own, other = row([1.0, 1.02], 2), row([3.0, 3.1], 4)
    last = text_of(result([own, other], own)).splitlines()[-1]
    assert last.startswith("Do:  nothing: DataLoader(num_workers=2, ")


def test_the_last_row_is_that_of_penstock():
    own, ours = row([1.0, 1.02], 2), row([0.2], 0)
    lines = text_of(result([own, row([3.0, 3.1], 4)], own, penstock=ours)).splitlines()
    assert lines[3].split()[:3] == ["penstock", "-", "-"] and lines[3].endswith("the same data through penstock")
