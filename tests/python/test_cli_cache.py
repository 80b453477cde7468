"""penstock cache: folders that are none, and what warms nothing."""

from command import fails, run


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
    for verb in ["ls", "clear"]:
        assert b"no cache at" in run("cache", verb, "--dir", tmp_path / "none").stdout
    assert not (tmp_path / "none").exists()


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("text")
    for verb in ["ls", "clear"]:
        assert "contains other files" in fails("cache", verb, "--dir", tmp_path, code=2)
    assert (tmp_path / "thesis.tex").read_text() == "text"
    (tmp_path / "link").symlink_to(tmp_path)
    assert "link" in fails("cache", "ls", "--dir", tmp_path / "link", code=2)


def test_wrong_usage_is_2():
    fails("cache", code=2)
    fails("cache", "fly", code=2)
    fails("cache", "warm", code=2)


def test_a_local_dataset_warms_nothing(icons, tmp_path):
    cache = tmp_path / "cache"
    assert "is not in a store" in fails("cache", "warm", icons, "--dir", cache, "--limit", "64MiB", code=2)
    assert b" of 64.0 MiB" in run("cache", "ls", "--dir", cache).stdout
    assert oct(cache.stat().st_mode)[-3:] == "700"
