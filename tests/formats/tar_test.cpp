// Tests archives as other programs write them, well-formed and not; headers are laid out by hand here.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/tar/header.hpp>
#include <formats/tar/members.hpp>
#include <formats/tar/pax.hpp>
#include <formats/tar/tar.hpp>
#include <penstock/error.hpp>

#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::tar_test {
namespace {

std::string with_checksum(std::string block) {
  block.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  std::string digits(7, '0');
  for (std::size_t i = 6; i-- > 0; sum >>= 3) digits[i] = static_cast<char>('0' + (sum & 7));
  digits[6] = '\0';
  return block.replace(148, 7, digits);
}

std::string padded(std::string data) {
  data.resize(tar_padded(data.size()));
  return data;
}

std::string member(const std::string& name, const std::string& data, char type = '0') {
  return write_tar_header(name, type, data.size()) + padded(data);
}

std::string hard_link(const std::string& name, const std::string& target) {
  std::string block = write_tar_header(name, '1', 0);
  return with_checksum(block.replace(157, target.size(), target));
}

const std::string kEnd(1024, '\0');

struct Archive {
  explicit Archive(const std::string& bytes) { test::write_file(path, bytes); }
  Index index() const { return kTar.index(path, folder.path(), {}); }

  TemporaryFolder folder;
  std::filesystem::path path = folder / "a.tar";
};

/// "key.field=content" of every field, in index order.
std::vector<std::string> contents(const std::filesystem::path& path, const Index& index) {
  const std::string bytes = test::read_file(path);
  std::vector<std::string> all;
  std::vector<Piece> pieces;
  for (std::uint64_t sample = 0; sample < index.size(); ++sample) {
    for (std::uint32_t field = 0; field < index.fields().size(); ++field) {
      if (!index.locate(sample, field, pieces)) continue;
      REQUIRE(pieces.size() == 1);
      REQUIRE(pieces[0].extent.length <= bytes.size());
      REQUIRE(pieces[0].extent.offset <= bytes.size() - pieces[0].extent.length);
      all.push_back(std::string(index.key(sample)) + "." + index.fields()[field].name + "=" +
                    bytes.substr(pieces[0].extent.offset, pieces[0].extent.length));
    }
  }
  return all;
}

std::vector<std::string> contents(const std::string& bytes) {
  const Archive archive(bytes);
  return contents(archive.path, archive.index());
}

std::optional<Error> failure(const std::string& bytes) {
  try {
    Archive(bytes).index();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("adjacent members of one key are one sample, and the extension names the field") {
  const std::string bytes =
      member("./a/b.x.JPEG", "1") + member("./a/b.cls", "2") + member("c.d/e.seg.png", "3") + kEnd;
  CHECK(contents(bytes) == Strings{"a/b.x.jpg=1", "a/b.cls=2", "c.d/e.seg.png=3"});
  const Archive archive(bytes);
  CHECK(archive.index().file(0).path == "a.tar");
  CHECK(archive.index().file(0).size == bytes.size());
}

TEST_CASE("directories, symbolic links, devices and names without key or extension belong to no sample") {
  const std::string bytes = member("d/", "", '5') + member("s.jpg", "", '2') + member("v.jpg", "", '3') +
                            member("old/", "", '\0') + member("d/.hidden.jpg", "x") + member("README", "x") +
                            member("empty.", "x") + member("label", "x", 'V') + member("a.txt", "1") + kEnd;
  CHECK(contents(bytes) == Strings{"a.txt=1"});
  CHECK(Archive(bytes).index().attributes() == R"({"left_out":4,"left_out_example":"s.jpg"})");
  CHECK(Archive(member("d/", "", '5') + member("._a", "x") + member("a.txt", "1") + kEnd).index().attributes() == "{}");
}

TEST_CASE("an index proves to be that of an archive only with the members that belong to no sample") {
  const std::string sample = member("a.txt", "1"), stray = member("READ\nME", "x"), other = member("LICENSE", "x");
  const auto proves = [](const std::string& then, const std::string& now) {
    const Archive before(then), after(now);
    return kTar.proves(after.path, before.index(), {});
  };
  CHECK(Archive(sample + stray + kEnd).index().attributes() == R"({"left_out":1,"left_out_example":"READ\\x0aME"})");
  CHECK(proves(sample + stray + kEnd, sample + stray + kEnd));
  CHECK_FALSE(proves(sample + kEnd, sample + stray + kEnd));
  CHECK_FALSE(proves(sample + stray + kEnd, sample + kEnd));
  CHECK_FALSE(proves(sample + stray + kEnd, sample + other + kEnd));
}

TEST_CASE("members without a type, or of type 7, are files, and a v7 header needs no magic") {
  std::string v7 = write_tar_header("a.txt", '\0', 3);
  v7 = with_checksum(v7.replace(257, 255, 255, '\0'));
  CHECK(contents(v7 + padded("old") + member("b.txt", "new", '7') + kEnd) == Strings{"a.txt=old", "b.txt=new"});
}

TEST_CASE("a checksum of signed bytes is right too, and any other is not") {
  std::string block = write_tar_header("\xC3\xA4.txt", '0', 0);
  int sum = 0;
  block.replace(148, 8, 8, ' ');
  for (const char c : block) sum += static_cast<signed char>(c);
  std::string digits(7, '\0');
  for (std::size_t i = 6; i-- > 0; sum >>= 3) digits[i] = static_cast<char>('0' + (sum & 7));
  block.replace(148, 7, digits);
  CHECK(contents(block + kEnd) == Strings{"\xC3\xA4.txt="});
  block[148] = '7';
  CHECK(failure(block + kEnd)->kind() == ErrorKind::corrupt);
}

TEST_CASE("GNU long names and long links name the member that follows") {
  const std::string name = std::string(300, 'n') + ".txt";
  const std::string bytes = member("././@LongLink", name + '\0', 'L') + member(name.substr(0, 100), "long") +
                            member("././@LongLink", name + '\0', 'K') + hard_link("z.txt", name.substr(0, 99)) + kEnd;
  CHECK(contents(bytes) == Strings{std::string(300, 'n') + ".txt=long", "z.txt=long"});
}

TEST_CASE("a GNU header's old prefix area is not part of the name") {
  std::string block = write_tar_header("a.txt", '0', 1);
  block.replace(257, 8, std::string("ustar  \0", 8)).replace(345, 11, "13736261245");
  CHECK(contents(with_checksum(block) + padded("1") + kEnd) == Strings{"a.txt=1"});
}

TEST_CASE("sizes may be base-256") {
  std::string block = write_tar_header("a.txt", '0', 0);
  block.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\0\x05", 12));
  CHECK(contents(with_checksum(block) + padded("12345") + kEnd) == Strings{"a.txt=12345"});
  block.replace(124, 12, std::string(12, '\xFF'));  // -1
  CHECK(failure(with_checksum(block) + kEnd)->kind() == ErrorKind::corrupt);
  block.replace(124, 12, "\x80\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
  CHECK(failure(with_checksum(block) + kEnd)->kind() == ErrorKind::corrupt);
}

TEST_CASE("pax records override path and size, a global record holds until the end, an empty one is taken back") {
  const std::string path = "long/" + std::string(400, 'p') + ".txt";
  const std::string local = pax_record("path", path) + pax_record("size", "4") + pax_record("mtime", "1.5");
  const std::string bytes = member("g", pax_record("comment", "x"), 'g') + member("x", local, 'x') +
                            write_tar_header("short.txt", '0', 0) + padded("data") +
                            member("x", pax_record("path", "one.txt") + pax_record("path", ""), 'x') +
                            member("two.txt", "2") + kEnd;
  CHECK(contents(bytes) == Strings{"long/" + std::string(400, 'p') + ".txt=data", "two.txt=2"});
}

TEST_CASE("a hard link is another name for the bytes of its target, also of a link, or of a member of no sample") {
  const std::string bytes = member("store/blob", "shared") + member("a.txt", "1") + hard_link("b.txt", "store/blob") +
                            hard_link("c.txt", "b.txt") + hard_link("d.txt", "a.txt") + kEnd;
  CHECK(contents(bytes) == Strings{"a.txt=1", "b.txt=shared", "c.txt=shared", "d.txt=1"});
  const auto error = failure(member("a.txt", "1") + hard_link("b.txt", "gone.txt") + kEnd);
  REQUIRE(error);
  CHECK(error->kind() == ErrorKind::corrupt);
  CHECK(error->context().key == "b");
  CHECK(error->context().offset == 1024);
}

TEST_CASE("sparse members are refused by name, in each of the ways they are written") {
  for (const std::string& bytes :
       {member("holes.txt", "", 'S'), member("x", pax_record("GNU.sparse.major", "1"), 'x') + member("holes.txt", ""),
        member("x", pax_record("SUN.holesdata", " 0 1"), 'x') + member("holes.txt", "")}) {
    const auto error = failure(bytes + kEnd);
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::unsupported);
    CHECK(error->context().shard == "a.tar");
    CHECK(error->context().offset);
    CHECK(error->cause().find("'holes.txt'") != std::string::npos);
  }
}

TEST_CASE("a key that comes back after another sample is an error that names shard, key and offset") {
  const auto error = failure(member("a.jpg", "1") + member("b.jpg", "2") + member("a.cls", "3") + kEnd);
  REQUIRE(error);
  CHECK(error->kind() == ErrorKind::corrupt);
  CHECK(error->context().shard == "a.tar");
  CHECK(error->context().key == "a");
  CHECK(error->context().offset == 2048);
  CHECK(error->cause().find("offset 0") != std::string::npos);
}

TEST_CASE("a field that a sample has twice is an error, also when only the spelling differs") {
  const auto error = failure(member("a.jpg", "1") + member("a.JPEG", "2") + kEnd);
  REQUIRE(error);
  CHECK(error->context().key == "a");
  CHECK(error->context().field == "jpg");
}

TEST_CASE("an archive ends at the end of the file, or at zero blocks that no member follows") {
  const std::string one = member("a.txt", "1"), other = member("b.txt", "2"), zeros(512, '\0');
  CHECK(contents(one) == Strings{"a.txt=1"});
  CHECK(contents(one + zeros) == Strings{"a.txt=1"});
  CHECK(contents(one + zeros + std::string(100, '\0')) == Strings{"a.txt=1"});
  const Strings both{"a.txt=1", "b.txt=2"};
  CHECK(contents(one + kEnd + other + kEnd) == both);
  CHECK(contents(one + std::string(10240, '\0') + other) == both);
  CHECK(contents(one + std::string(300 * 512, '\0') + other + std::string(20 * 512, '\0')) == both);
  CHECK(contents(kEnd + one) == Strings{"a.txt=1"});
  CHECK(Archive(one + kEnd + other + kEnd).index().attributes() == "{}");
  const auto lone = failure(one + zeros + other + kEnd);
  REQUIRE(lone);
  CHECK(lone->context().offset == 1024);
  const auto error = failure(one + kEnd + other + member("a.txt", "3") + kEnd);
  REQUIRE(error);
  CHECK(error->cause().find("the key appears again") != std::string::npos);
}

TEST_CASE("a global record holds until the end of its archive, and a hard link reaches over it") {
  const std::string global = member("g", pax_record("size", "3"), 'g');
  CHECK(contents(global + write_tar_header("a.txt", '0', 1) + padded("123") + kEnd + member("b.txt", "4567") + kEnd) ==
        Strings{"a.txt=123", "b.txt=4567"});
  CHECK(contents(member("a.txt", "1") + kEnd + hard_link("b.txt", "a.txt") + kEnd) == Strings{"a.txt=1", "b.txt=1"});
}

TEST_CASE("other bytes after the end of an archive are told with their offset, and an index with them is proved") {
  const std::string one = member("a.txt", "1");
  for (const auto& [bytes, offset] :
       {std::pair{one + kEnd + std::string(700, 'x'), "2048"}, std::pair{one + std::string(512, '\0') + "x", "1536"},
        std::pair{one + std::string(8192, '\0') + "signature", "9216"}}) {
    const Archive archive(bytes);
    const Index index = archive.index();
    CHECK(contents(archive.path, index) == Strings{"a.txt=1"});
    CHECK(index.attributes() == std::string(R"({"warnings":["non-zero bytes follow the end of the archive at )") +
                                    "offset " + offset + R"(; they are not read"]})");
    CHECK(kTar.proves(archive.path, index, {}));
    CHECK_FALSE(kTar.proves(Archive(one + kEnd).path, index, {}));
  }
}

TEST_CASE("an archive compressed as a whole is refused with advice") {
  for (const std::string_view magic : {std::string_view("\x1F\x8B\x08", 3), std::string_view("\x28\xB5\x2F\xFD", 4),
                                       std::string_view("\xFD\x37\x7A\x58\x5A\0", 6), std::string_view("BZh9", 4)}) {
    const auto error = failure(std::string(magic) + std::string(600, 'z'));
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::unsupported);
    CHECK(error->cause().find("compress") != std::string::npos);
  }
}

