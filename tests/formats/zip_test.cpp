// Tests archives as other programs write them, well-formed and not; records are laid out by hand here.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <libdeflate.h>

#include <formats/extent.hpp>
#include <formats/filters/zstd.hpp>
#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/zip/entries.hpp>
#include <formats/zip/zip.hpp>
#include <penstock/error.hpp>

#include "support/expected_files.hpp"
#include "support/field_bytes.hpp"
#include "support/random_samples.hpp"
#include "support/survive.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::zip_test {
namespace {

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (; bytes > 0; --bytes, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

std::string deflated(const std::string& plain) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  std::string stored(libdeflate_deflate_compress_bound(compressor, plain.size()), '\0');
  stored.resize(libdeflate_deflate_compress(compressor, plain.data(), plain.size(), stored.data(), stored.size()));
  libdeflate_free_compressor(compressor);
  return stored;
}

struct Made {
  std::string name;
  std::string plain;
  unsigned method = 0;  // 0 or 8 compress; any other keeps the bytes
  unsigned flags = 0;
  std::string local_extra = {}, central_extra = {};
  unsigned made_by = 0x0314;
  std::uint32_t attributes = 0100644U << 16;
  std::optional<std::uint64_t> claimed = {};  // plain size
  std::optional<std::string> local_name = {};
  bool descriptor = false;
};

using Entries = std::vector<Made>;

struct Archive {
  explicit Archive(const Entries& entries, const std::string& before = {}, const std::string& behind = {}) {
    std::string central;
    bytes = before;
    for (const Made& made : entries) {
      const std::string data = made.method == 8 ? deflated(made.plain) : made.plain;
      const std::uint32_t crc = libdeflate_crc32(0, made.plain.data(), made.plain.size());
      const std::string sizes =
          number(crc, 4) + number(data.size(), 4) + number(made.claimed.value_or(made.plain.size()), 4);
      const std::string method =
          number(made.flags | (made.descriptor ? 8 : 0), 2) + number(made.method, 2) + number(0, 4);
      const std::string name = made.local_name.value_or(made.name);
      const std::uint64_t offset = bytes.size() - before.size();
      bytes += number(0x04034B50, 4) + number(20, 2) + method + (made.descriptor ? std::string(12, '\0') : sizes) +
               number(name.size(), 2) + number(made.local_extra.size(), 2) + name + made.local_extra + data;
      if (made.descriptor) bytes += number(0x08074B50, 4) + sizes;
      central += number(0x02014B50, 4) + number(made.made_by, 2) + number(20, 2) + method + sizes +
                 number(made.name.size(), 2) + number(made.central_extra.size(), 2) + number(0, 6) +
                 number(made.attributes, 4) + number(offset, 4) + made.name + made.central_extra;
    }
    const std::uint64_t begin = bytes.size() - before.size();
    bytes += central + number(0x06054B50, 4) + number(0, 4) + number(entries.size(), 2) + number(entries.size(), 2) +
             number(central.size(), 4) + number(begin, 4) + number(0, 2) + behind;
    write();
  }

  void write() const { test::write_file(path, bytes); }
  Index index() const { return kZip.index(path, folder.path(), {}); }
  std::optional<Error> failure() const {
    try {
      test::all_fields(index(), folder.path());
    } catch (const Error& error) {
      return error;
    }
    return std::nullopt;
  }

