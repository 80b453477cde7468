"""What a dataset lacks is told with its cause: the file that takes labels away, the field or the key to ask for."""

import tarfile
import zipfile

import numpy as np
import penstock as ps
import pytest
from command import run
from PIL import Image


def picture(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8)).save(path, {".jpg": "JPEG", ".JPEG": "JPEG"}.get(path.suffix))


@pytest.fixture(name="classes")
def classes_fixture(tmp_path):
    for name in ("cat", "dog"):
        for i in range(3):
            picture(tmp_path / "photos" / name / f"{i}.jpg")
    return tmp_path / "photos"


def refused(source, **fields):
    with pytest.raises(ps.Error) as caught:
        next(iter(ps.Loader(source, batch_size=2, transforms=fields)))
    return str(caught.value)


@pytest.mark.parametrize(
    "name, told",
    [
        ("loose.png", '"loose.png" is not in a class folder'),
        ("dog/1.JPEG", '"dog/1.JPEG" and "dog/1.jpg" differ only in their extensions'),
        ("dog/2.png", '"dog/2.jpg" and "dog/2.png" differ only in their extensions'),
        ("cat/0.txt", '"cat/0.jpg" and "cat/0.txt" differ only in their extensions'),
    ],
)
def test_the_file_that_takes_the_labels_away_is_named(classes, tmp_path, name, told):
    assert "cls" in ps.open(classes)[0]
    assert "no classes" not in run("info", classes).stdout.decode()
    if name == "dog/1.JPEG":  # "jpg" twice in a sample would be another error
        (classes / "dog/1.jpg").rename(classes / "dog/1.png")
        told = told.replace("1.jpg", "1.png")
    picture(classes / name) if not name.endswith("txt") else (classes / name).write_text("a cat")
    text = refused(classes, cls=ps.label())
    assert 'the dataset has no field "cls"' in text and "no labels: " + told in text and "\n" not in text
    assert told in run("info", classes).stdout.decode()
    packed = run("pack", classes, tmp_path / "a.tar.d", "--format", "tar")
    assert "no classes: " + told in packed.stderr.decode()
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for path in sorted(classes.rglob("*.*")):
            archive.write(path, path.relative_to(classes))
    if name != "dog/1.JPEG":  # an archive's index knows the field alone
        assert "no labels: " + told in refused(tmp_path / "a.zip", cls=ps.label())


def test_samples_that_were_never_in_classes_are_told_only_when_labels_are_asked_for(tmp_path):
    for i in range(3):
        picture(tmp_path / f"{i}.jpg")
        (tmp_path / f"{i}.json").write_text("[]")
    assert "no classes" not in run("info", tmp_path).stdout.decode()
    assert '"0.jpg" and "0.json" differ only in their extensions' in refused(tmp_path, cls=ps.label())
    assert 'field("NAME") | ... reads a field of another name' in refused(tmp_path, image=ps.image.decode())


def test_a_tar_of_class_folders_tells_how_its_folders_become_labels(classes, tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(classes, ".")
    assert "folders inside a tar are not labels: unpack it" in refused(tmp_path / "a.tar", cls=ps.label())


def test_images_of_two_kinds_are_told_the_field_that_reads_either(classes, tmp_path):
    (classes / "dog/1.jpg").unlink()
    picture(classes / "dog/1.png")
    assert 'it has "png"; use field("jpg|png") to read either' in refused(classes, jpg=ps.image.decode())
    batch = next(iter(ps.Loader(classes, batch_size=6, transforms={"image": ps.field("jpg|png") | ps.image.decode()})))
    assert len(batch["image"]) == 6
    for i in range(3):  # masks are no other kind of photograph
        picture(tmp_path / "masks" / f"{i}.jpg")
        picture(tmp_path / "masks" / f"{i}.png")
    (tmp_path / "masks/2.jpg").unlink()
    text = refused(tmp_path / "masks", jpg=ps.image.decode())
    assert 'missing="exclude"' in text and "read either" not in text


def test_fields_of_samples_apart_are_told_with_a_key_of_each(tmp_path):
    for i in range(3):
        picture(tmp_path / f"{i:03}.jpg")
        picture(tmp_path / f"{i:03}_mask.png")
    fields = {"jpg": ps.image.decode(), "png": ps.image.decode()}
    with pytest.raises(ps.Error) as caught:
        ps.Loader(tmp_path, batch_size=2, missing="exclude", transforms=fields)
    assert (
        'no sample has all requested fields: jpg is a field of "000", png is a field of "000_mask"; fields of the same'
        in str(caught.value)
    )


def test_images_that_are_not_read_are_told_with_what_to_do(tmp_path):
    for i in range(2):
        Image.new("RGB", (8, 8)).save(tmp_path / f"{i}.tif")
    text = refused(tmp_path, tif=ps.image.decode())
    assert "is a TIFF image" in text and "Pillow and ps.Writer" in text
    (tmp_path / "arrays").mkdir()
    np.save(tmp_path / "arrays/a.npy", np.zeros((3, 8, 8), np.uint8))
    text = refused(tmp_path / "arrays", npy=ps.image.decode())
    assert "uint8 array (3, 8, 8), not an image" in text and "its channels seem to come first" in text


def test_boxes_of_coco_are_bad_data(tmp_path):
    for i in range(4):
        picture(tmp_path / f"{i}.jpg")
        (tmp_path / f"{i}.boxes.json").write_text("[[1, 1, 4, 5]]" if i != 2 else "[[0, 0, 2, 2], [5, 4, 3, 3]]")
    fields = {"jpg": ps.image.decode(), "boxes.json": ps.follow("jpg") | ps.boxes()}
    with pytest.raises(ps.Error, match=r"item 1 is \[5, 4, 3, 3\], not a box.*x, y, width, height") as caught:
        list(ps.Loader(tmp_path, batch_size=4, transforms=fields))
    assert (caught.value.key, caught.value.field) == ("2", "boxes.json")
    for policy in ("replace", "mark"):
        batch = next(iter(ps.Loader(tmp_path, batch_size=4, on_error=policy, max_errors=1.0, transforms=fields)))
        assert len(batch["__key__"]) == 4 and not (np.asarray(batch["boxes.json"].values) == 3).any()


def test_info_calls_only_values_unreadable_that_the_loader_cannot_deliver(tmp_path):
    for i in range(2):
        (tmp_path / f"{i}.json").write_text('{"seen": [1, 2]}')
        (tmp_path / f"{i}.xml").write_text("<a></a>")
        (tmp_path / f"{i}.png").write_bytes(b"no picture")
        np.save(tmp_path / f"{i}.npy", np.zeros(2, np.complex64))
    told = run("info", tmp_path).stdout.decode()
    fields = dict(part.split("\n", 1) for part in told.split("  field ")[1:])
    assert [name for name, lines in fields.items() if "unreadable 2 of the probed values" in lines] == ["npy", "png"]
    (batch,) = ps.Loader(tmp_path, batch_size=2, transforms={"json": ps.field("json"), "xml": ps.field("xml")})
    assert bytes(batch["xml"][1]) == b"<a></a>" and bytes(batch["json"][0]) == b'{"seen": [1, 2]}'
