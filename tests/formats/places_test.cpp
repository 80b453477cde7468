// Datasets in stores and on web servers are those of the local copy, opened with few requests; what changes, is cut,
// refused or hostile there ends in one error.
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/format.hpp>
#include <formats/io/path_pattern.hpp>
#include <formats/packed/combined_index.hpp>
#include <formats/packed/packed.hpp>
#include <formats/places/address.hpp>
#include <formats/places/places.hpp>
#include <formats/places/seen_places.hpp>
#include <formats/places/store_destination.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "support/dataset_writing.hpp"
#include "support/folder_store.hpp"
#include "support/temporary_folder.hpp"
#include "support/written_formats.hpp"

namespace penstock::test::places_test {
namespace {

namespace fs = std::filesystem;

/// A store, and an index folder of its own.
struct Places {
  Places() { ::setenv("PENSTOCK_INDEX_DIR", (indexes.path() / "own").c_str(), 1); }
  ~Places() { ::unsetenv("PENSTOCK_INDEX_DIR"); }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  fs::path pack(const std::string& format) {
    const fs::path place = root / ("bucket/" + format);
    DatasetWriterOptions options = small_shards();
    options.format = format;
    write_all_samples(place, options);
    return place;
  }
  /// The packed shards as others have them: without what penstock adds.
  fs::path strip(const std::string& format) {
    fs::path place = pack(format);
    for (const auto& [name, content] : content_of(place)) {
      if (name.ends_with(".idx") || name == "penstock.json") fs::remove(place / name);
    }
    return place;
  }
  std::uint64_t requests_of(const auto& work) {
    const std::uint64_t before = store.requests;
    work();
    return store.requests - before;
  }

