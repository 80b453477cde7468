"""Tests that misuse of the Python package is told in one sentence, and that its objects tell what they are."""

import base64
import gc
import html
import inspect
import io
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tarfile
import warnings

import penstock as ps
import pytest
from command import fails
from PIL import Image

KNOWN = list(inspect.signature(ps.Loader).parameters)

# Of PyTorch's DataLoader and of datasets around it, and the option that the sentence has to name.
ELSEWHERE = {
    "batch_sampler": "subset",
    "collate_fn": "on_batch",
    "dataset": "source",
    "generator": "seed",
    "num_replicas": "world",
    "num_workers": "workers",
    "pin_memory": "device",
    "prefetch_factor": "prefetch",
    "sampler": "subset",
    "target_transform": "fields",
    "transform": "fields",
    "transforms": "on_sample",
}


def refusal(call, *places, **keywords):
    with pytest.raises(TypeError) as raised:
        call(*places, **keywords)
    text = str(raised.value)
    assert "\n" not in text and len(text) < 160
    return text


@pytest.fixture(name="labels")
def labels_fixture(tmp_path):
    for i in range(10):
        (tmp_path / f"{i}.cls").write_text(str(i))
    return tmp_path


def test_a_keyword_of_a_step_without_any_is_told():
    assert refusal(ps.points.center, about="z") == "penstock.points.center() has no keyword about, it takes none"
    assert refusal(ps.raw, dtype="uint8") == "penstock.raw() has no keyword dtype, it takes none"


@pytest.mark.parametrize("keyword", ELSEWHERE)
def test_a_keyword_of_another_loader_is_told_with_the_option_here(labels, keyword):
    text = refusal(ps.Loader, labels, **{keyword: 4})
    assert text.startswith(f"penstock.Loader() has no keyword {keyword}: here it is {ELSEWHERE[keyword]} (")
    assert ELSEWHERE[keyword] in KNOWN


def test_a_step_and_its_arguments_are_told_with_the_closest():
    assert refusal(ps.image.resize, siz=3) == "penstock.image.resize() has no keyword siz: is size meant?"
    assert refusal(ps.image.normalize, sdt=(1,)) == "penstock.image.normalize() has no keyword sdt, only mean or stddev"
    assert refusal(ps.label, clases=3) == "penstock.label() has no keyword clases: is classes meant?"
    for steps in (ps.image, ps.array, ps.points):
        for step in (name for name in vars(steps) if name[0] != "_"):
            with pytest.raises(AttributeError, match=f"has no step '{step}x': is {step} meant"):
                getattr(steps, f"{step}x")
            assert inspect.signature(getattr(steps, step)).return_annotation is inspect.Signature.empty
    for step, here in (("RandomHorizontalFlip", "random_flip"), ("vertical_flip", "random_vertical_flip")):
        with pytest.raises(AttributeError, match=f"penstock.image has no step '{step}': here it is {here}$"):
            getattr(ps.image, step)
    chain = ps.image.resize(3) | ps.image.random_flip()
    assert str(pickle.loads(pickle.dumps(chain))) == str(chain)


def test_the_methods_of_a_loader_refuse_in_one_sentence(labels):
    loader = ps.Loader(labels, fields={"cls": ps.label()})
    assert refusal(loader.at, 0) == "penstock.Loader.at() needs batch"
    assert refusal(loader.at, 0, "1") == "penstock.Loader.at(): batch is a whole number of 0 or more, not '1'"
    assert refusal(loader.set_epoch, epok=1) == "penstock.Loader.set_epoch() has no keyword epok: is epoch meant?"
    assert refusal(ps.Dataset, labels) == "penstock.open(path) opens a dataset"
    assert list(inspect.signature(ps.Loader.at).parameters) == ["self", "epoch", "batch"]


