#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include <formats/folder/folder.hpp>
#include <formats/folder/folder_names.hpp>
#include <formats/index/index.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::folder_test {

namespace fs = std::filesystem;

namespace {

Index index_of(const fs::path& folder) {
  return kFolder.index(folder, folder, {});
}

std::vector<std::string> keys_of(const Index& index) {
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < index.size(); ++i) keys.emplace_back(index.key(i));
  return keys;
}

std::vector<std::string> fields_of(const Index& index) {
  std::vector<std::string> names;
  for (const FieldSchema& field : index.fields()) names.push_back(field.name);
  return names;
}

std::string value_of(const fs::path& folder, std::string_view key, std::string_view field) {
  const Dataset dataset = penstock::open(folder);
  return text_of(read_field(dataset, dataset.find(key).value(), dataset.field(field).value()));
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("a file name is cut where its extension begins") {
  const auto cut = [](std::string_view path) {
    const FileName name = split_file_name(path);
    return std::string(name.key) + "|" + std::string(name.extension);
  };
  CHECK(cut("cat/0001.jpg") == "cat/0001|jpg");
  CHECK(cut("a.b/0001.seg.png") == "a.b/0001|seg.png");
  CHECK(cut("0001.mask1.png") == "0001|mask1.png");
  CHECK(cut("cat.0.jpg") == "cat.0|jpg");
  CHECK(cut("img.rf.06e2a5f.jpg") == "img.rf.06e2a5f|jpg");
  CHECK(cut("v1.2") == "v1|2");
  CHECK(cut("README") == "README|");
  CHECK(cut("a/.jpg") == "a/.jpg|");
  CHECK(cut("a.") == "a.|");
  CHECK(cut("") == "|");
}

TEST_CASE("class folders give every sample the number of its first-level folder") {
  const TemporaryFolder folder;
  write_file(folder / "dog/2.JPEG", "d2");
  write_file(folder / "cat/10.jpg", "c10");
  write_file(folder / "cat/9.png", "c9");
  write_file(folder / "dog/deep/1.jpg", "d1");
  write_file(folder / "README.md", "not a sample");
  write_file(folder / "labels.csv", "nor this");
  write_file(folder / "cat/.hidden.jpg", "nor this");
  write_file(folder / "cat/Thumbs.db", "nor this");
  write_file(folder / ".git/x.jpg", "nor this");
  fs::create_directories(folder / "bird");

  const Index index = index_of(folder.path());
  CHECK(keys_of(index) == Strings{"cat/10", "cat/9", "dog/2", "dog/deep/1"});
  CHECK(fields_of(index) == Strings{"jpg", "cls", "png"});
  CHECK(value_of(folder.path(), "cat/9", "cls") == "1");
  CHECK(value_of(folder.path(), "dog/deep/1", "cls") == "2");
  CHECK(value_of(folder.path(), "dog/2", "jpg") == "d2");
  const Dataset dataset = penstock::open(folder.path());
  CHECK(Strings(dataset.classes().begin(), dataset.classes().end()) == Strings{"bird", "cat", "dog"});
  CHECK(dataset.complete(*dataset.field("cls")));
  CHECK_FALSE(dataset.complete(*dataset.field("jpg")));
  CHECK(dataset.attributes().find("\"left_out\":3") != std::string_view::npos);
}

TEST_CASE("files that share a stem are one sample, and there are no classes") {
  const TemporaryFolder folder;
  write_file(folder / "a/1.jpg", "j1");
  write_file(folder / "a/1.json", "{}");
  write_file(folder / "a/1.seg.png", "s1");
  write_file(folder / "b/1.jpg", "j2");
  const Index index = index_of(folder.path());
  CHECK(keys_of(index) == Strings{"a/1", "b/1"});
  CHECK(fields_of(index) == Strings{"jpg", "json", "seg.png"});
  CHECK(value_of(folder.path(), "a/1", "seg.png") == "s1");
  CHECK(penstock::open(folder.path()).classes().empty());
}

TEST_CASE("a flat folder of images is samples of one field, also with dots in the names") {
  const TemporaryFolder folder;
  for (const char* name : {"cat.0.jpg", "cat.1.jpg", "dog.0.jpg"}) write_file(folder / name, name);
  write_file(folder / "train.csv", "left out");
  const Index index = index_of(folder.path());
  CHECK(keys_of(index) == Strings{"cat.0", "cat.1", "dog.0"});
  CHECK(fields_of(index) == Strings{"jpg"});
}

TEST_CASE("tables are clouds where there is nothing else, and notes beside photographs") {
  const TemporaryFolder clouds;
  for (const char* name : {"oak/1.csv", "oak/2.csv", "pine/3.CSV"}) write_file(clouds / name, "x,y,z\n1,2,3\n");
  const Index index = index_of(clouds.path());
  CHECK(keys_of(index) == Strings{"oak/1", "oak/2", "pine/3"});
  CHECK(fields_of(index) == Strings{"csv", "cls"});
  CHECK(index.fields()[0].codec == "xyz");
  CHECK(value_of(clouds.path(), "pine/3", "cls") == "1");

  const TemporaryFolder photographs;
  write_file(photographs / "a/1.jpg", "not looked at");
  write_file(photographs / "labels.csv", "key,label\n");
  CHECK(keys_of(index_of(photographs.path())) == Strings{"a/1"});
  CHECK(fields_of(index_of(photographs.path())) == Strings{"jpg", "cls"});
}

TEST_CASE("folders of texts, or with a text beside the images, are not class folders") {
  const TemporaryFolder folder;
  write_file(folder / "pos/1.txt", "good");
  write_file(folder / "neg/1.txt", "bad");
  CHECK(penstock::open(folder.path()).classes().empty());
  const TemporaryFolder mixed;
  write_file(mixed / "a/1.jpg", "");
  write_file(mixed / "a/2.txt", "");
  CHECK(penstock::open(mixed.path()).classes().empty());
  CHECK(keys_of(index_of(mixed.path())) == Strings{"a/1", "a/2"});
}

TEST_CASE("a few files that are no media do not take the labels of class folders away") {
  const TemporaryFolder folder;
  for (const char* name : {"cat/1.jpg", "cat/2.jpg", "dog/1.jpg", "dog/2.png", "dog/deep/3.jpg"})
    write_file(folder / name, name);
  const std::vector<std::string> keys = keys_of(index_of(folder.path()));
  const std::uint64_t stamp = kFolder.stamp(folder.path());
  for (const char* stray : {"cat/README.txt", "dog/labels.csv", "dog/deep/notes.json", "cat/thumbs.DB", "notes.md"}) {
    CAPTURE(stray);
    write_file(folder / stray, "no media");
    const Index index = index_of(folder.path());
    CHECK(keys_of(index) == keys);
    CHECK(fields_of(index) == Strings{"jpg", "cls", "png"});
    CHECK(value_of(folder.path(), "dog/deep/3", "cls") == "1");
    CHECK(std::string(index.attributes()).find("\"left_out\":1") != std::string::npos);
    CHECK(std::string(index.attributes()).find("\"left_out_example\":\"" + std::string(stray)) != std::string::npos);
    CHECK(kFolder.stamp(folder.path()) != stamp);
    fs::remove(folder / stray);
  }
  write_file(folder / "notes.md", "two files");
  write_file(folder / "notes.txt", "of one stem");
  CHECK(keys_of(index_of(folder.path())) == keys);
  CHECK(std::string(index_of(folder.path()).attributes()).find("\"left_out\":2") != std::string::npos);
}

TEST_CASE("what desktops leave behind is no sample, however much of it there is, in whatever case") {
  const TemporaryFolder folder;
  for (const char* name : {"a/1.jpg", "b/2.jpg", "a/Thumbs.db", "b/THUMBS.DB", "a/desktop.ini", "b/ehthumbs.db"})
    write_file(folder / name, name);
  const Index index = index_of(folder.path());
  CHECK(keys_of(index) == Strings{"a/1", "b/2"});
  CHECK(fields_of(index) == Strings{"jpg", "cls"});
}

TEST_CASE("a text beside the image of its stem stays a field, and so does every other text then") {
  const TemporaryFolder folder;
  for (const char* name : {"cat/1.jpg", "cat/1.txt", "cat/2.jpg", "dog/1.jpg", "dog/lost.txt"})
    write_file(folder / name, name);
  CHECK(keys_of(index_of(folder.path())) == Strings{"cat/1", "cat/2", "dog/1", "dog/lost"});
  CHECK(fields_of(index_of(folder.path())) == Strings{"jpg", "txt"});
  CHECK(penstock::open(folder.path()).classes().empty());
}

TEST_CASE("keys are in bytewise order, not in the order of paths") {
  const TemporaryFolder folder;
  for (const char* name : {"a.jpg", "a-b.jpg", "a/x.jpg", "A.jpg", "\xC3\xA4.jpg"}) write_file(folder / name, "");
  CHECK(keys_of(index_of(folder.path())) == Strings{"A", "a", "a-b", "a/x", "\xC3\xA4"});
}

TEST_CASE("two files for one field of a sample are an error that names both") {
  const TemporaryFolder folder;
  write_file(folder / "x/a.JPG", "");
  write_file(folder / "x/a.bmp", "");
  write_file(folder / "x/a.jpeg", "");
  CHECK_THROWS_WITH_AS(index_of(folder.path()), doctest::Contains("x/a.JPG and x/a.jpeg"), Error);
}

TEST_CASE("what the caller's own function throws leaves open() as it is") {
  const TemporaryFolder folder;
  for (int i = 0; i < 4096; ++i) write_file(folder / (std::to_string(i) + ".txt"), "");
  struct Own {};
  const auto stop = [](std::uint64_t, std::uint64_t) { throw Own(); };
  CHECK_THROWS_AS(penstock::open(folder.path(), stop), Own);
}

TEST_CASE("an empty folder, and one without samples, are errors that name it") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(penstock::open(folder.path()), doctest::Contains("empty folder"), Error);
  write_file(folder / "LICENSE", "text");
  CHECK_THROWS_WITH_AS(penstock::open(folder.path()), doctest::Contains(folder.path().c_str()), Error);
  fs::remove(folder / "LICENSE");
  write_file(folder / ".hidden", "text");
  CHECK_THROWS_AS(penstock::open(folder.path()), Error);
}