  TemporaryFolder root, indexes;
  FolderStore store{root.path()};
};

void check_equal(const Dataset& remote, const Dataset& local) {
  REQUIRE(remote.size() == local.size());
  REQUIRE(remote.fields().size() == local.fields().size());
  CHECK(remote.fingerprint() == local.fingerprint());
  CHECK(remote.format() == local.format());
  CHECK(remote.packed() == local.packed());
  CHECK(std::vector(remote.classes().begin(), remote.classes().end()) ==
        std::vector(local.classes().begin(), local.classes().end()));
  REQUIRE(remote.file_count() == local.file_count());
  for (std::uint32_t file = 0; file < remote.file_count(); ++file) {
    REQUIRE(remote.stored_object(file) != nullptr);
    CHECK(remote.stored_object(file)->info.size == local.file(file).size);
    CHECK(remote.stored_object(file)->address == remote.file(file).path.native());
    CHECK(local.stored_object(file) == nullptr);
  }
  for (std::uint64_t sample = 0; sample < local.size(); ++sample) {
    REQUIRE(remote.key(sample) == local.key(sample));
    for (std::uint32_t field = 0; field < local.fields().size(); ++field) {
      REQUIRE(remote.fields()[field].name == local.fields()[field].name);
      if (local.length(sample, field) == 0) continue;
      REQUIRE(read_field(remote, sample, field) == read_field(local, sample, field));
    }
  }
}

std::string error_of_open(const fs::path& place) {
  try {
    open(place);
  } catch (const Error& error) {
    return error.what();
  }
  return "opened";
}

TEST_CASE("addresses are told from paths, also where a slash was taken away") {
  const Places places;
  CHECK(address_of("s3:/bucket/x").value() == "s3://bucket/x");
  CHECK(address_of("gcs://bucket/x//").value() == "gs://bucket/x");
  CHECK(address_of("https:/host/x").value() == "https://host/x");
  CHECK_FALSE(address_of("/data/x"));
  CHECK_FALSE(address_of("data:x/y"));
  CHECK_FALSE(address_of("C:/x"));
  CHECK_THROWS_WITH_AS(address_of("hf://a/b"), doctest::Contains("hf download"), Error);
  CHECK_THROWS_WITH_AS(address_of("s3://"), doctest::Contains("names no bucket"), Error);
  CHECK(is_address(fs::path("s3://bucket") / "a/b"));
  CHECK((fs::path("s3://bucket") / "a").native() == "s3://bucket/a");
  CHECK_FALSE(is_address("s3:/bucket"));
  for (const char* outside : {"/etc/passwd", "../x", "a/../../x", "a//b", "", "s3://other/x", "http://other/x"})
    CHECK_THROWS_AS(place_inside("s3://bucket/data", outside), Error);
  CHECK_THROWS_AS(place_inside("https://host/data", "x?y"), Error);
  try {
    address_of("ftp://user:secret@host/x?sig=hidden");
    CHECK(false);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("secret") == std::string::npos);
    CHECK(std::string(error.what()).find("hidden") == std::string::npos);
    CHECK(std::string(error.what()).find("ftp://host/x") != std::string::npos);
  }
}

TEST_CASE("what is shown of an address has no user, no password and no query") {
  const Places places;
  CHECK(shown_place("https://me:secret@host:80/x?sig=hidden#part") == "https://host:80/x");
  CHECK(shown_place("HTTPS://me:secret@host/x?sig=hidden") == "HTTPS://host/x");
  CHECK(shown_place("https:/me:secret@host/x") == "https:/host/x");
  CHECK(shown_place("https://me:sec/ret@host/x") == "https://...");
  CHECK(shown_place("https://[::1]:80/x") == "https://[::1]:80/x");
  CHECK(shown_place("s3://key:secret@bucket/x") == "s3://bucket/x");
  CHECK(shown_place("s3://bucket/train-00?.tar") == "s3://bucket/train-00?.tar");
  CHECK(shown_place("s3://bucket/x?X-Amz-Signature=hidden") == "s3://bucket/x");
  CHECK(shown_place("az://container@account/x?sig=hidden") == "az://container@account/x");
  CHECK(shown_place("az://account:secret@container/x") == "az://container/x");
  CHECK(shown_place("abfss://container@account.dfs.core.windows.net/x") ==
        "abfss://container@account.dfs.core.windows.net/x");
  CHECK(shown_place("/data/a?b@c") == "/data/a?b@c");
  CHECK(address_of("S3://bucket/x").value() == "s3://bucket/x");
}

TEST_CASE("datasets are written to the stores that are read, by any of their names") {
  const Places places;
  CHECK(store_destination("s3a://bucket/x/") == "s3://bucket/x");
  CHECK(store_destination("GCS:/bucket/x") == "gs://bucket/x");
  CHECK(store_destination("abfss://container@account/x") == "abfss://container@account/x");
  CHECK_FALSE(store_destination("https://host/x"));
  CHECK_FALSE(store_destination("hdfs://host/x"));
  CHECK_FALSE(store_destination("/data/x"));
}

TEST_CASE("a packed dataset of every packing in a store is the local copy") {
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    Places places;
    const Dataset local = open(places.pack(format));
    REQUIRE(local.shard_count() > 2);
    const std::string address = "s3://bucket/" + format;
    const std::uint64_t lookups = format == "lmdb" ? local.shard_count() : 0;  // each in a folder of its own
    CHECK(places.requests_of([&] { open(address); }) <= 3 + lookups);
    CHECK(places.requests_of([&] { open(address); }) <= 2 + lookups);
    check_equal(open(address), local);
    check_equal(open(address + "/penstock.json"), local);
    const Dataset remote = open(address);
    for (std::size_t shard = 0; shard < remote.shard_count(); ++shard) verify_shard(remote, shard);
  }
}

TEST_CASE("a packed dataset on a web server takes two requests, and one the second time") {
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    Places places;
    const Dataset local = open(places.pack(format));
    places.store.lists = false;
    const std::string address = "https://bucket/" + format;
    CHECK(places.requests_of([&] { open(address); }) == 2);
    CHECK(places.requests_of([&] { open(address); }) == 1);
    check_equal(open(address), local);
  }
}

TEST_CASE("without a combined index, or with another dataset's, each shard's own is fetched once") {
  Places places;
  const fs::path place = places.pack("tar");
  const Dataset local = open(place);
  SUBCASE("absent") {
    fs::remove(place / kCombinedIndexName);
  }
  SUBCASE("another's") {
    const fs::path other = places.pack("zip");
    fs::copy_file(other / kCombinedIndexName, place / kCombinedIndexName, fs::copy_options::overwrite_existing);
  }
  SUBCASE("cut") {
    fs::resize_file(place / kCombinedIndexName, fs::file_size(place / kCombinedIndexName) / 2);
  }
  check_equal(open("s3://bucket/tar"), local);
  CHECK(places.requests_of([&] { open("s3://bucket/tar"); }) == 2);
}