def test_a_batch_tells_what_is_in_it(labels, icons):
    batch = next(iter(ps.Loader(labels, batch_size=4, fields={"cls": ps.label(), "text": ps.field("cls") | ps.raw()})))
    assert isinstance(batch, dict) and type(batch) is ps.Batch and batch == dict(batch)
    assert repr(batch) == (
        "penstock.Batch(cls int64 (4,), text 4 rows of different length, uint8 (4,), __key__ list of 4, "
        "__valid__ bool (4,))"
    )
    assert "<img" not in batch._repr_html_() and "int64 (4,)" in batch._repr_html_()
    for last in (None, ps.image.normalize((0.5,) * 3, (0.5,) * 3)):
        chain = ps.image.resize((120, 200)) if last is None else ps.image.resize((120, 200)) | last
        pictures = next(iter(ps.Loader(icons, batch_size=20, fields={"png": chain})))._repr_html_()
        shown = re.findall('<img style="margin:1px" src="data:image/png;base64,([^"]+)">', pictures)
        assert len(shown) == 16
        assert Image.open(io.BytesIO(base64.b64decode(shown[0]))).size == (67, 40)


@pytest.mark.parametrize("keyword", ["persistent_workers", "worker_init_fn", "multiprocessing_context", "in_order"])
def test_a_keyword_that_has_no_like_is_told_to_be_needless(labels, keyword):
    assert "and needs none: " in refusal(ps.Loader, labels, **{keyword: 4})


def test_every_keyword_of_a_data_loader_is_known_or_told():
    torch = pytest.importorskip("torch")
    for keyword in inspect.signature(torch.utils.data.DataLoader).parameters:
        if keyword not in KNOWN:
            assert re.search("here it is|needs none", refusal(ps.Loader, **{keyword: 1}))


def test_another_unknown_keyword_is_told_with_the_closest(labels):
    assert refusal(ps.Loader, labels, batchsize=3) == "penstock.Loader() has no keyword batchsize: is batch_size meant?"
    assert refusal(ps.Loader, labels, xyz=3).endswith("; help(penstock.Loader) lists those it has")
    assert refusal(ps.open, labels, progess=3) == "penstock.open() has no keyword progess: is progress meant?"
    assert "penstock.mixup() has no keyword clases: is classes meant?" == refusal(ps.mixup, clases=3)
    for call in (ps.pack, ps.stage, ps.tune):
        assert "has no keyword num_workers: here it is workers (" in refusal(call, labels, num_workers=3)
    assert "is format meant?" in refusal(ps.pack, labels, labels / "x", formt="tar")
    assert "is labels meant?" in refusal(ps.Writer, labels / "x", format="tar", label="tar")


def test_the_dataset_for_torch_tells_where_it_is_made(labels):
    pytest.importorskip("torch")
    name = "penstock.torch.IterableDataset() has no keyword "
    assert refusal(ps.torch.IterableDataset, labels, num_workers=3).startswith(f"{name}num_workers: here it is workers (")
    assert refusal(ps.torch.IterableDataset, labels, colums=("a",)) == f"{name}colums: is columns meant?"


WRONG_TYPES = {
    "workers": (-1, "a whole number of 0 or more, not -1"),
    "batch_size": ("4", "a whole number of 0 or more, not '4'"),
    "shuffle": (1, "True or False, not 1"),
    "fields": ([3], "a dict of names and chains or None, not [3]"),
    "last": (None, "a str, not None"),
    "subset": (["a"], "a sequence, each entry a whole number of 0 or more or None, not ['a']"),
    "mix": (3, "a penstock.Mix or a sequence, each entry a penstock.Mix, or None, not 3"),
    "timeout": ("x" * 999, f"a number or None, not '{'x' * 56}..."),
}


@pytest.mark.parametrize("keyword", WRONG_TYPES)
def test_a_wrong_type_is_told_with_keyword_expected_type_and_value(labels, keyword):
    value, wanted = WRONG_TYPES[keyword]
    assert refusal(ps.Loader, labels, **{keyword: value}) == f"penstock.Loader(): {keyword} is {wanted}"


