"""How a path is read: each decision follows from the names, is visible, and has an option that overrides it."""

import io
import json
import pickle
import tarfile
import zipfile

import h5py
import numpy as np
import penstock as ps
import pytest
from command import fails, run
from PIL import Image


def picture(seed=0):
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (24, 32, 3), np.uint8)).save(file, "JPEG")
    return file.getvalue()


PICTURE = picture()


def put(path, data=PICTURE):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def files(folder, *names):
    for name in names:
        put(folder / name)
    return folder


def tar(path, *names):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name in names or ("1.jpg", "2.jpg"):
            member = tarfile.TarInfo(name)
            member.size = len(PICTURE)
            archive.addfile(member, io.BytesIO(PICTURE))
    return path


def h5(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file["features"] = np.zeros((7, 3))
    return path


def zipped(path, *names):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names or ("a/1.jpg",):
            archive.writestr(name, PICTURE)
    return path


def refusal(path, **options):
    with pytest.raises(ps.Error) as caught:
        ps.open(path, **options)
    assert caught.value.kind == "invalid_argument"
    return str(caught.value)


def labels(path, **options):
    fields = {"jpg": ps.image.resize((8, 8)), "cls": ps.label()}
    with ps.Loader(ps.open(path, **options), batch_size=4, workers=1, transforms=fields) as loader:
        return [int(label) for batch in loader for label in np.asarray(batch["cls"])]


# ---- penstock's own files -------------------------------------------------------------------------------------------


def test_opening_an_archive_among_class_folders_changes_nothing(tmp_path):
    pets = files(tmp_path / "pets", "cat/1.jpg", "dog/1.jpg", "dog/2.jpg", "dog/3.jpg")
    keys = ["cat/1", "dog/1", "dog/2", "dog/3"]
    zipped(pets / "original.zip")
    tar(pets / "cat" / "old.tar")
    h5(pets / "dog" / "features.h5")

    def seen():
        data = ps.open(pets)
        return data.classes, data.keys

    assert seen() == (["cat", "dog"], keys)
    for archive in ("original.zip", "cat/old.tar", "dog/features.h5"):
        ps.open(pets / archive)
        assert (pets / (archive + ".penstock-idx")).exists()
        assert seen() == (["cat", "dog"], keys)


def test_own_files_are_no_samples_in_folders_archives_and_patterns(tmp_path):
    photos = files(tmp_path / "photos", "a/1.jpg", "b/2.jpg")
    run("pack", photos, photos / "packed.d")
    run("pack", photos, photos / "a" / "packed.tar.d", "--format", "zip")
    put(photos / "b" / "half.d.partial" / "unfinished.jsonl", "{}")
    put(photos / "b" / "half.d.partial" / "shard-000000.tar", "bytes")
    for name in ("a/1.jpg.penstock-idx", "a/x.tar.penstock-idx.lock", "b/penstock.json.penstock-idx"):
        put(photos / name, "bytes")
    data = ps.open(photos)
    assert (data.classes, data.keys) == (["a", "b"], ["a/1", "b/2"])
    assert {field.name for field in data.fields} == {"jpg", "cls"}
    archive = zipped(tmp_path / "x.zip", "a/1.jpg", "b/2.jpg", "a/y.tar.penstock-idx", "penstock.json")
    assert (ps.open(archive).classes, ps.open(archive).keys) == (["a", "b"], ["a/1", "b/2"])
    assert ps.open(tar(tmp_path / "x.tar", "a/1.jpg", "a/1.jpg.penstock-idx")).keys == ["a/1"]
    shards = tar(tmp_path / "shards" / "a-0.tar").parent
    ps.open(shards)
    put(shards / "a-0.tar.penstock-idx.lock", "")
    put(shards / "penstock.partial.jsonl", "")
    assert len(ps.open(str(shards / "*"))) == 2
    assert len(ps.open(shards)) == 2


def test_a_folder_of_packed_datasets_names_one(tmp_path):
    photos = files(tmp_path / "photos", "a/1.jpg", "b/2.jpg")
    run("pack", photos, tmp_path / "top" / "one.d")
    run("pack", photos, tmp_path / "top" / "two.d")
    assert "one.d" in refusal(tmp_path / "top")


# ---- Shards and loose files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shard", [tar, h5])
def test_one_stray_shard_does_not_decide_what_a_folder_is(tmp_path, shard):
    name, own = ("notes.tar", "tar") if shard is tar else ("features.h5", "hdf5")
    for number, photos in enumerate(
        [("cat/1.jpg", "dog/1.jpg"), ("1.jpg", "2.jpg"), ("x/y/1.png", "x/y/2.png"), ("cat/1.jpg", "dog/2.png")]
    ):
        top = files(tmp_path / str(number), *photos)
        shard(top / name)
        message = refusal(top)
        for word in (name, photos[0], f'format="{own}"', 'format="folder"', "--source-format"):
            assert word in message
        assert len(ps.open(top, format="folder")) == 2
        assert ps.open(top, format=own).format == own
    assert ps.open(tmp_path / "0", format="folder").classes == ["cat", "dog"]
    assert ps.open(tmp_path / "0", format="folder").classes == ["cat", "dog"]  # nothing kept changes the answer
    assert "two" not in refusal(tmp_path / "0")


def test_arrays_and_sounds_beside_a_shard_are_samples_too(tmp_path):
    for extension in ("npy", "wav", "las", "bin"):
        top = tmp_path / extension
        for number in range(2):
            put(top / f"{number}.{extension}", b"bytes")
        tar(top / "stray.tar")
        assert 'format="tar"' in refusal(top)


def test_notes_beside_shards_stay_fine(tmp_path):
    top = tar(tmp_path / "train-000.tar").parent
    tar(top / "train-001.tar")
    for name in (
        "README.md",
        "LICENSE",
        "a.json",
        "b.json",
        "x.txt",
        "labels.csv",
        "x.parquet",
        "last.pth",
        "best.pth",
    ):
        put(top / name, "text")
    put(top / "meta" / "1.json", "{}")
    put(top / "mean.npy", "one array is no set of samples")
    files(top, "train-000.jpg", "train-001.jpg")  # each describes the shard of its stem
    assert ps.open(top).format == "tar" and len(ps.open(top)) == 4


def test_shards_of_two_formats_are_refused(tmp_path):
    tar(tmp_path / "a.tar")
    h5(tmp_path / "b.h5")
    message = refusal(tmp_path)
    for word in ("a.tar", "b.h5", 'format="tar"', 'format="hdf5"'):
        assert word in message
    assert len(ps.open(tmp_path, format="tar")) == 2
    assert len(ps.open(tmp_path, format="hdf5")) == 7
    assert "expected one of tar" in refusal(tmp_path, format="webdataset")
    assert "no lmdb shards" in refusal(tmp_path, format="lmdb")


def test_tables_name_the_source_that_reads_them(tmp_path):
    put(tmp_path / "x.parquet", b"PAR1")
    put(tmp_path / "x.csv", "a,b\n1,2\n")
    put(tmp_path / "many" / "data" / "0.parquet", b"PAR1")
    put(tmp_path / "flat" / "0.parquet", b"PAR1")
    put(tmp_path / "flat" / "1.parquet", b"PAR1")
    for path in (tmp_path / "x.parquet", tmp_path / "many", tmp_path / "flat"):
        assert "ps.sources.parquet" in refusal(path)
    assert "pass path_column=" in refusal(tmp_path / "x.csv") and "a, b" in refusal(tmp_path / "x.csv")


# ---- Splits and shards in sub-folders --------------------------------------------------------------------------------


def packed(path):
    photos = files(path.parent / ".photos", "a/1.jpg", "b/2.jpg")
    run("pack", photos, path)


@pytest.mark.parametrize("ending", ["x.tar", "x.h5", "x.zip", "photos", "packed", "x.tfrecord", "x.parquet"])
def test_splits_are_not_opened_together(tmp_path, ending):
    make = {"x.tar": tar, "x.h5": h5, "x.zip": zipped, "photos": lambda path: files(path, "cat/1.jpg", "dog/2.jpg")}
    for split in ("train", "val"):
        place = tmp_path / "top" / split
        if ending == "packed":
            packed(place)
        else:
            make.get(ending, put)(place / ending)
    put(tmp_path / "top" / "README.md", "text")
    put(tmp_path / "top" / "labels.csv", "text")
    message = refusal(tmp_path / "top")
    assert 'split="train"' in message and 'split="val"' in message and "--split" in message
    assert "--split" in fails("info", tmp_path / "top", code=1)
    if ending in ("x.tar", "x.h5", "x.zip", "packed"):
        one, same = ps.open(tmp_path / "top", split="train"), ps.open(tmp_path / "top" / "train")
        assert (one.keys, one.path, one.format) == (same.keys, same.path, same.format)
        assert run("ls", tmp_path / "top", "--split", "training").stdout == run("ls", tmp_path / "top" / "train").stdout


def test_splits_do_not_become_classes_unless_they_are_told_to(tmp_path):
    top = files(tmp_path / "top", "train/cat/1.jpg", "train/dog/2.jpg", "val/cat/3.jpg")
    assert ps.open(top, split="train").classes == ["cat", "dog"]
    assert labels(top, split="train") == [0, 1]
    everything = ps.open(top, split_names=False)
    assert everything.classes == ["train", "val"] and len(everything) == 3
    refusal(top)  # the index of split_names=False was not kept
    files(tmp_path / "alone", "train/cat/1.jpg")
    assert 'split="train"' in refusal(tmp_path / "alone")


@pytest.mark.parametrize("names", [("TRAIN", "Val"), ("training", "validation", "testing"), ("dev", "eval"), ("test",)])
def test_names_of_splits_in_any_case(tmp_path, names):
    refusal(files(tmp_path / "top", *[f"{name}/{i}.jpg" for name in names for i in range(2)]))


def test_a_split_is_found_by_its_name_then_by_its_kind(tmp_path):
    top = files(tmp_path / "top", "train/a/1.jpg", "validation/a/2.jpg", "dev/a/3.jpg", "testing/a/4.jpg")
    assert ps.open(top, split="dev").keys == ["a/3"]
    assert ps.open(top, split="training").keys == ["a/1"]
    assert ps.open(top, split="test").keys == ["a/4"]
    message = refusal(top, split="val")
    assert "dev" in message and "validation" in message
    message = refusal(top, split="holdout")
    assert all(name in message for name in ("train", "validation", "dev", "testing"))
    assert "split" in refusal(tar(tmp_path / "x.tar"), split="train")
    with_others = files(tmp_path / "others", "train/a/1.jpg", "extra/2.jpg")
    assert ps.open(with_others, split="train").keys == ["a/1"]
    assert ps.open(with_others).classes == ["extra", "train"]


@pytest.mark.parametrize("make, ending", [(tar, ".tar"), (h5, ".h5"), (zipped, ".zip")])
def test_shards_named_like_splits_are_not_opened_together(tmp_path, make, ending):
    for name in ("train", "test"):
        make(tmp_path / "top" / (name + ending))
    assert 'split="train"' in refusal(tmp_path / "top")
    assert ps.open(tmp_path / "top", split="training").path == tmp_path / "top" / ("train" + ending)
    assert len(ps.open(tmp_path / "top", split_names=False)) == 2 * len(ps.open(tmp_path / "top", split="test"))
    alone = make(tmp_path / "alone" / ("train" + ending)).parent
    make(alone / ("extra" + ending))
    ps.open(alone)


@pytest.mark.parametrize(
    "train, test",
    [
        (["train-000.tar", "train-001.tar"], ["val-000.tar"]),
        (["train-00000-of-00002.tar", "train-00001-of-00002.tar"], ["validation-00000-of-00001.tar"]),
        (["mnist_train_0.tar", "mnist_train_1.tar"], ["mnist_test_0.tar"]),
        (["train2017.tar"], ["val2017.tar"]),
        (["x.TRAIN.tar", "y.train.tar"], ["x.Test.tar"]),
    ],
)
def test_numbered_shards_of_splits_are_not_opened_together(tmp_path, train, test):
    for name in train + test:
        tar(tmp_path / name, *[f"{name.replace('.', '-')}-{i}.jpg" for i in range(3)])
    message = refusal(tmp_path)
    assert message.count("split=") >= 2 and "split_names=False" in message
    assert len(ps.open(tmp_path, split_names=False)) == 3 * len(train + test)
    opened = ps.open(tmp_path, split="train" if train[0] != "train2017.tar" else "train2017")
    assert len(opened) == 3 * len(train) and all("train" in key.lower() for key in opened.keys)
    again = pickle.loads(pickle.dumps(opened))
    assert again.keys == opened.keys
    only = tmp_path / "only"
    only.mkdir()
    for name in train:
        (tmp_path / name).rename(only / name)
    assert len(ps.open(only)) == 3 * len(train)


def test_folders_of_splits_with_a_year(tmp_path):
    assert "split" in refusal(files(tmp_path / "coco", "train2017/1.jpg", "val2017/2.jpg"))
    assert ps.open(files(tmp_path / "other", "train20/1.jpg", "val20/2.jpg")).classes == ["train20", "val20"]


def test_splits_below_other_folders_are_as_before(tmp_path):
    yolo = files(tmp_path / "yolo", "images/train/1.jpg", "images/val/2.jpg")
    put(yolo / "labels" / "train" / "1.txt", "0 1 1 1 1")
    put(yolo / "labels" / "val" / "2.txt", "0 1 1 1 1")
    assert len(ps.open(yolo)) == 4


def test_an_archive_of_splits(tmp_path):
    both = zipped(tmp_path / "both.zip", "train/cat/1.jpg", "train/dog/2.jpg", "val/cat/3.jpg")
    assert 'split="train"' in refusal(both)
    one = ps.open(both, split="val")
    assert (one.keys, one.classes) == (["cat/3"], ["cat"])
    assert ps.open(both, split="train").keys == ["cat/1", "dog/2"]
    assert pickle.loads(pickle.dumps(one)).keys == ["cat/3"]
    assert ps.open(both, split_names=False).classes == ["train", "val"]
    captions = zipped(tmp_path / "train.zip", "train/1.jpg", "train/1.txt")
    assert ps.open(captions).keys == ["train/1"]
    assert "train" in refusal(zipped(tmp_path / "single.zip", "train/1.jpg", "train/2.jpg"))


@pytest.mark.parametrize(
    "make, name", [(tar, "x.tar"), (h5, "x.h5"), (put, "x.tfrecord"), (put, "x.tfrecord-00000-of-00002")]
)
def test_shards_in_sub_folders_give_a_pattern(tmp_path, make, name):
    top = tmp_path / "top"
    for folder in ("000", "001"):
        make(top / folder / name)
    put(top / "README.md", "text")
    message = refusal(top)
    assert str(top / "*" / "*.") in message and 'format="folder"' in message
    assert ps.open(top, format="folder").keys[:2] == ["000/x", "001/x"]
    assert "archives" in fails("pack", top, tmp_path / "out")
    if name in ("x.tar", "x.h5"):
        assert len(ps.open(str(top / "*" / f"*.{name.split('.')[1]}"))) == (4 if make is tar else 14)


def test_archives_that_are_values_of_samples_stay(tmp_path):
    classes = tmp_path / "classes"
    for name in ("a/1.npz", "b/2.npz"):
        put(classes / name, b"PK")
    assert ps.open(classes).classes == ["a", "b"]
    zips = tmp_path / "zips"
    for name in ("a/1.zip", "b/2.zip"):
        put(zips / name, b"PK")
    assert ps.open(zips).keys == ["a/1", "b/2"]
    counts = files(tmp_path / "counts", "images/1.jpg", "images/2.jpg")
    h5(counts / "images" / "1.h5")
    h5(counts / "images" / "2.h5")
    assert {field.name for field in ps.open(counts).fields} == {"jpg", "h5"}


# ---- Dots in names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        ("001.jpg", "John.Smith.jpg", "John.Doe.jpg"),
        ("001.jpg", "IMG.edited.jpg"),
        ("001.jpg", "002.jpeg.jpg"),
        ("001.jpg", "001.jpeg"),
        ("001.jpg", "John.Smith.jpg", "John.Doe.jpg", "Jane.Doe.jpg", "a.b.c.jpg"),
        ("x.v2.final.jpg", "y.jpg", "img.rf.06e2a5f.jpg"),
    ],
)
@pytest.mark.parametrize("archive", [False, True])
def test_each_photograph_in_class_folders_is_a_sample_with_a_label(tmp_path, names, archive):
    top = files(tmp_path / "top", *[f"{kind}/{name}" for kind in ("cat", "dog") for name in names])
    if archive:
        top = zipped(tmp_path / "top.zip", *[f"{kind}/{name}" for kind in ("cat", "dog") for name in names])
    assert labels(top) == [0] * len(names) + [1] * len(names)