TEST_CASE("what is kept is made again where it is cut or flipped, and is not needed") {
  Places places;
  const Dataset local = open(places.pack("tar"));
  open("s3://bucket/tar");
  const auto kept = content_of(places.indexes.path());
  REQUIRE(kept.size() == 1);
  std::string bytes = kept[0].second;
  SUBCASE("cut") {
    bytes.resize(bytes.size() - 9);
  }
  SUBCASE("flipped") {
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  }
  SUBCASE("empty") {
    bytes.clear();
  }
  write_file(places.indexes.path() / kept[0].first, bytes);
  check_equal(open("s3://bucket/tar"), local);
  CHECK(read_file(places.indexes.path() / kept[0].first) == kept[0].second);
  ::setenv("PENSTOCK_INDEX_DIR", "/proc/nowhere", 1);
  check_equal(open("s3://bucket/tar"), local);
}

TEST_CASE("shards of others are indexed by ranges once, from a folder, a pattern or a file") {
  for (const std::string format : {"tar", "zip", "tfrecord", "mds", "hdf5"}) {
    CAPTURE(format);
    Places places;
    const fs::path place = places.strip(format);
    const Dataset local = open(place);
    const std::string address = "s3://bucket/" + format;
    check_equal(open(address), local);
    const std::uint64_t ranges = places.store.ranges;
    open(address);
    const std::uint64_t to_tell = format == "hdf5" || format == "tfrecord" ? 2 * local.shard_count() : 2;
    CHECK(places.store.ranges - ranges <= to_tell);
    if (format == "mds") {
      check_equal(open(address + "/index.json"), local);
      places.store.lists = false;
      check_equal(open("https://bucket/mds"), local);
      continue;
    }
    const std::string ending(format_named(format)->extension);
    check_equal(open(address + "/shard-*" + ending), local);
    const std::size_t last = local.shard_count() - 1;
    const std::string braces =
        "/shard-{000000.." + std::string(last < 10 ? "00000" : "0000") + std::to_string(last) + "}";
    check_equal(open(address + braces + ending), local);
    const fs::path first = place / ("shard-000000" + ending);
    check_equal(open(address + "/shard-000000" + ending), open(first));
    places.store.lists = false;
    check_equal(open("https://bucket/" + format + braces + ending), local);
    CHECK(error_of_open("https://bucket/" + format + "/shard-*" + ending).find("web servers cannot list files") !=
          std::string::npos);
  }
}

TEST_CASE("LMDB of others, loose files and what is absent are refused in words") {
  Places places;
  places.strip("lmdb");
  CHECK(error_of_open("s3://bucket/lmdb").find("read from disks only") != std::string::npos);
  write_file(places.root / "bucket/loose/a.jpg", "x");
  CHECK(error_of_open("s3://bucket/loose").find("loose files cannot be read from stores") != std::string::npos);
  CHECK(error_of_open("s3://bucket/absent").find("No such file") != std::string::npos);
  CHECK(error_of_open("s3://bucket/absent-*.tar").find("matches no file") != std::string::npos);
  CHECK(error_of_open("s3://b*/x").find("wildcard in the name of its bucket") != std::string::npos);
  write_file(places.root / "bucket/x.bin", "hello");
  CHECK(error_of_open("s3://bucket/x.bin").find("is not a file of a known format") != std::string::npos);
}

TEST_CASE("an object that changes after it was opened is an error, never a mixture") {
  Places places;
  const fs::path place = places.pack("tar");
  const Dataset remote = open("s3://bucket/tar");
  const std::uint32_t field = *remote.field("bin");
  read_field(remote, 0, field);
  const std::string content = read_file(place / "shard-000000.tar");
  fs::remove(place / "shard-000000.tar");
  write_file(place / "shard-000000.tar", content);
  CHECK_THROWS_WITH_AS(read_field(remote, 0, field), doctest::Contains("changed"), Error);
  fs::resize_file(place / "shard-000000.tar", content.size() / 2);
  const std::string cut = error_of_open("s3://bucket/tar");
  CHECK(cut.find("s3://bucket/tar: shard-000000.tar: ") == 0);
  CHECK(cut.find("was packed with") != std::string::npos);
}