def test_other_misuse_is_told_too(labels):
    assert refusal(ps.Loader) == "penstock.Loader() needs source"
    assert refusal(ps.Loader, labels, 32).endswith("was given 2: the others go by keyword")
    assert refusal(ps.Loader, labels, source=labels).startswith("penstock.Loader() was given source twice")
    assert refusal(ps.Loader, labels, batch_size=1 << 40).endswith("batch_size cannot be as large as 1099511627776")
    assert refusal(ps.field, 3) == "penstock.field(): alternatives is a str, not 3"
    assert "penstock.pack(): workers is" in refusal(ps.pack, labels, labels / "x", format="tar", workers="a")
    assert "penstock.stage(): workers is" in refusal(ps.stage, labels, labels / "x", workers="a")


def test_a_type_error_of_the_programs_own_stays_as_it_is(labels):
    class Name:
        def __str__(self):
            raise TypeError("cast(): incompatible function arguments, of its own")

    with pytest.raises(TypeError, match="^cast.*of its own$"):
        ps.Loader(labels, fields={Name(): ps.label()})


def test_a_warning_names_the_line_of_the_program(tmp_path):
    tarfile.open(tmp_path / "a.tar", "w").close()
    with pytest.warns(UserWarning, match="0 samples") as told:
        ps.open(tmp_path / "a.tar")
        with pytest.raises(ps.Error, match="has no fields"):
            ps.Loader(tmp_path / "a.tar")
    assert [each.filename for each in told] == [__file__] * 2


def warnings_of_ranks(labels, environment, options):
    made = "import sys, penstock as ps\nfor _ in range(2): ps.Loader(sys.argv[1], **eval(sys.argv[2]))"
    command = [sys.executable, "-W", "always", "-c", made, str(labels), options]
    clean = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    ran = subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True, check=True)
    return re.findall(r"^.*UserWarning: penstock: (RANK and .*)", ran.stderr, re.M)


def test_a_process_among_several_is_told_once_that_all_of_them_read_everything(labels):
    several = {"RANK": "1", "WORLD_SIZE": "4"}
    told = warnings_of_ranks(labels, several, "{}")
    assert len(told) == 1 and "process 1 of 4" in told[0] and 'rank="env" gives each its share' in told[0]
    for options in ("{'rank': 'env'}", "{'rank': 0, 'world': 1}"):
        assert warnings_of_ranks(labels, several, options) == []
    for alone in ({}, {"RANK": "0", "WORLD_SIZE": "1"}, {"RANK": "1"}, {"RANK": "a", "WORLD_SIZE": "b"}):
        assert warnings_of_ranks(labels, alone, "{}") == []


STORES = {
    "s3://bucket/train": "aws s3 sync",
    "gs://bucket/train.tar": "gcloud storage rsync",
    "https://example.org/{0..9}.tar": "wget or curl",
    "hf://datasets/a/b": "hf download",
    "own+store://a": "the store's own tool",
}


