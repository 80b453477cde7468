"""Tests that misuse of the Python package is told in one sentence, and that its objects tell what they are."""

import base64
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
import time
import warnings

import penstock as ps
import pytest
from command import fails
from PIL import Image

KNOWN = list(inspect.signature(ps.Loader).parameters)

# Of PyTorch's DataLoader and of datasets around it, and the option that the sentence has to name.
ELSEWHERE = {
    "batch_sampler": "batching",
    "collate_fn": "batch_transform",
    "columns": "transforms",
    "fields": "transforms",
    "source": "dataset",
    "generator": "seed",
    "num_replicas": "world_size",
    "num_workers": "workers",
    "pin_memory": "device",
    "prefetch_factor": "prefetch",
    "target_transform": "transforms",
    "transform": "transforms",
    "weights": "sampler",
    "bucket_by": "batching",
    "engine": "read_options",
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
    assert refusal(ps.points.center, about="z") == "penstock.points.center() has no keyword about; it has no keywords"
    assert refusal(ps.raw, dtype="uint8") == "penstock.raw() has no keyword dtype; it has no keywords"


@pytest.mark.parametrize("keyword", ELSEWHERE)
def test_a_keyword_of_another_loader_is_told_with_the_option_here(labels, keyword):
    text = refusal(ps.Loader, labels, **{keyword: 4})
    assert text.startswith(f"penstock.Loader() has no keyword {keyword}: use {ELSEWHERE[keyword]} (")
    assert ELSEWHERE[keyword] in KNOWN


def test_a_step_and_its_arguments_are_told_with_the_closest():
    assert refusal(ps.image.resize, siz=3) == "penstock.image.resize() has no keyword siz: did you mean size?"
    assert refusal(ps.image.normalize, sdt=(1,)) == "penstock.image.normalize() has no keyword sdt: did you mean std?"
    assert refusal(ps.label, clases=3) == "penstock.label() has no keyword clases: did you mean num_classes?"
    for steps in (ps.image, ps.array, ps.points):
        for step in (name for name in vars(steps) if name[0] != "_"):
            with pytest.raises(AttributeError, match=f"has no step '{step}x': did you mean {step}"):
                getattr(steps, f"{step}x")
            assert inspect.signature(getattr(steps, step)).return_annotation is inspect.Signature.empty
    for step, here in (("random_flip", "random_horizontal_flip"), ("vertical_flip", "random_vertical_flip")):
        with pytest.raises(AttributeError, match=f"penstock.image has no step '{step}': use {here}$"):
            getattr(ps.image, step)
    assert refusal(ps.image.normalize, mean=(1,), stddev=(1,)).endswith("has no keyword stddev: use std")
    for step in ("rotate", "jitter", "shift", "dropout", "shuffle"):
        with pytest.raises(AttributeError, match=f"penstock.points has no step '{step}': use random_{step}$"):
            getattr(ps.points, step)
    with pytest.raises(AttributeError, match="use drop_nonfinite$"):
        ps.points.finite
    assert refusal(ps.points.sample, 8, few="ragged").endswith("has no keyword few: use if_fewer")
    assert refusal(ps.points.random_dropout, most=0.5).endswith("has no keyword most: use max_ratio")
    assert refusal(ps.image.gaussian_blur, kernel=3).endswith("has no keyword kernel: use kernel_size")
    for call in (ps.label, ps.mixup, ps.cutmix):
        assert refusal(call, classes=3).endswith("has no keyword classes: use num_classes")
    chain = ps.image.resize(3) | ps.image.random_horizontal_flip()
    assert str(pickle.loads(pickle.dumps(chain))) == str(chain)


# Steps as an older pickle holds them, and what they are now.
OLD_STEPS = {
    "image.random_flip(0.5)": "image.random_horizontal_flip(0.5)",
    "key_points()": "keypoints()",
    "points.rotate(free)": "points.random_rotate(free)",
    "points.dropout(most=0.5)": "points.random_dropout(0.5)",
    "points.sample(8, method=fps, few=ragged)": "points.sample(8, method=fps, if_fewer=ragged)",
    "points.finite()": "points.drop_nonfinite()",
    "points.mask()": "points.valid_mask()",
    "array.random_window(3)": "array.random_slice(3)",
    "mask()": "valid_mask()",
    "inside()": "window_valid()",
    "label(classes=3)": "label(3)",
}


@pytest.mark.parametrize("old", OLD_STEPS)
def test_a_pickle_with_an_old_name_of_a_step_is_read(old):
    chain = ps.Chain.__new__(ps.Chain)
    chain.__setstate__(([], None, "", (old,), ""))
    assert str(chain) == OLD_STEPS[old]


def test_a_pickle_with_an_old_name_of_a_mix_is_read():
    mix = ps.Mix.__new__(ps.Mix)
    mix.__setstate__("mixup(0.2, classes=10)")
    assert mix == ps.mixup(0.2, num_classes=10)


def test_the_methods_of_a_loader_refuse_in_one_sentence(labels):
    loader = ps.Loader(labels, transforms={"cls": ps.label()})
    assert refusal(loader.at, 0) == "penstock.Loader.at() needs batch"
    assert refusal(loader.at, 0, "1") == "penstock.Loader.at(): batch must be a whole number of 0 or more, not '1'"
    assert refusal(loader.set_epoch, epok=1) == "penstock.Loader.set_epoch() has no keyword epok: did you mean epoch?"
    assert refusal(ps.Dataset, labels) == "penstock.open(path) opens a dataset"
    assert list(inspect.signature(ps.Loader.at).parameters) == ["self", "epoch", "batch"]


def test_a_batch_tells_what_is_in_it(labels, icons):
    batch = next(
        iter(ps.Loader(labels, batch_size=4, transforms={"cls": ps.label(), "text": ps.field("cls") | ps.raw()}))
    )
    assert isinstance(batch, dict) and type(batch) is ps.Batch and batch == dict(batch)
    assert repr(batch) == (
        "penstock.Batch(cls int64 (4,), text 4 rows of different length, uint8 (4,), __key__ list of 4, "
        "__valid__ bool (4,))"
    )
    assert "<img" not in batch._repr_html_() and "int64 (4,)" in batch._repr_html_()
    for last in (None, ps.image.normalize((0.5,) * 3, (0.5,) * 3)):
        chain = ps.image.resize((120, 200)) if last is None else ps.image.resize((120, 200)) | last
        pictures = next(iter(ps.Loader(icons, batch_size=20, transforms={"png": chain})))._repr_html_()
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
            assert re.search(": use |needs none", refusal(ps.Loader, **{keyword: 1}))


def test_another_unknown_keyword_is_told_with_the_closest(labels):
    assert (
        refusal(ps.Loader, labels, batchsize=3)
        == "penstock.Loader() has no keyword batchsize: did you mean batch_size?"
    )
    assert refusal(ps.Loader, labels, xyz=3).endswith("; help(penstock.Loader) lists its keywords")
    assert refusal(ps.open, labels, progess=3) == "penstock.open() has no keyword progess: did you mean progress?"
    assert "penstock.mixup() has no keyword clases: did you mean num_classes?" == refusal(ps.mixup, clases=3)
    assert refusal(ps.pack, labels, labels / "x", workers=-1).endswith(
        "workers must be a whole number of 0 or more, not -1"
    )
    for call in (ps.pack, ps.stage, ps.tune):
        assert "has no keyword num_workers: use workers (" in refusal(call, labels, num_workers=3)
    assert refusal(ps.tune, labels, consumer="sleep:1").endswith("has no keyword consumer: use train_step")
    assert "has no keyword spool: use temp_dir" in refusal(ps.pack, labels, labels / "x", spool="x")
    assert "did you mean format?" in refusal(ps.pack, labels, labels / "x", formt="tar")
    assert "did you mean labels?" in refusal(ps.Writer, labels / "x", format="tar", label="tar")


def test_the_dataset_for_torch_tells_where_it_is_made(labels):
    pytest.importorskip("torch")
    name = "penstock.torch.Loader() has no keyword "
    assert refusal(ps.torch.Loader, labels, num_workers=3).startswith(f"{name}num_workers: use workers (")
    assert refusal(ps.torch.Loader, labels, as_tupl=("a",)) == f"{name}as_tupl: did you mean as_tuple?"


WRONG_TYPES = {
    "workers": (-1, 'a whole number of 1 or more, "auto" or None, not -1'),
    "prefetch": (-1, "a whole number of 0 or more, not -1"),
    "batch_size": ("4", "a whole number of 0 or more, not '4'"),
    "shuffle": (1, "True, False, ps.shuffle.blocks() or ps.shuffle.window(), not 1"),
    "transforms": ([3], "a dict of names and chains or None, not [3]"),
    "cache": (True, '"encoded", "decoded", a penstock.CacheOptions or None, not True'),
    "last_batch": (None, '"keep", "drop" or "pad", not None'),
    "device": (3, 'a str such as "cuda:0", a torch.device or None, not 3'),
    "read_options": ("pread", "a penstock.ReadOptions or None, not 'pread'"),
    "max_errors": ("x", "a count such as 10, or a share such as 0.05, not 'x'"),
    "mix": (3, "a penstock.Mix or a sequence, each entry a penstock.Mix, or None, not 3"),
    "timeout": ("x" * 999, f"a number or None, not '{'x' * 56}..."),
}


@pytest.mark.parametrize("keyword", WRONG_TYPES)
def test_a_wrong_type_is_told_with_keyword_expected_type_and_value(labels, keyword):
    value, wanted = WRONG_TYPES[keyword]
    assert refusal(ps.Loader, labels, **{keyword: value}) == f"penstock.Loader(): {keyword} must be {wanted}"


def test_other_misuse_is_told_too(labels):
    assert refusal(ps.Loader) == "penstock.Loader() needs dataset"
    assert refusal(ps.Loader, labels, 32).endswith("not 2; pass the others by keyword")
    assert refusal(ps.Loader, labels, dataset=labels).startswith("penstock.Loader() was given dataset twice")
    assert refusal(ps.Loader, labels, batch_size=1 << 40).endswith("batch_size cannot be as large as 1099511627776")
    assert refusal(ps.field, 3) == "penstock.field(): alternatives must be a str, not 3"
    assert "penstock.pack(): workers must be" in refusal(ps.pack, labels, labels / "x", format="tar", workers="a")
    assert "penstock.stage(): workers must be" in refusal(ps.stage, labels, labels / "x", workers="a")


def test_a_type_error_of_the_programs_own_stays_as_it_is(labels):
    class Name:
        def __str__(self):
            raise TypeError("cast(): incompatible function arguments, of its own")

    with pytest.raises(TypeError, match="^cast.*of its own$"):
        ps.Loader(labels, transforms={Name(): ps.label()})


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
    assert len(told) == 1 and "process 1 of 4" in told[0] and 'rank="env" to give each process its share' in told[0]
    for options in ("{'rank': 'env'}", "{'rank': 0, 'world_size': 1}"):
        assert warnings_of_ranks(labels, several, options) == []
    for alone in ({}, {"RANK": "0", "WORLD_SIZE": "1"}, {"RANK": "1"}, {"RANK": "a", "WORLD_SIZE": "b"}):
        assert warnings_of_ranks(labels, alone, "{}") == []


STORES = {
    "hdfs://bucket/train": "hdfs dfs -get",
    "ftp://example.org/{0..9}.tar": "wget or curl",
    "hf://datasets/a/b": "hf download",
    "own+store://a": "the store's own tool",
}


@pytest.mark.parametrize("address", STORES)
def test_an_address_of_a_store_is_told_how_its_files_come_to_a_disk(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tool = STORES[address]
    shortened = [pathlib.Path(address)] if not address.startswith("own") else []  # hf:/datasets/a/b
    for given in (address, *shortened):
        for use in (ps.open, ps.Loader, lambda place: ps.pack(place, tmp_path / "x", format="tar", progress=False)):
            with pytest.raises(ps.Error, match=f"web servers: copy the data to a disk with {tool}") as raised:
                use(given)
            assert raised.value.kind == "unsupported" and raised.value.dataset == str(given)
            assert "\n" not in str(raised.value)
    assert tool in fails("info", address)


def test_nothing_is_written_to_an_address_that_is_no_store(labels, tmp_path, monkeypatch):
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    for write in (
        lambda to: ps.pack(labels, to, format="tar", progress=False),
        lambda to: ps.pack(labels, to, format="tar", rank=0, world=2, progress=False),
        lambda to: ps.pack(iter([{"cls": 1}]), to, format="tar", progress=False),
        lambda to: ps.stage(labels, to, progress=False),
    ):
        with pytest.raises(ps.Error, match="penstock writes files: write to a disk, and copy them with hf upload"):
            write("hf://datasets/train")
        assert list(place.iterdir()) == []


def test_a_path_that_looks_like_an_address_is_opened(labels, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:" / "bucket").mkdir(parents=True)
    (tmp_path / "s3:" / "bucket" / "a.cls").write_text("1")
    assert len(ps.open("s3://bucket")) == 1
    with pytest.raises(ps.Error, match="pass the path without file://"):
        ps.open("file:///data/train")
    with pytest.raises(ps.Error, match="No such file"):
        ps.open("C:/train")


def test_a_path_with_a_tilde_is_told_that_shells_alone_know_it():
    with pytest.raises(ps.Error, match="does not exist: only shells expand ~, so pass the full path"):
        ps.open("~/photos")


def test_advice_is_given_in_the_words_of_python_too(tmp_path):
    (tmp_path / "x").mkdir()
    source, packed, there = tmp_path / "source", tmp_path / "x" / "set", tmp_path / "x" / "copy"
    source.mkdir()
    (source / "a.cls").write_text("1")
    ps.pack(source, packed, format="tar", rank=0, world=2, progress=False)
    with pytest.raises(ps.Error, match=r"run pack-join \(ps.finish_pack\)"):
        ps.open(packed)
    with pytest.raises(ps.Error, match=r"--resume \(ps.pack with rank=R, world=2, resume=True\)"):
        ps.finish_pack(packed)
    ps.pack(source, there, format="tar", progress=False)
    with pytest.raises(ps.Error, match=r"was not staged; pass --overwrite \(overwrite=True\) to replace it"):
        ps.stage(source, there, progress=False)


def test_means_of_pixels_up_to_255_are_doubted(tmp_path):
    numpy = pytest.importorskip("numpy")
    numpy.save(tmp_path / "a.npy", numpy.zeros((4, 4, 3), numpy.uint8))

    def notes(*numbers):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            stats = ps.Loader(tmp_path, transforms={"npy": ps.image.normalize(*numbers)}).stats()
        assert [str(each.message) for each in told] == ([f"penstock: {stats['notes']}"] if stats["notes"] else [])
        return stats["notes"]

    assert notes((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)) == "" == notes((0, 1, 0.5), (1, 1, 1))
    in_255ths = ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375))
    for numbers in (in_255ths, ((0.5, 0.5, 0.5), (255, 255, 255)), ((0, 0, 1.5), (1, 1, 1)), ((0, 0, 0), (1, 2, 1))):
        said = notes(*numbers)
        assert said.startswith("output npy: image.normalize(") and said.endswith("divide them by 255")


def test_a_notebook_shows_a_loader_as_idle_whose_loop_is_slow(labels):
    with ps.Loader(labels, batch_size=5, workers=1) as loader:
        for _ in loader:
            time.sleep(0.2)
        shown, stats = loader._repr_html_(), loader.stats()
    shares = re.findall(r"<tr><td>(\w+)</td>.*?worked: ([\d.]+) s.*?<td>(\d+)% of the time worked", shown)
    assert [stage for stage, _, _ in shares] == list(stats["stages"])
    for stage, worked, share in shares:
        whole = stats["stages"][stage]["threads"] * stats["wall_s"]
        assert abs(int(share) / 100 - float(worked) / whole) < 0.02, (stage, worked, share, whole)


def test_a_loader_tells_what_it_is_in_a_line(labels):
    loader = ps.Loader(labels, batch_size=4, workers=2)
    assert repr(loader) == f"penstock.Loader({labels}, folder, 10 samples, 3 batches of 4 per epoch, 2 workers)"
    shared = ps.Loader(labels, batch_size=4, workers=1, rank=1, world_size=2)
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
    dataset = ps.torch.Loader(labels, batch_size=5, transforms={"cls": ps.label()})
    assert dataset.stats()["batches"] == 0
    for _ in dataset:
        pass
    assert dataset.stats()["samples"] == 10 and isinstance(dataset.stats(), ps.Stats)
    assert str(dataset.stats()) != repr(dataset.stats())


def test_signatures_can_be_asked_for():
    defaults = {name: each.default for name, each in inspect.signature(ps.Loader).parameters.items()}
    assert defaults["batch_size"] == 64 and defaults["batch_transform"] is None and defaults["last_batch"] == "keep"
    assert (
        str(inspect.signature(ps.open))
        == "(path, *, progress=None, format=None, split=None, split_names=True, key=None, classes=None, rows=None, "
        "path_column=None, label_column=None, root=None, missing_files=None)"
    )
    assert str(inspect.signature(ps.mixup)) == "(alpha=1.0, *, num_classes)"


def test_dtypes_of_numpy_and_torch_are_taken_by_steps(labels):
    numpy = pytest.importorskip("numpy")
    for dtype in (numpy.float32, numpy.dtype("float32"), numpy.dtype(">f4"), "float32"):
        assert repr(ps.array.decode(dtype)) == repr(ps.array.decode(dtype=dtype)) == "array.decode(float32)"
    assert repr(ps.array.cast(bool)) == repr(ps.array.cast(numpy.bool_)) == "cast(bool)"
    for dtype, sizes in ((float, '"float32" or "float64"'), (int, '"int32" or "int64"')):
        said = f"penstock.array.cast(): dtype {dtype.__name__} does not name its size; pass {sizes}"
        assert refusal(ps.array.cast, dtype) == refusal(ps.array.cast, dtype=dtype) == said
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert repr(ps.array.cast(ml_dtypes.bfloat16)) == "cast(bfloat16)"
    with pytest.raises(ps.Error, match='unknown dtype "float"; expected uint8, int8, .*, float32, float64 or bool$'):
        ps.array.cast("float")
    with pytest.raises(ps.Error, match='unknown dtype "complex64"; expected '):
        ps.array.cast(numpy.complex64)


def test_dtypes_of_torch_and_its_tensors_are_taken_by_steps(labels):
    torch = pytest.importorskip("torch")
    assert repr(ps.array.cast(torch.float32)) == "cast(float32)" and repr(ps.array.cast(torch.half)) == "cast(float16)"
    assert repr(ps.array.cast(torch.bfloat16)) == "cast(bfloat16)" and repr(ps.array.cast(torch.bool)) == "cast(bool)"
    wanted = repr(ps.image.normalize((0.5, 0.25, 0.5), (1, 2, 4)))
    assert repr(ps.image.normalize(torch.tensor([0.5, 0.25, 0.5]), torch.tensor([1, 2, 4]))) == wanted
    chain = ps.label() | ps.transform(lambda row: row, dtype=torch.float64)
    sample = ps.sample_transform(lambda cls: {"cls": cls}, ["cls"], dtypes={"cls": torch.int32})
    assert next(iter(ps.Loader(labels, transforms={"cls": chain})))["cls"].dtype == "float64"
    assert (
        next(iter(ps.Loader(labels, transforms={"cls": ps.label()}, sample_transform=sample)))["cls"].dtype == "int32"
    )


def test_dtypes_of_jax_are_taken_by_steps():
    numbers = pytest.importorskip("jax.numpy")
    assert repr(ps.array.cast(numbers.bfloat16)) == "cast(bfloat16)"


def test_what_is_no_argument_of_a_step_is_told_with_step_and_parameter():
    assert refusal(ps.image.resize, {3}) == "penstock.image.resize(): size cannot be {3}"
    assert refusal(ps.image.resize, size=(3, None)) == "penstock.image.resize(): size cannot be (3, None)"
    assert (
        refusal(ps.image.resize, 3, "area", object) == "penstock.image.resize(): argument 3 cannot be <class 'object'>"
    )
    assert refusal(ps.image.decode, print).endswith("; ps.transform(function) turns a function into a step")


def same(row):
    return row


NO_STEPS = {
    "function": (same, "ps.transform(function) turns a function into a step"),
    "uncalled": (ps.image.resize, "a step must be a call, ps.image.resize(...)"),
    "uncalled label": (ps.label, "a step must be a call, ps.label(...)"),
    "uncalled transform": (ps.transform, "a step must be a call, ps.transform(...)"),
    "list": (
        [ps.image.decode(), ps.image.resize(3)],
        "join steps with |, as in ps.image.decode() | ps.image.resize(256)",
    ),
    "tuple": ((ps.image.decode(),), "join steps with |, as in ps.image.decode() | ps.image.resize(256)"),
    "text": ("image.resize(3)", "a step must be a call such as ps.image.resize(256), not its text"),
    "mix": (ps.mixup(num_classes=3), "ps.mixup() and ps.cutmix() are for Loader(mix=...)"),
    "sample": (
        ps.sample_transform(lambda jpg: jpg, ["jpg"]),
        "ps.sample_transform() is for Loader(sample_transform=...)",
    ),
    "module": (ps.image, "a step must be a call such as ps.image.resize(256)"),
    "number": (3, "a step must be a call such as ps.image.resize(256)"),
}


@pytest.mark.parametrize("kind", NO_STEPS)
def test_what_is_no_step_is_told_with_what_to_write(labels, kind):
    value, told = NO_STEPS[kind]
    for chain in (ps.image.decode(), ps.transform(same), ps.image.decode() | ps.transform(same)):
        for join in (lambda chain: chain | value, lambda chain: value | chain):
            text = refusal(join, chain)
            assert text.endswith(f": {told}") and " | " in text
    with pytest.raises(ps.Error) as raised:
        ps.Loader(labels, transforms={"cls": value})
    assert str(raised.value).endswith(f'transforms["cls"] is not a chain such as image.decode() or label(): {told}')


def test_nothing_is_no_step_of_a_chain(labels):
    assert refusal(lambda: ps.image.decode() | None).startswith("image.decode() | None: a step must be a call")
    assert len(ps.Loader(labels, transforms={"cls": None})) == 1


@pytest.mark.parametrize("step", [ps.valid_mask(), ps.lengths(), ps.boxes(), ps.keypoints()], ids=str)
def test_a_step_that_only_follows_says_so_whatever_its_outputs_name(labels, step):
    with pytest.raises(ps.Error, match=re.escape(f'output "m" = {step}: {step} must come after follow("OUTPUT")')):
        ps.Loader(labels, transforms={"cls": ps.label(), "m": step})


def numbers_of(labels, subset):
    return [
        key
        for batch in ps.Loader(labels, sampler=ps.sampler.subset(subset), transforms={"cls": ps.label()})
        for key in batch["__key__"]
    ]


def test_a_subset_is_an_array_of_any_library(labels):
    numpy, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    for subset in (
        [1, 4],
        (1, 4),
        range(1, 5, 3),
        numpy.array([1, 4]),
        numpy.array([1, 4], numpy.uint8),
        torch.tensor([1, 4]),
    ):
        assert numbers_of(labels, subset) == ["1", "4"]
    for subset in (
        numpy.zeros((2, 2), int),
        torch.zeros(2, 2),
        numpy.zeros(2),
        numpy.array(3),
        {1, 2},
        slice(2),
        [0.5],
    ):
        assert "indices must be a list or an array of sample numbers" in refusal(ps.sampler.subset, subset)


def test_a_mask_is_no_subset_and_is_told_how_it_becomes_one(labels):
    numpy, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    mask = numpy.arange(10) < 3
    for subset in (mask, torch.tensor(mask), mask.tolist(), tuple(mask.tolist()), [0, True]):
        assert refusal(ps.sampler.subset, subset).endswith("not a mask; numpy.flatnonzero(mask) returns the numbers")
    assert numbers_of(labels, numpy.flatnonzero(mask)) == ["0", "1", "2"]


def test_an_array_in_place_of_a_number_is_refused_in_words(labels):
    numpy = pytest.importorskip("numpy")
    assert "seed must be a whole number of 0 or more, not array([1, 2])" in refusal(
        ps.Loader, labels, seed=numpy.array([1, 2])
    )


def test_several_paths_are_told_to_be_a_folder_or_a_pattern(labels):
    told = 'give the folder of the files, or a pattern that names them, such as "train-{000..127}.tar"'
    for call in (ps.open, ps.Loader):
        for paths in ([labels, labels], (str(labels),)):
            text = refusal(call, paths)
            assert text.startswith("expected a path or a penstock.Dataset, not a value of type ") and text.endswith(
                told
            )
        assert refusal(call, 3) == "expected a path or a penstock.Dataset, not a value of type int"


def test_names_of_other_libraries_are_told_with_those_here():
    for name, told in (("DataLoader", "ps.Loader"), ("ImageFolder", "ps.torch.ImageFolder"), ("WebDataset", "ps.open")):
        with pytest.raises(AttributeError, match=f"module 'penstock' has no attribute '{name}': use {told}"):
            getattr(ps, name)
    with pytest.raises(AttributeError, match="^module 'penstock' has no attribute 'nothing'$"):
        ps.nothing
    pytest.importorskip("torch")
    with pytest.raises(AttributeError, match="'penstock.torch' has no attribute 'DataLoader': .*ps.torch.Loader"):
        ps.torch.DataLoader


def test_a_rank_and_an_output_that_are_not_there_are_told_with_those_that_are(labels):
    with pytest.raises(ps.Error, match="rank 2 must be less than world_size, which is 2: ranks begin at 0"):
        ps.Loader(labels, rank=2, world_size=2)
    fields = {"cls": ps.label(), "twice": ps.field("cls") | ps.follow("image")}
    with pytest.raises(ps.Error, match=r'follow\("image"\): unknown output; expected one of "cls", "twice"'):
        ps.Loader(labels, transforms=fields)


def test_tar_is_what_is_packed_unless_told(tmp_path):
    labels = tmp_path / "labels"
    labels.mkdir()
    (labels / "a.cls").write_text("1")
    told = [tmp_path / "told", tmp_path / "default", tmp_path / "written"]
    ps.pack(labels, told[0], format="tar", progress=False)
    ps.pack(labels, told[1], progress=False)
    with ps.Writer(told[2], progress=False) as writer:
        for sample in ps.open(labels):
            writer.add(sample.key, {"cls": sample["cls"]})
    assert [ps.open(each).format for each in told] == ["tar"] * 3
    shards = [(each / "shard-000000.tar").read_bytes() for each in told]
    assert shards[0] == shards[1] == shards[2]