TEST_CASE("an object that changes while it is indexed is an error, and nothing of it is kept") {
  Places places;
  const fs::path place = places.strip("tar");
  const std::string content = read_file(place / "shard-000001.tar");
  bool changed = false;
  places.store.before = [&](const std::string& verb, const std::string& address) {
    if (verb != "range" || changed || !address.ends_with("shard-000001.tar")) return;
    changed = true;
    fs::remove(place / "shard-000001.tar");
    write_file(place / "shard-000001.tar", content);
  };
  const std::string error = error_of_open("s3://bucket/tar/shard-00000{0,1}.tar");
  CHECK(error.find("changed while it was read") != std::string::npos);
  CHECK(error.find("shard-000001.tar") != std::string::npos);
  places.store.before = {};
  CHECK(open("s3://bucket/tar").size() == kSamples);
}

TEST_CASE("a store that refuses is the error, with dataset and cause, and not an absent file") {
  Places places;
  places.pack("tar");
  places.store.before = [](const std::string&, const std::string& address) {
    throw Error::io(EACCES, "the store refuses", {.shard = address});
  };
  const std::string error = error_of_open("s3://bucket/tar");
  CHECK(error.find("s3://bucket/tar") == 0);
  CHECK(error.find("the store refuses") != std::string::npos);
  // May be read, and not listed.
  places.store.before = [](const std::string& verb, const std::string& address) {
    if (verb == "list") throw Error::io(EACCES, "the store refuses", {.shard = address});
  };
  CHECK(open("s3://bucket/tar").size() == kSamples);
}

TEST_CASE("an index.json that leads elsewhere is refused") {
  Places places;
  const fs::path place = places.strip("mds");
  const std::string good = read_file(place / "index.json");
  write_file(places.root / "bucket/secret.mds", read_file(place / "shard-000000.mds"));
  for (const std::string name : {"../secret.mds", "/etc/passwd", "https://other/x.mds", "s3://bucket/secret.mds"}) {
    CAPTURE(name);
    std::string bad = good;
    bad.replace(bad.find("shard-000000.mds"), 16, name);
    write_file(place / "index.json", bad);
    const std::string error = error_of_open("s3://bucket/mds");
    const bool told = error.find("outside") != std::string::npos;
    CHECK(told);
  }
}

TEST_CASE("a source reads ahead in large requests, and here and there in small ones") {
  Places places;
  constexpr std::size_t kLength = 40 << 20;
  std::string content(kLength, '\0');
  for (std::size_t i = 0; i < kLength; i += 997) content[i] = static_cast<char>(i / 997);
  write_file(places.root / "bucket/large", content);
  const auto check = [&](const ByteSource& source, std::uint64_t at, std::size_t length) {
    std::vector<std::byte> bytes(length);
    const std::size_t got = source.read(at, bytes);
    REQUIRE(got == std::min<std::uint64_t>(length, at > kLength ? 0 : kLength - at));
    REQUIRE(std::string_view(reinterpret_cast<const char*>(bytes.data()), got) ==
            std::string_view(content).substr(std::min<std::uint64_t>(at, kLength), got));
  };
  // First, because a source in order still reads ahead when it has answered.
  const auto anywhere = open_byte_source("s3://bucket/large", Access::anywhere);
  for (std::uint64_t at = 0; at < 10; ++at) check(*anywhere, at * (4 << 20), 100);
  CHECK(places.store.ranges == 10);
  CHECK(places.store.bytes <= 10 * (64 << 10));
  const auto in_order = open_byte_source("s3://bucket/large");
  CHECK(in_order->size() == kLength);
  for (std::uint64_t at = 0; at < kLength; at += 100'000) check(*in_order, at, 512);
  CHECK(places.store.ranges <= 10 + 16);
  check(*in_order, kLength - 3, 100);
  check(*in_order, kLength + 3, 100);
  check(*in_order, 5 << 20, 20 << 20);
  const auto expecting = open_byte_source("s3://bucket/large");
  expecting->expect(1 << 20, 1 << 20);
  check(*expecting, 1 << 20, 1 << 20);
}

TEST_CASE("several threads read one source") {
  Places places;
  std::string content(8 << 20, 'a');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 >> 8);
  write_file(places.root / "bucket/large", content);
  const auto source = open_byte_source("s3://bucket/large");
  std::atomic<int> wrong{0};
  std::vector<Thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back("reader", [&, t](const std::stop_token&) {
      for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t at = (i * 7919 + t * 104729) * 37 % content.size();
        std::vector<std::byte> bytes(5000);
        const std::size_t got = source->read(at, bytes);
        const std::string_view found(reinterpret_cast<const char*>(bytes.data()), got);
        if (found != std::string_view(content).substr(at, 5000)) ++wrong;
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace penstock::test::places_test