@pytest.mark.parametrize("address", STORES)
def test_an_address_of_a_store_is_told_how_its_files_come_to_a_disk(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tool = STORES[address]
    shortened = [pathlib.Path(address)] if not address.startswith("own") else []  # s3:/bucket/train
    for given in (address, *shortened):
        for use in (ps.open, ps.Loader, lambda place: ps.pack(place, tmp_path / "x", format="tar", progress=False)):
            with pytest.raises(ps.Error, match=f"penstock reads files: copy these to a disk with {tool}") as raised:
                use(given)
            assert raised.value.kind == "unsupported" and raised.value.dataset == str(given)
            assert "\n" not in str(raised.value)
    assert tool in fails("info", address)


def test_nothing_is_written_to_the_address_of_a_store(labels, tmp_path, monkeypatch):
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    for write in (
        lambda to: ps.pack(labels, to, format="tar", progress=False),
        lambda to: ps.pack(labels, to, format="tar", rank=0, world=2, progress=False),
        lambda to: ps.pack(iter([{"cls": 1}]), to, format="tar", progress=False),
        lambda to: ps.stage(labels, to, progress=False),
    ):
        with pytest.raises(ps.Error, match="penstock writes files: write to a disk, and copy them with aws s3 sync"):
            write("s3://bucket/train")
        assert list(place.iterdir()) == []


def test_a_path_that_looks_like_an_address_is_opened(labels, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:" / "bucket").mkdir(parents=True)
    (tmp_path / "s3:" / "bucket" / "a.cls").write_text("1")
    assert len(ps.open("s3://bucket")) == 1
    with pytest.raises(ps.Error, match="give the path alone, without file://"):
        ps.open("file:///data/train")
    with pytest.raises(ps.Error, match="No such file"):
        ps.open("C:/train")


def test_advice_is_given_in_the_words_of_python_too(tmp_path):
    (tmp_path / "x").mkdir()
    source, packed, there = tmp_path / "source", tmp_path / "x" / "set", tmp_path / "x" / "copy"
    source.mkdir()
    (source / "a.cls").write_text("1")
    ps.pack(source, packed, format="tar", rank=0, world=2, progress=False)
    with pytest.raises(ps.Error, match=r"run pack --finish \(ps.finish_pack\)"):
        ps.open(packed)
    with pytest.raises(ps.Error, match=r"--resume \(ps.pack with rank=R, world=2, resume=True\)"):
        ps.finish_pack(packed)
    ps.pack(source, there, format="tar", progress=False)
    with pytest.raises(ps.Error, match=r"was not staged \(overwrite replaces it\)"):
        ps.stage(source, there, progress=False)


def test_means_of_pixels_up_to_255_are_doubted(tmp_path):
    numpy = pytest.importorskip("numpy")
    numpy.save(tmp_path / "a.npy", numpy.zeros((4, 4, 3), numpy.uint8))

    def notes(*numbers):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            stats = ps.Loader(tmp_path, fields={"npy": ps.image.normalize(*numbers)}).stats()
        assert [str(each.message) for each in told] == ([f"penstock: {stats['notes']}"] if stats["notes"] else [])
        return stats["notes"]

    assert notes((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)) == "" == notes((0, 1, 0.5), (1, 1, 1))
    in_255ths = ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375))
    for numbers in (in_255ths, ((0.5, 0.5, 0.5), (255, 255, 255)), ((0, 0, 1.5), (1, 1, 1)), ((0, 0, 0), (1, 2, 1))):
        said = notes(*numbers)
        assert said.startswith("output npy: image.normalize(") and said.endswith("divide them by 255")


@pytest.fixture(name="columns")
def columns_fixture(tmp_path):
    numpy = pytest.importorskip("numpy")
    for i in range(6):
        numpy.save(tmp_path / f"{i}.npy", numpy.arange(12, dtype=numpy.float32).reshape(3, 4) + 100 * i)
        (tmp_path / f"{i}.cls").write_text(str(i))
    loader = ps.Loader(tmp_path, batch_size=6, fields={"npy": ps.array.decode(), "cls": ps.label()})
    return next(iter(loader))


def test_a_tensor_is_indexed_as_arrays_are(columns):
    tensor, labels = columns["npy"], columns["cls"]
    array = tensor.numpy()
    assert array.shape == tensor.shape == (6, 3, 4) and len(tensor) == 6
    for index in (0, 5, -1, -6):
        assert tensor[index].shape == (3, 4) and (tensor[index].numpy() == array[index]).all()
        assert labels[index] == labels.numpy()[index] and type(labels[index]) is int
    for index in (slice(None), slice(2, 4), slice(-3, None), slice(4, 2), slice(3, 99)):
        assert (tensor[index].numpy() == array[index]).all() and tensor[index].shape == array[index].shape
    assert tensor[4][2][3] == 411.0 and tensor[1:3][-1].tolist() == array[2].tolist()
    assert [row.tolist() for row in tensor] == array.tolist() and list(labels) == labels.tolist()
    for index in (6, -7, 1 << 70):
        with pytest.raises(IndexError):
            tensor[index]
    with pytest.raises(ValueError, match="has no step"):
        tensor[::2]
    for index in ("a", 1.0, (0, 1), None):
        with pytest.raises(TypeError, match="is a number or a slice"):
            tensor[index]