TEST_CASE("shards are a tar file by name or content, or a folder's tar files in bytewise order") {
  const TemporaryFolder folder;
  const std::string bytes = member("a.txt", "1") + kEnd;
  for (const char* name : {"b.tar", "a.tar", "B.tar", "notes.txt", "x.tar.gz", "plain"})
    test::write_file(folder / name, bytes);
  test::write_file(folder / "text", std::string(2000, 't'));
  std::filesystem::create_directory(folder / "folder.tar");
  using Paths = std::vector<std::filesystem::path>;
  CHECK(kTar.find_shards(folder.path()) == Paths{folder / "B.tar", folder / "a.tar", folder / "b.tar"});
  CHECK(kTar.find_shards(folder / "plain") == Paths{folder / "plain"});
  CHECK(kTar.find_shards(folder / "x.tar.gz") == Paths{folder / "x.tar.gz"});
  CHECK(kTar.find_shards(folder / "text").empty());
  CHECK(kTar.find_shards(folder / "absent").empty());
}

TEST_CASE("the stamp changes with size, first header, middle and end") {
  std::string bytes = member("a.txt", std::string(100000, 'x')) + kEnd;
  const auto stamp = [](const std::string& content) { return kTar.stamp(Archive(content).path); };
  const std::uint64_t before = stamp(bytes);
  CHECK(stamp(bytes) == before);
  CHECK(stamp(bytes + kEnd) != before);
  for (const std::size_t at : {std::size_t{10}, bytes.size() / 2, bytes.size() - 1}) {
    std::string changed = bytes;
    changed[at] = '!';
    CHECK(stamp(changed) != before);
  }
}