TEST_CASE("what does not exist is an error that names it") {
  CHECK_THROWS_WITH_AS(penstock::open("/no/such/dataset"), doctest::Contains("/no/such/dataset"), Error);
  const TemporaryFolder folder;
  write_file(folder / "note.txt", "not a dataset");
  CHECK_THROWS_WITH_AS(penstock::open(folder / "note.txt"), doctest::Contains("a known format"), Error);
}

TEST_CASE("symbolic links are followed; one that leads back up, or nowhere, is an error that names it") {
  const TemporaryFolder folder;
  write_file(folder / "data/a/1.jpg", "one");
  write_file(folder / "elsewhere/2.jpg", "two");
  fs::create_directory_symlink(folder / "elsewhere", folder / "data/b");
  fs::create_symlink(folder / "elsewhere/2.jpg", folder / "data/a/3.jpg");
  CHECK(keys_of(index_of(folder / "data")) == Strings{"a/1", "a/3", "b/2"});
  CHECK(value_of(folder / "data", "a/3", "jpg") == "two");

  fs::create_directory_symlink(folder / "data", folder / "data/a/loop");
  CHECK_THROWS_WITH_AS(index_of(folder / "data"), doctest::Contains("a/loop"), Error);
  fs::remove(folder / "data/a/loop");
  fs::create_symlink(folder / "nothing", folder / "data/a/4.jpg");
  CHECK_THROWS_WITH_AS(index_of(folder / "data"), doctest::Contains("a/4.jpg"), Error);
}