def test_photographs_with_captions_share_the_longest_stem(tmp_path):
    colours = [a + b for a in ("red", "blue", "green", "grey") for b in ("ish", "er", "est", "ly", "ness")]
    for colour in colours:
        put(tmp_path / "im" / f"shoot.{colour}.jpg")
        put(tmp_path / "im" / f"shoot.{colour}.txt", colour)
    data = ps.open(tmp_path / "im")
    assert len(data) == len(colours) and sorted(data[0].keys()) == ["jpg", "txt"]
    assert "keys end at the last dot" in repr(data)
    assert [sample["txt"].decode() for sample in map(data.__getitem__, range(len(data)))] == sorted(colours)


def test_words_that_are_fields_stay_fields(tmp_path):
    masks = files(tmp_path / "masks", *[f"{i:04}{end}" for i in range(3) for end in (".jpg", ".seg.png")])
    assert ps.open(masks).keys == ["0000", "0001", "0002"]
    assert {field.name for field in ps.open(masks).fields} == {"jpg", "seg.png"}
    assert "words between dots belong to fields" in repr(ps.open(masks))
    alone = files(tmp_path / "alone", "a.seg.png", "b.seg.png")
    assert ps.open(alone).keys == ["a", "b"]
    stereo = files(tmp_path / "stereo", *[f"s/{i}.{side}.png" for i in range(3) for side in ("left", "right")])
    assert {field.name for field in ps.open(stereo).fields} == {"left.png", "right.png"}