TEST_CASE("an archive cut anywhere lists whole fields only, or says at which offset it is cut") {
  const std::string bytes = member("a.txt", "1") + member("x", pax_record("path", "b.txt"), 'x') +
                            member("short", std::string(700, '2')) + member("././@LongLink", "c.txt", 'L') +
                            member("short", "3") + kEnd;
  const Strings all = contents(bytes);
  REQUIRE(all.size() == 3);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CAPTURE(length);
    const Archive archive(bytes.substr(0, length));
    try {
      const Strings listed = contents(archive.path, archive.index());
      CHECK(std::equal(listed.begin(), listed.end(), all.begin()));
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::corrupt);
      REQUIRE(error.context().offset);
      CHECK(*error.context().offset <= length);
    }
  }
}

TEST_CASE("flipped bits give an error or an archive whose extents lie inside the file") {
  const std::string bytes = member("g", pax_record("comment", "x"), 'g') + member("a.txt", "1") +
                            member("x", pax_record("path", "b.txt") + pax_record("size", "700"), 'x') +
                            member("short", std::string(700, '2')) + hard_link("c.txt", "a.txt") + kEnd;
  std::mt19937 random(20240611);
  for (int round = 0; round < 3000; ++round) {
    std::string changed = bytes;
    const int flips = round % 3 + 1;
    for (int i = 0; i < flips; ++i) {
      const std::size_t at = random() % changed.size();
      changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
      if (round % 2 == 0) {  // get past the checksum
        const std::size_t header = at / kTarBlock * kTarBlock;
        changed.replace(header, kTarBlock, with_checksum(changed.substr(header, kTarBlock)));
      }
    }
    try {
      contents(changed);
    } catch (const Error& error) {
      CHECK(error.is_data_fault());
    }
  }
}