TEST_CASE("a folder that cannot be read is an error that names it") {
  const TemporaryFolder folder;
  write_file(folder / "a/1.jpg", "one");
  fs::permissions(folder / "a", fs::perms::none);
  const bool root = ::geteuid() == 0;  // root reads everything: be someone else for a moment
  if (root) REQUIRE(::seteuid(65534) == 0);
  CHECK_THROWS_WITH_AS(index_of(folder.path()), doctest::Contains("/a"), Error);
  CHECK_THROWS_WITH_AS(penstock::open(folder / "a"), doctest::Contains("cannot read"), Error);
  if (root) REQUIRE(::seteuid(0) == 0);
  fs::permissions(folder / "a", fs::perms::owner_all);
}

TEST_CASE("the stamp notices files added, removed, renamed, resized, and new class folders; a copy keeps it") {
  const TemporaryFolder folder;
  write_file(folder / "set/a/1.jpg", "one");
  write_file(folder / "set/b/2.jpg", "two");
  const auto stamp = [&] { return kFolder.stamp(folder / "set"); };
  const std::uint64_t before = stamp();
  fs::copy(folder / "set", folder / "copy", fs::copy_options::recursive);
  CHECK(kFolder.stamp(folder / "copy") == before);

  write_file(folder / "set/b/3.jpg", "three");
  CHECK(stamp() != before);
  fs::remove(folder / "set/b/3.jpg");
  CHECK(stamp() == before);
  fs::rename(folder / "set/b/2.jpg", folder / "set/b/4.jpg");
  CHECK(stamp() != before);
  fs::rename(folder / "set/b/4.jpg", folder / "set/b/2.jpg");
  write_file(folder / "set/b/2.jpg", "twice as long");
  CHECK(stamp() != before);
  write_file(folder / "set/b/2.jpg", "two");
  CHECK(stamp() == before);
  fs::create_directories(folder / "set/c");
  CHECK(stamp() != before);
}

}  // namespace penstock::test::folder_test