def test_names_with_two_readings_name_the_option(tmp_path):
    top = files(tmp_path / "top", "x.left.png", "x.right.png", "y.left.png")
    message = refusal(top)
    for word in ("x.left.png", "x.right.png", 'key="first_dot"', 'key="last_dot"', "--source-key"):
        assert word in message
    assert ps.open(top, key="first_dot").keys == ["x", "y"]
    assert ps.open(top, key="last_dot").keys == ["x.left", "x.right", "y.left"]
    assert ps.open(top, key="first_dot").keys == ["x", "y"]
    refusal(top)
    assert "last_dot" in refusal(top, key="second_dot")
    archive = zipped(tmp_path / "x.zip", "x.left.png", "x.right.png", "y.left.png")
    refusal(archive)
    assert ps.open(archive, key="last_dot").keys == ["x.left", "x.right", "y.left"]
    assert ps.open(archive, key="first_dot").keys == ["x", "y"]


def test_edited_photographs_in_class_folders_do_not_take_labels_away(tmp_path):
    names = [f"{kind}/{i}{word}.jpg" for kind in ("cat", "dog") for i in range(2) for word in ("", ".edited")]
    top = files(tmp_path / "top", *names)
    message = refusal(top)
    assert 'key="first_dot"' in message and 'key="last_dot"' in message
    assert labels(top, key="last_dot") == [0] * 4 + [1] * 4
    assert sorted(field.name for field in ps.open(top, key="first_dot").fields) == ["edited.jpg", "jpg"]
    masks = files(tmp_path / "masks", *[name.replace(".edited.jpg", ".seg.png") for name in names])
    assert sorted(field.name for field in ps.open(masks).fields) == ["jpg", "seg.png"]