def test_what_is_indexed_keeps_its_memory(columns):
    row = columns["npy"][5]
    array = row.numpy()
    wanted = array.tolist()
    columns.clear()
    del row
    gc.collect()
    assert array.tolist() == wanted == [[500.0 + 4 * i + j for j in range(4)] for i in range(3)]


def test_a_tensor_becomes_an_array_a_tensor_of_torch_and_lists(columns):
    torch = pytest.importorskip("torch")
    tensor = columns["npy"]
    assert tensor.torch().tolist() == tensor.tolist() == tensor.numpy().tolist()
    assert tensor.torch().data_ptr() == tensor.numpy().ctypes.data
    assert columns["__valid__"].tolist() == columns["__valid__"].torch().tolist() == [True] * 6
    assert columns["cls"].torch().dtype == torch.int64
    assert torch.as_tensor(columns["cls"]).tolist() == list(range(6))


def test_a_tensor_of_bfloat16_becomes_lists(tmp_path):
    numpy = pytest.importorskip("numpy")
    numpy.save(tmp_path / "a.npy", numpy.array([[1.5, -2.0], [0.0, 3e38]], numpy.float32))
    batch = next(iter(ps.Loader(tmp_path, fields={"npy": ps.array.decode() | ps.array.cast("bfloat16")})))
    values = batch["npy"].tolist()
    assert values[0][0] == [1.5, -2.0] and values[0][1] == [0.0, pytest.approx(3e38, rel=0.01)]
    assert batch["npy"][0][0][1] == -2.0


def test_a_loader_tells_what_it_is_in_a_line(labels):
    loader = ps.Loader(labels, batch_size=4, workers=2)
    assert repr(loader) == f"penstock.Loader({labels}, folder, 10 samples, 3 batches of 4 per epoch, 2 workers)"
    shared = ps.Loader(labels, batch_size=4, workers=1, rank=1, world=2)
    assert repr(shared).endswith("2 batches of 4 per epoch, 1 workers, rank 1 of 2)")
    for _ in loader:
        pass
    shown = loader._repr_html_()
    assert f"<div>{html.escape(repr(loader))}</div>" in shown
    for stage in loader.stats()["stages"]:
        assert f"<td>{stage}</td>" in shown
    assert repr(ps.Loader.__new__(ps.Loader)) == "penstock.Loader(not made)"  # as a debugger shows it where one fails
    loader.close()
    assert repr(loader) == "penstock.Loader(closed)" and loader._repr_html_() == "<div>penstock.Loader(closed)</div>"


def test_the_dataset_for_torch_has_stats(labels):
    pytest.importorskip("torch")
    dataset = ps.torch.IterableDataset(labels, batch_size=5, fields={"cls": ps.label()})
    assert dataset.stats()["batches"] == 0
    for _ in dataset:
        pass
    assert dataset.stats()["samples"] == 10 and isinstance(dataset.stats(), ps.Stats)
    assert str(dataset.stats()) != repr(dataset.stats())


def test_signatures_can_be_asked_for():
    defaults = {name: each.default for name, each in inspect.signature(ps.Loader).parameters.items()}
    assert defaults["batch_size"] == 64 and defaults["on_batch"] is None and defaults["last"] == "keep"
    assert str(inspect.signature(ps.open)) == "(path, *, progress=None)"
    assert str(inspect.signature(ps.mixup)) == "(alpha=1.0, *, classes)"
