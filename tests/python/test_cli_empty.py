"""Datasets of which nothing can be loaded: every command says so."""

import io
import json
import os
import pathlib
import tarfile
import zipfile

import pytest
from command import fails, run
from records import message, write_records

FOUND = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", "")) / "found"


def tar_of(path, names):
    with tarfile.open(path, "w") as tar:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 4
            tar.addfile(member, io.BytesIO(b"abcd"))
    return path


def refused_everywhere(path, why):
    for words in [["info"], ["ls"], ["verify"], ["bench"], ["tune"]]:
        assert why in fails(*words, path), words
    assert why in fails("pack", path, path.parent / "packed", "--format", "tar")
    assert not (path.parent / "packed").exists()


def said_everywhere(path, why):
    """Opening is no error, but each command says it, and nothing can be packed."""
    for words in [["info"], ["ls"], ["verify"]]:
        told = run(*words, path).stderr.decode()
        assert told == f"penstock: warning: {path}: {why}\n", words
    result = run("bench", path, check=False)
    assert result.returncode != 0 and why in result.stderr.decode()
    assert why in fails("pack", path, path.parent / "packed", "--format", "tar")
    assert not (path.parent / "packed").exists()


def test_a_tar_whose_members_have_no_extension_is_refused_by_their_names(tmp_path):
    path = tar_of(tmp_path / "a.tar", ["one", "folder/two", ".hidden.jpg", "a\nb", "five"])
    refused_everywhere(path, "none of the archive's 5 members is a file with an extension")
    assert "one, folder/two, .hidden.jpg, ..." in fails("info", path)
    run("info", tar_of(tmp_path / "b.tar", ["one", "0.txt"]))
    lines = tar_of(tmp_path / "c.tar", ["a\nb"])
    assert "a\\x0ab" in fails("info", lines)


def test_a_zip_or_folder_whose_files_have_no_extension_is_refused_by_a_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("folder/two", "READ\nME", ".hidden.jpg"):
            archive.writestr(name, "abcd")
    refused_everywhere(tmp_path / "a.zip", "none of its files has an extension, which would name a field, for example")
    assert "READ\\x0aME" in fails("info", tmp_path / "a.zip")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/README").write_text("x")
    refused_everywhere(tmp_path / "folder", "which would name a field, for example README")


def test_a_zip_without_files_is_an_empty_dataset_and_said_so(tmp_path):
    for name in ("a.zip", "a"):
        with zipfile.ZipFile(tmp_path / name, "w"):
            pass
        said_everywhere(tmp_path / name, "0 samples: its zip files hold no files")
    with zipfile.ZipFile(tmp_path / "folder.zip", "w") as archive:
        archive.writestr("folder/", "")
    said_everywhere(tmp_path / "folder.zip", "0 samples: its zip files hold no files")


def test_members_that_belong_to_no_sample_are_counted_over_all_shards_and_the_first_is_named(tmp_path):
    folder = tmp_path / "tars"
    folder.mkdir()
    tar_of(folder / "a.tar", ["0.txt", "LICENSE", ".hidden", "READ\nME"])
    tar_of(folder / "b.tar", ["1.txt", "NOTES"])
    said = "files: 3 that are not fields of a sample, such as LICENSE"
    assert said in run("info", folder).stdout.decode()
    packed = run("pack", folder, tmp_path / "packed", "--format", "tar")
    assert f"penstock: left out {said}\n" in packed.stderr.decode()
    assert "left out" not in run("info", tmp_path / "packed").stdout.decode()


def test_a_tar_without_members_is_an_empty_dataset_and_said_so(tmp_path):
    path = tmp_path / "a.tar"
    for content in [bytes(512), bytes(1024), bytes(10240), bytes(512) + b"\n" * 512]:
        path.write_bytes(content)
        said_everywhere(path, "0 samples: its tar files hold no members")


def test_a_single_block_of_zeros_ends_a_tar_unless_members_follow(tmp_path):
    whole = tar_of(tmp_path / "a.tar", ["0.txt", "1.txt"]).read_bytes()
    path = tmp_path / "b.tar"
    path.write_bytes(whole[:1024] + bytes(512) + b"padding\n" * 64)
    assert run("ls", path).stdout == b"0.txt\n"
    path.write_bytes(whole[:1024] + bytes(512) + whole[1024:])
    assert "a lone block of zeros between members" in fails("ls", path)


def test_records_of_another_message_are_values_as_they_are(tmp_path):
    entry = message(1, b"\x0a\x03abc")  # the form of a named feature, but nothing in it
    elwc = message(1, message(1, entry)) + message(1, message(1, entry))
    path = write_records(tmp_path / "a.tfrecord", elwc, elwc)
    assert run("ls", path).stdout.decode().splitlines() == [f"a/0000000{i}.value" for i in range(2)]
    assert run("cat", path, "a/00000001.value").stdout == elwc
    run("pack", path, tmp_path / "packed", "--format", "tar")
    run("verify", tmp_path / "packed", "--against", path)


def test_an_mds_index_without_shards_is_refused(tmp_path):
    (tmp_path / "mds").mkdir()
    (tmp_path / "mds" / "index.json").write_text(json.dumps({"shards": [], "version": 2}))
    refused_everywhere(tmp_path / "mds", "index.json lists no shards")


@pytest.mark.skipif(not FOUND.is_dir(), reason="no found files in PENSTOCK_TEST_DATA")
def test_real_files(tmp_path):
    for file in (FOUND / "tfrecord").rglob("*.tfrecord"):
        run("pack", file, tmp_path / file.stem, "--format", "tar")
        assert len(run("ls", tmp_path / file.stem).stdout.splitlines()) == 30
    for file in (FOUND / "tar").rglob("*.tar"):
        if file.name == "simple.tar":
            assert "none of the archive's 3 members" in fails("info", file)
        else:
            assert run("ls", file).stdout == b"commons-logging-1.2/NOTICE.txt\n"