def test_two_files_of_one_kind_and_stem_keep_their_full_names(tmp_path):
    top = files(tmp_path / "top", "c/001.jpg", "c/001.jpeg", "d/001.JPG")
    data = ps.open(top)
    assert (data.keys, data.classes) == (["c/001.jpeg", "c/001.jpg", "d/001"], ["c", "d"])
    put(top / "c" / "001.txt", "whose caption?")
    with pytest.raises(ps.Error, match="two files are the same field"):
        ps.open(top)


def test_labels_kept_apart_find_names_with_dots(tmp_path):
    top = files(tmp_path / "top", "1.jpg", "John.Smith.jpg", "John.Doe.jpg")
    put(tmp_path / "labels.csv", "name,label\n1.jpg,a\nJohn.Smith.jpg,b\nJohn.Doe.jpg,a\n")
    run("pack", top, tmp_path / "out.d", "--labels", tmp_path / "labels.csv")
    data = ps.open(tmp_path / "out.d")
    assert {data.key: data["cls"] for data in map(data.__getitem__, range(3))} == {
        "1": b"0",
        "John.Doe": b"0",
        "John.Smith": b"1",
    }


# ---- Options and what is visible -------------------------------------------------------------------------------------


def test_options_survive_pickling_views_packing_and_staging(tmp_path):
    top = files(tmp_path / "top", "cat/1.jpg", "dog/John.Smith.jpg", "dog/John.Doe.jpg")
    tar(top / "stray.tar")
    data = ps.open(top, format="folder", key="last_dot")
    again = pickle.loads(pickle.dumps(data))
    assert (again.keys, again.classes) == (data.keys, data.classes)
    view = pickle.loads(pickle.dumps(data.take(2)))
    assert view.keys == data.keys[:2]
    both = pickle.loads(pickle.dumps(ps.concat([data, ps.open(top, format="tar")])))
    assert both.keys == [*data.keys, "1", "2"]
    ps.pack(data, tmp_path / "packed.d")
    assert ps.open(tmp_path / "packed.d").classes == ["cat", "dog"]
    ps.stage(data, tmp_path / "copy")
    assert ps.open(tmp_path / "copy", format="folder", key="last_dot").keys == data.keys
    (tmp_path / "view.record").write_bytes(data.take(2).__getstate__())
    assert len(run("inspect", tmp_path / "view.record", "--batch-size", "2").stdout) > 0
    assert "options" in fails("inspect", tmp_path / "view.record", "--source-format", "tar", code=2)


