"""label() and the default loader: labels as files of text, as members of WebDataset, and as arrays."""

import io
import tarfile

import numpy as np
import penstock as ps
import pytest

INTEGERS = ["cls2", "id", "index", "inx"]


def tar_of(path, members):
    with tarfile.open(path, "w") as archive:
        for name, value in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(value)
            archive.addfile(member, io.BytesIO(value))
    return path


def labels_of(path, field, chain=None):
    with ps.Loader(path, batch_size=8, workers=1, transforms={field: chain} if chain else None) as loader:
        return np.concatenate([np.array(batch[field]) for batch in loader])


@pytest.mark.parametrize("field", ["cls", "txt", *INTEGERS])
def test_a_byte_order_mark_and_line_ends_are_not_part_of_a_label(tmp_path, field):
    path = tar_of(tmp_path / "a.tar", {f"0.{field}": b"\xef\xbb\xbf3\r\n", f"1.{field}": b" -4\n"})
    assert labels_of(path, field, ps.label()).tolist() == [3, -4]
    if field != "txt":
        assert ps.open(path).filter(labels=["3"], label_field=field).keys == ["0"]


@pytest.mark.parametrize("field", INTEGERS)
def test_integers_of_webdataset_are_labels(tmp_path, field):
    path = tar_of(tmp_path / "a.tar", {f"{i}.{field}": str(i * 5).encode() for i in range(4)})
    for chain in (None, ps.label()):
        labels = labels_of(path, field, chain)
        assert labels.dtype == np.int64 and labels.tolist() == [0, 5, 10, 15]


@pytest.mark.parametrize("field", INTEGERS)
def test_texts_of_these_names_stay_bytes_and_label_names_them(tmp_path, field):
    path = tar_of(tmp_path / "a.tar", {f"0.{field}": b"img_001", f"1.{field}": b"7"})
    with ps.Loader(path, batch_size=2) as loader:
        (batch,) = loader
        assert np.array(batch[field][0]).tobytes() == b"img_001"
    with pytest.raises(
        ps.Error, match=f'sample 0: field {field}: .*corrupt: label.. expects an integer, not "img_001"'
    ):
        labels_of(path, field, ps.label())


def test_an_array_of_this_name_is_read_as_an_array(tmp_path):
    file = io.BytesIO()
    np.save(file, np.int32(9))
    path = tar_of(tmp_path / "a.tar", {"0.id": file.getvalue()})
    assert labels_of(path, "id", ps.label()).tolist() == [9]


def test_a_label_beyond_int64_is_an_error_that_names_it(tmp_path):
    np.save(tmp_path / "ids.npy", np.array([5, 2**63 - 1, 2**63 + 7, 2**64 - 1], np.uint64))
    with ps.Loader(tmp_path / "ids.npy", batch_size=2, transforms={"value": ps.label()}) as loader:
        batches = iter(loader)
        assert np.array(next(batches)["value"]).tolist() == [5, 2**63 - 1]
        with pytest.raises(
            ps.Error, match=f"sample 2: field value: .*corrupt: label.. .* fits int64, not {2**63 + 7};"
        ):
            next(batches)
    chain = ps.array.decode("uint64")
    assert labels_of(tmp_path / "ids.npy", "value", chain).tolist() == [5, 2**63 - 1, 2**63 + 7, 2**64 - 1]


def test_other_members_of_webdataset_are_told_where_integers_are_read(tmp_path):
    path = tar_of(tmp_path / "a.tar", {"0.label": b"7"})
    with pytest.raises(ps.Error, match='cannot read the field "label".*fields called cls, cls2, id, index, inx'):
        labels_of(path, "label", ps.label())