  TemporaryFolder folder;
  std::filesystem::path path = folder / "a.zip";
  std::string bytes;
};

using Strings = std::vector<std::string>;

/// "key.field=content" of every field, in index order.
Strings contents(const Archive& archive) {
  const Index index = archive.index();
  Strings all;
  for (std::uint64_t sample = 0; sample < index.size(); ++sample) {
    for (std::uint32_t field = 0; field < index.fields().size(); ++field) {
      const auto bytes = test::field_bytes(index, archive.folder.path(), sample, field);
      if (bytes) all.push_back(std::string(index.key(sample)) + "." + index.fields()[field].name + "=" + *bytes);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("stored and deflated entries are samples in the order of the directory, joined by key also when apart") {
  const std::string text(5000, 'x');
  const Archive archive(
      Entries{{"b.txt", "1"}, {"a.txt", text, 8}, {"./b.cls", "2"}, {"c.txt", "", 8}, {"d/e.seg.txt", "3"}});
  CHECK(contents(archive) == Strings{"b.cls=2", "b.txt=1", "a.txt=" + text, "c.txt=", "d/e.seg.txt=3"});
  std::vector<Piece> pieces;
  REQUIRE(archive.index().locate(0, 0, pieces));
  CHECK(pieces.at(0).kind == Piece::Kind::extent);
}

TEST_CASE("images in class folders get the number of their folder, empty folders count, notes are left out") {
  const Archive archive(
      Entries{{"dog/", ""}, {"ant/", ""}, {"cat/1.jpg", "1"}, {"dog/2.jpg", "2"}, {"README.md", "x"}});
  CHECK(contents(archive) == Strings{"cat/1.jpg=1", "cat/1.cls=1", "dog/2.jpg=2", "dog/2.cls=2"});
  CHECK(archive.index().attributes().find(R"("classes":["ant","cat","dog"])") != std::string::npos);
}

TEST_CASE("folders, symbolic links, hidden names and what macOS adds belong to no sample") {
  const Archive archive(Entries{{"d/", ""},
                                {"l.txt", "d/a.txt", 0, 0, {}, {}, 0x0314, 0120777U << 16},
                                {".hidden.txt", "x"},
                                {"__MACOSX/._a.txt", "x", 99},
                                {"w\\", ""},
                                {"a.txt", "1", 0, 0, {}, {}, 0x0014, 0x20}});
  CHECK(contents(archive) == Strings{"a.txt=1"});
}

TEST_CASE("backslashes separate folders, except in archives made on Unix, where they can be part of a name") {
  const auto windows = [](const char* name, const char* plain) {
    return Made{name, plain, 0, 0, {}, {}, 0x0014, 0x20};
  };
  const Archive archive(Entries{windows("cat\\1.jpg", "1"), windows("dog\\a\\", ""), windows(".\\dog\\2.jpg", "2"),
                                windows("__MACOSX\\._x.jpg", "x")});
  CHECK(contents(archive) == Strings{"cat/1.jpg=1", "cat/1.cls=0", "dog/2.jpg=2", "dog/2.cls=1"});
  CHECK(contents(Archive(Entries{{"a\\b.txt", "1", 0, 0, {}, {}, 0x0314, 0100644U << 16}})) == Strings{"a\\b.txt=1"});
}

TEST_CASE("an archive without files is an empty dataset, and one of files without extensions an error that names one") {
  for (const Entries& entries : {Entries{}, Entries{{"d/", ""}}, Entries{{".hidden", "x"}}}) {
    const Archive archive(entries);
    CHECK(archive.index().size() == 0);
    CHECK(kZip.find_shards(archive.path).size() == 1);
  }
  CHECK_THROWS_WITH_AS(Archive(Entries{{"b/data", "1"}, {"README", "2"}}).index(), doctest::Contains("README"), Error);
}

TEST_CASE("data descriptors, extra fields, bytes before the archive and a comment behind it change nothing") {
  Made streamed{"a.txt", "streamed", 8, 0, number(0x5455, 2) + number(1, 2) + "x"};
  streamed.descriptor = true;
  const Strings expected{"a.txt=streamed", "b.txt=2"};
  CHECK(contents(Archive(Entries{streamed, {"b.txt", "2"}})) == expected);
  CHECK(contents(Archive(Entries{streamed, {"b.txt", "2"}}, "#!/bin/sh\n")) == expected);
  CHECK(contents(Archive(Entries{streamed, {"b.txt", "2"}}, "", "trailing junk")) == expected);
}

TEST_CASE("names are UTF-8 by flag or extra field, else code page 437") {
  const std::string utf8 = "caf\xC3\xA9.txt", dos = "caf\x82.txt";
  CHECK(contents(Archive(Entries{{utf8, "1", 0, 1U << 11}})) == Strings{utf8 + "=1"});
  CHECK(contents(Archive(Entries{{dos, "1"}})) == Strings{utf8 + "=1"});
  const std::string path = "\xE6\xB0\xB4.txt";
  const std::string field = number(1, 1) + number(libdeflate_crc32(0, dos.data(), dos.size()), 4) + path;
  Made unicode{dos, "1"};
  unicode.central_extra = number(0x7075, 2) + number(field.size(), 2) + field;
  CHECK(contents(Archive(Entries{unicode})) == Strings{path + "=1"});
}

TEST_CASE("zip64 sizes, offsets and end records are read") {
  Made big{"a.txt", "12345"};
  big.central_extra = number(1, 2) + number(24, 2) + number(5, 8) + number(5, 8) + number(0, 8);
  Archive archive(Entries{big});
  const std::size_t central = archive.bytes.find("PK\1\2"), end = archive.bytes.find("PK\5\6");
  archive.bytes.replace(central + 20, 8, 8, '\xFF').replace(central + 42, 4, 4, '\xFF');
  const std::string end64 = number(0x06064B50, 4) + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) +
                            number(1, 8) + number(1, 8) + number(end - central, 8) + number(central, 8);
  const std::string locator = number(0x07064B50, 4) + number(0, 4) + number(end, 8) + number(1, 4);
  archive.bytes.insert(end, end64 + locator);
  archive.bytes.replace(archive.bytes.find("PK\5\6") + 8, 12, 12, '\xFF');
  archive.write();
  CHECK(contents(archive) == Strings{"a.txt=12345"});
  archive.bytes.insert(0, "before");
  archive.write();
  CHECK(contents(archive) == Strings{"a.txt=12345"});
}

TEST_CASE("a zstd entry is undone where zstd is linked, else refused with advice") {
  // "penstock" as `zstd` 1.5.4 writes it, without its checksum
  const std::string frame("\x28\xB5\x2F\xFD\x20\x08\x41\x00\x00penstock", 17);
  Made made{"a.txt", frame, 93};
  made.claimed = 8;
  Archive archive(Entries{made});
  const std::uint32_t crc = libdeflate_crc32(0, "penstock", 8);
  archive.bytes.replace(archive.bytes.find("PK\1\2") + 16, 4, number(crc, 4));
  archive.write();
  if (zstd_is_linked()) {
    CHECK(contents(archive) == Strings{"a.txt=penstock"});
  } else {
    CHECK(archive.failure()->cause().find("libzstd-dev") != std::string::npos);
  }
}

TEST_CASE("encryption, unknown methods and several disks are refused by name") {
  const auto check = [](const Archive& archive, const char* text) {
    const auto error = archive.failure();
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::unsupported);
    CHECK(error->context().shard == "a.zip");
    CHECK(error->context().offset);
    CHECK_MESSAGE(error->cause().find(text) != std::string::npos, std::string(error->what()));
  };
  check(Archive(Entries{{"a.txt", "1"}, {"b.txt", "1", 0, 1}}), "'b.txt' is encrypted");
  check(Archive(Entries{{"b.txt", "1", 12}}), "'b.txt' is compressed by bzip2 (method 12)");
  check(Archive(Entries{{"b.txt", "1", 77}}), "'b.txt' is compressed by method 77");
  Archive disks(Entries{{"a.txt", "1"}});
  disks.bytes[disks.bytes.size() - 18] = 1;
  disks.write();
  check(disks, "several disks");
}

TEST_CASE("sizes that the method cannot make, overlaps, and records that contradict one another are corrupt") {
  const auto check = [](const Archive& archive, const char* text) {
    const auto error = archive.failure();
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::corrupt);
    CHECK_MESSAGE(std::string(error->what()).find(text) != std::string::npos, std::string(error->what()));
  };
  Made bomb{"a.txt", std::string(100, 'x'), 8};
  bomb.claimed = 100'000'000;
  check(Archive(Entries{bomb}), "more than its");
  bomb.claimed = 200;
  check(Archive(Entries{bomb}), "does not hold 200 bytes");
  Made stored{"a.txt", "12345"};
  stored.claimed = 6;
  check(Archive(Entries{stored}), "is stored, but has the sizes 5 and 6 bytes");
  check(Archive(Entries{{.name = "a.txt", .plain = "1", .local_name = "b.txt"}}), "another name");
  check(Archive(Entries{{"a.jpg", "1"}, {"a.jpeg", "2"}, {"a.txt", "3"}}), "a.jpeg and a.jpg");

  Archive twice(Entries{{"a.txt", "1"}, {"b.txt", "2"}});
  const std::size_t second = twice.bytes.find("PK\1\2", twice.bytes.find("PK\1\2") + 1);
  twice.bytes.replace(second + 42, 4, 4, '\0');
  twice.write();
  check(twice, "overlaps");

  Archive flipped(Entries{{"a.txt", std::string(300, 'x') + "end", 8}});
  flipped.bytes[flipped.bytes.find("PK\1\2") + 16] ^= 1;
  flipped.write();
  check(flipped, "CRC-32");
}

TEST_CASE("a file without a directory is corrupt") {
  const TemporaryFolder folder;
  test::write_file(folder / "a.zip", "PK\3\4 and nothing else");
  CHECK_THROWS_WITH_AS(kZip.index(folder / "a.zip", folder.path(), {}), doctest::Contains("a.zip: offset 0"), Error);
}

TEST_CASE("shards are a zip file by name or content, or a folder's zip files unless other data lie there") {
  const Archive made(Entries{{"a.txt", "1"}});
  const TemporaryFolder folder;
  for (const char* name : {"b.zip", "a.zip", "plain", "notes.txt"}) test::write_file(folder / name, made.bytes);
  test::write_file(folder / "text", "PK\3\4 and text");
  using Paths = std::vector<std::filesystem::path>;
  CHECK(kZip.find_shards(folder.path()) == Paths{folder / "a.zip", folder / "b.zip"});
  CHECK(kZip.find_shards(folder / "plain") == Paths{folder / "plain"});
  CHECK(kZip.find_shards(folder / "text").empty());
  CHECK(kZip.find_shards(folder / "absent").empty());
  test::write_file(folder / "photo.jpg", "x");
  CHECK(kZip.find_shards(folder.path()).empty());
}

TEST_CASE("an archive cut anywhere, or with bits flipped, is read or refused, never read outside its bytes") {
  Made streamed{"c.txt", std::string(900, 'y'), 8};
  streamed.descriptor = true;
  const Archive archive(Entries{{"a/1.jpg", "1"}, {"b/2.jpg", std::string(300, 'x'), 8}, streamed});
  test::survive_cuts(kZip, archive.path, archive.bytes, archive.path, archive.folder.path());
  test::survive_flips(kZip, archive.path, archive.bytes, archive.path, archive.folder.path(), 3000);
}

TEST_CASE("what was packed reads back byte for byte, from the writer's index and from the archive alone") {
  const TemporaryFolder folder;
  const auto samples = test::random_samples(40, 9);
  const auto fields = test::random_sample_fields();
  for (const std::uint64_t align : {1U, 512U, 4096U, 32768U}) {
    CAPTURE(align);
    const std::string name = std::to_string(align) + ".zip";
    const auto writer = kZip.write(folder / name, {.fields = fields, .align = align});
    const Index written = test::write_samples(*writer, fields, samples);
    CHECK(writer->bytes() >= std::filesystem::file_size(folder / name));
    const Index scanned = kZip.index(folder / name, folder.path(), {});
    for (const Index* index : {&written, &scanned}) {
      const auto read = test::all_fields(*index, folder.path());
      REQUIRE(read.size() == samples.size());
      for (const auto& sample : samples) CHECK(read.at(sample.key) == sample.fields);
    }
    CHECK(written.crc32c(0, 0) == crc32c(test::bytes_of(samples[0].fields.at("jpg"))));
    CHECK(written.file(0).path == scanned.file(0).path);
    CHECK(written.file(0).size == scanned.file(0).size);
    std::vector<Piece> pieces;
    for (std::uint64_t i = 0; i < written.size(); ++i) {
      REQUIRE(written.locate(i, 0, pieces));
      CHECK(pieces.at(0).extent.offset % align == 0);
    }
  }
  for (const std::uint64_t align : {0U, 3U, 65536U}) {
    CHECK_THROWS_AS(kZip.write(folder / "bad.zip", {.fields = fields, .align = align}), Error);
  }
}

TEST_CASE("more entries than 16 bits count are written and read with zip64 records") {
  const TemporaryFolder folder;
  const std::vector<FieldSchema> fields{{.name = "txt", .codec = "txt"}};
  const auto writer = kZip.write(folder / "many.zip", {.fields = fields, .align = 1});
  constexpr std::uint64_t kMany = 66'000;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    const std::string text = std::to_string(i);
    const FieldValue value{.field = 0, .bytes = test::bytes_of(text), .crc32c = 0, .header = {}};
    writer->add(text, {&value, 1});
  }
  const Index written = writer->finish();
  const Index scanned = kZip.index(folder / "many.zip", folder.path(), {});
  REQUIRE(scanned.size() == kMany);
  CHECK(scanned.key(kMany - 1) == std::to_string(kMany - 1));
  CHECK(scanned.key_hash() == written.key_hash());
  CHECK(test::field_bytes(scanned, folder.path(), 65'999, 0) == "65999");
}

TEST_CASE("a key or field that no entry can be named by is refused, and leaves nothing behind") {
  const TemporaryFolder folder;
  const std::vector<FieldSchema> fields{{.name = "txt", .codec = "txt"}, {.name = "", .codec = ""}};
  const auto writer = kZip.write(folder / "s.zip", {.fields = fields, .align = 1});
  const FieldValue first{.field = 0, .bytes = {}, .crc32c = 0, .header = {}};
  const FieldValue unnamed{.field = 1, .bytes = {}, .crc32c = 0, .header = {}};
  for (const std::string& key : {std::string(), std::string("d/"), std::string("a\0b", 3), std::string(65'532, 'k')}) {
    CHECK_THROWS_AS(writer->add(key, {&first, 1}), Error);
  }
  CHECK_THROWS_AS(writer->add("a", {&unnamed, 1}), Error);
  writer->add("a", {&first, 1});
  CHECK(writer->finish().size() == 1);
  CHECK(kZip.index(folder / "s.zip", folder.path(), {}).size() == 1);
}

TEST_CASE("real and broken archives list as many entries as an independent reader finds, or say where they fail") {
  const auto files = test::expected_files("zip");
  if (files.empty()) return;
  std::size_t read = 0, refused = 0;
  for (const test::ExpectedFile& file : files) {
    CAPTURE(file.name);
    const std::filesystem::path& path = file.path;
    test::reads_or_refuses(kZip, path, path.parent_path());
    try {
      HeaderWindow window(path, path.filename().string());
      for (const ZipEntry& entry : read_zip_entries(window)) CHECK(entry.data + entry.stored <= window.size());
      ++read;
    } catch (const Error& error) {
      CHECK(error.is_data_fault());
      CHECK(error.context().offset);
      ++refused;
      if (file.outcome == "ok") MESSAGE("refused here: ", std::string(error.what()));
    }
  }
  MESSAGE(read, " archives read, ", refused, " refused");
  CHECK(read >= 30);
  CHECK(refused >= 60);
}

}  // namespace penstock::test::zip_test