def test_records_without_options_are_as_before(tmp_path):
    data = ps.open(files(tmp_path / "top", "cat/1.jpg", "dog/2.jpg"))
    assert data.__getstate__().startswith(b"penstock dataset\n\x01")
    assert ps.open(tmp_path / "top", format="folder").__getstate__().startswith(b"penstock dataset\n\x02")


def test_a_mixture_file_holds_the_options_of_its_sources(tmp_path):
    top = files(tmp_path / "top", "cat/1.jpg", "dog/2.jpg")
    tar(top / "stray.tar")
    mixture = {"sources": {"a": {"path": "top", "format": "folder"}, "b": {"path": "top", "format": "tar"}}}
    put(tmp_path / "mix.json", json.dumps(mixture))
    assert len(ps.mixture(tmp_path / "mix.json").dataset) == 4
    put(tmp_path / "bad.json", json.dumps({"sources": {"a": {"path": "top", "frmat": "folder"}}}))
    with pytest.raises(ps.Error, match="frmat"):
        ps.mixture(tmp_path / "bad.json")


def test_wrong_options_are_named(tmp_path):
    top = files(tmp_path / "top", "cat/1.jpg", "dog/2.jpg")
    with pytest.raises(TypeError, match="frmat"):
        ps.open(top, frmat="tar")
    with pytest.raises(TypeError, match="split_names"):
        ps.open(top, split_names="no")
    with pytest.raises(TypeError, match="format"):
        ps.open(ps.open(top), format="tar")
    assert ps.open(top, format=None, split=None, key=None).keys == ["cat/1", "dog/2"]
    run("pack", top, tmp_path / "packed.d")
    assert "packed as tar" in refusal(tmp_path / "packed.d", format="lmdb")
    assert ps.open(tmp_path / "packed.d", format="tar").packed