TEST_CASE("real and broken archives list as many members as an independent reader finds, or say where they fail") {
  const char* data = std::getenv("PENSTOCK_TEST_DATA");
  const std::filesystem::path root = data == nullptr ? "" : data;
  if (!std::filesystem::exists(root / "EXPECTED.tsv")) {
    penstock::test::skip("PENSTOCK_TEST_DATA names no folder with EXPECTED.tsv");
    return;
  }
  std::size_t listed = 0, without_samples = 0, refused = 0;
  std::ifstream expected(root / "EXPECTED.tsv");
  for (std::string line; std::getline(expected, line);) {
    const std::filesystem::path path = root / line.substr(0, line.find('\t'));
    if (!line.starts_with("tar") || !std::filesystem::is_regular_file(path)) continue;
    CAPTURE(line);
    try {
      TarMembers members(path, path.filename().string());
      TarMember member;
      std::size_t count = 0;
      while (members.next(member)) ++count;
      if (const std::size_t at = line.find("members="); at != std::string::npos) {
        CHECK(line.substr(at, line.find(' ', at) - at) == "members=" + std::to_string(count));
      }
      contents(path, kTar.index(path, path.parent_path(), {}));
      ++listed;
    } catch (const Error& error) {
      if (error.cause().starts_with("none of the archive's ")) {
        ++without_samples;
        continue;
      }
      CHECK(error.is_data_fault());
      CHECK(error.context().offset);
      ++refused;
    }
  }
  MESSAGE(listed, " archives with samples, ", without_samples, " without, ", refused, " refused");
  CHECK(listed + without_samples > 60);
  const std::filesystem::path webdataset = root / "tar/webdataset+webdataset";
  CHECK(kTar.index(webdataset / "mpdata.tar", webdataset, {}).key(99) == "000099");
}

}  // namespace penstock::test::tar_test