def test_commands_take_the_options(tmp_path):
    top = files(tmp_path / "top", "cat/1.jpg", "dog/2.jpg")
    tar(top / "stray.tar", "x.jpg")
    folder = ("--source-format", "folder")
    assert run("ls", top, *folder).stdout.decode().split() == ["cat/1.jpg", "cat/1.cls", "dog/2.jpg", "dog/2.cls"]
    assert run("cat", top, "x.jpg", "--source-format", "tar").stdout == PICTURE
    assert json.loads(run("info", top, *folder, "--json").stdout)["classes"] == ["cat", "dog"]
    run("verify", top, *folder)
    run("pack", top, tmp_path / "out.d", *folder, "--format", "zip")
    assert ps.open(tmp_path / "out.d").classes == ["cat", "dog"]
    run("stage", top, tmp_path / "copy", *folder)
    run("inspect", top, *folder, "--batch-size", "2")
    run("tune", top, *folder, "--seconds", "0.05", "--batch-size", "2")
    run("bench", top, *folder, "--seconds", "0.05", "--batch-size", "2", "--no-efficiency")
    fails("ls", top, "--split-names", "perhaps", code=2)


def test_info_and_repr_say_how_the_path_was_read(tmp_path):
    top = files(tmp_path / "top", "cat/1.jpg", "dog/John.Smith.jpg")
    put(top / "README.md", "text")
    line = (
        "folder of files: class folders, 2 classes, keys end at the last dot; "
        "left out: 1 that are not fields of a sample, such as README.md"
    )
    assert line in repr(ps.open(top))
    assert f"read as      {line}" in run("info", top).stdout.decode()
    assert json.loads(run("info", top, "--json").stdout)["layout"] == line
    shards = tar(tmp_path / "shards" / "a.tar").parent
    tar(shards / "b.tar")
    assert "tar, 2 shards" in repr(ps.open(shards))
    assert 'format="tar"' in repr(ps.open(shards, format="tar"))
