// Tests files that are replaced, written to or touched while a dataset is open: what is read is what was indexed.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <penstock/storage.hpp>
#include <penstock/verify.hpp>
#include <storage/uring/uring_engine.hpp>

#include "support/loading.hpp"
#include "support/written_formats.hpp"

namespace penstock::test::replaced_test {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kSamples = 400;

std::vector<EngineKind> engine_kinds() {
  std::vector<EngineKind> kinds{EngineKind::in_worker, EngineKind::pread, EngineKind::mmap};
  if (uring_refusal() == 0) kinds.push_back(EngineKind::io_uring);
  return kinds;
}

// Sample i begins with i + 1000 * version.
void write_rows(const fs::path& folder, float version) {
  for (std::uint64_t i = 0; i < kSamples; ++i)
    write_file(folder / (number_key(i) + ".npy"),
               npy_file(std::vector<float>(256, static_cast<float>(i) + 1000 * version), "(256,)"));
}

void pack_rows(const fs::path& folder, const fs::path& destination, const std::string& format, float version) {
  write_rows(folder, version);
  ConvertOptions options;
  options.format = format;
  options.shard_size = 64 << 10;
  options.workers = 1;
  options.overwrite = true;
  convert(open(folder), destination, options);
}

/// What came of loading all rows: how many were those of `version`, how many others, and the error that ended it.
struct Outcome {
  std::uint64_t right = 0, wrong = 0;
  std::string error = {};
};

Outcome drained(Loader& loader, float version) {
  Outcome outcome;
  try {
    while (const auto batch = loader.next()) {
      const auto values = (*batch)["npy"].as<float>();
      for (std::uint32_t row = 0; row < batch->size(); ++row) {
        const bool right = values[std::size_t{row} * 256] == static_cast<float>(batch->samples()[row]) + 1000 * version;
        ++(right ? outcome.right : outcome.wrong);
      }
    }
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

Outcome loaded(const Dataset& dataset, EngineKind kind, float version) {
  try {
    Loader loader(dataset, {.batch_size = 8, .workers = 1, .prefetch = 1, .read_options = {.engine = kind}});
    return drained(loader, version);
  } catch (const Error& error) {  // while the first values were looked at
    return {.error = error.what()};
  }
}

bool says_replaced(const std::string& error, const std::string& dataset) {
  return error.find("was replaced") != std::string::npos && error.find(dataset) != std::string::npos;
}

void for_each_file(const fs::path& folder, const std::function<void(const fs::path&)>& change) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) change(entry.path());
  }
}

void touch(const fs::path& file) {
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), nullptr, 0) == 0);
}

}  // namespace

TEST_CASE("a dataset packed anew under an open loader: no row of the other one, and an error that names it") {
  for (const std::string& format : written_formats()) {
    for (const EngineKind kind : engine_kinds()) {
      CAPTURE(format);
      CAPTURE(name(kind));
      const TemporaryFolder folder;
      const fs::path packed = folder / "packed";
      pack_rows(folder / "rows", packed, format, 0);
      const Dataset dataset = open(packed);
      REQUIRE(dataset.shard_count() > 4);
      Loader loader(dataset, {.batch_size = 8, .workers = 1, .prefetch = 1, .read_options = {.engine = kind}});
      REQUIRE(loader.next());
      pack_rows(folder / "rows", packed, format, 1);
      const Outcome under_way = drained(loader, 0);
      CHECK(under_way.wrong == 0);
      CHECK(says_replaced(under_way.error, "packed: shard-"));
      const Outcome later = loaded(dataset, kind, 0);
      CHECK(later.wrong == 0);
      CHECK(says_replaced(later.error, "packed: shard-"));
      CHECK_THROWS_WITH_AS(read_field(dataset, 0, 0), doctest::Contains("was replaced"), Error);
      CHECK(loaded(open(packed), kind, 1).right == kSamples);
    }
  }
}

TEST_CASE("a dataset that was touched, or replaced by the same, is read on") {
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    const TemporaryFolder folder;
    const fs::path packed = folder / "packed";
    pack_rows(folder / "rows", packed, format, 0);
    const Dataset dataset = open(packed);
    for_each_file(packed, touch);
    CHECK(loaded(dataset, EngineKind::in_worker, 0).right == kSamples);
    for_each_file(packed, [](const fs::path& file) { fs::permissions(file, fs::perms::owner_all); });
    CHECK(loaded(dataset, EngineKind::in_worker, 0).right == kSamples);
    pack_rows(folder / "rows", packed, format, 0);
    CHECK(loaded(dataset, EngineKind::in_worker, 0).right == kSamples);
  }
}

TEST_CASE("a packed shard that was written to in place is refused, with its time of modification set back, too") {
  const TemporaryFolder folder;
  const fs::path shard = folder / "packed" / "shard-000002.tar";
  pack_rows(folder / "rows", folder / "packed", "tar", 0);
  const Dataset dataset = open(folder / "packed");
  struct stat before {};
  REQUIRE(::stat(shard.c_str(), &before) == 0);
  std::string bytes = read_file(shard);
  bytes[3000] = static_cast<char>(bytes[3000] ^ 1);
  write_file(shard, bytes);
  const timespec times[2] = {before.st_atim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, shard.c_str(), times, 0) == 0);
  const Outcome outcome = loaded(dataset, EngineKind::in_worker, 0);
  CHECK(outcome.wrong == 0);
  CHECK(says_replaced(outcome.error, "shard-000002.tar"));
}

TEST_CASE("a shard that is written to in place while it is open is found at the end of the epoch") {
  const TemporaryFolder folder;
  pack_rows(folder / "rows", folder / "packed", "tar", 0);
  const fs::path shard = folder / "one.tar";
  fs::copy_file(folder / "packed" / "shard-000000.tar", shard);
  const Dataset dataset = open(shard);
  Loader loader(dataset, {.batch_size = 8, .workers = 1, .prefetch = 1});
  CHECK(drained(loader, 0).error.empty());
  touch(shard);
  CHECK(drained(loader, 0).error.empty());
  REQUIRE(loader.next());
  write_file(shard, read_file(folder / "packed" / "shard-000001.tar"));
  const std::string error = drained(loader, 0).error;
  CHECK_MESSAGE(says_replaced(error, "one.tar"), error);
}

TEST_CASE("a shard that was overwritten under an open loader is not called corrupt") {
  const std::vector<std::size_t> lengths{0, 1000, 49'000};
  for (const EngineKind kind : engine_kinds()) {
    CAPTURE(name(kind));
    for (const std::size_t length : lengths) {
      CAPTURE(length);
      const TemporaryFolder folder;
      pack_rows(folder / "rows", folder / "packed", "tar", 0);
      const fs::path shard = folder / "one.tar";
      fs::copy_file(folder / "packed" / "shard-000000.tar", shard);
      const Dataset dataset = open(shard);
      Loader loader(dataset, {.batch_size = 1, .workers = 1, .prefetch = 1, .read_options = {.engine = kind}});
      REQUIRE(loader.next());
      std::string other = read_file(folder / "packed" / "shard-000001.tar");
      other.resize(length);
      write_file(shard, other);
      const std::string error = drained(loader, 0).error;
      CHECK_MESSAGE(says_replaced(error, "one.tar"), error);
    }
  }
}

TEST_CASE("shards that others packed are compared like those that pack made") {
  for (const EngineKind kind : engine_kinds()) {
    CAPTURE(name(kind));
    const TemporaryFolder folder;
    pack_rows(folder / "rows", folder / "packed", "tar", 0);
    const fs::path shard = folder / "one.tar", other = folder / "other.tar";
    fs::copy_file(folder / "packed" / "shard-000000.tar", shard);
    fs::copy_file(folder / "packed" / "shard-000001.tar", other);
    const Dataset dataset = open(shard);
    touch(shard);
    fs::permissions(shard, fs::perms::owner_all);
    CHECK(loaded(dataset, kind, 0).right == dataset.size());
    fs::rename(other, shard);
    const Outcome replaced = loaded(dataset, kind, 0);
    CHECK(replaced.wrong == 0);
    CHECK(says_replaced(replaced.error, "one.tar"));
  }
}

TEST_CASE("a file of a folder: touched it is read, replaced or of another length it is refused by its name") {
  for (const EngineKind kind : engine_kinds()) {
    CAPTURE(name(kind));
    const TemporaryFolder folder;
    const fs::path rows = folder / "rows", file = rows / (number_key(123) + ".npy");
    write_rows(rows, 0);
    const Dataset dataset = open(rows);
    for_each_file(rows, touch);
    CHECK(loaded(dataset, kind, 0).right == kSamples);
    write_file(folder / "other.npy", npy_file(std::vector<float>(256, 1123), "(256,)"));
    fs::rename(folder / "other.npy", file);
    const Outcome replaced = loaded(dataset, kind, 0);
    CHECK(replaced.wrong == 0);
    CHECK(says_replaced(replaced.error, file.filename()));
    const Dataset again = open(rows);
    std::ofstream(file, std::ios::app) << "more";
    const Outcome longer = loaded(again, kind, 0);
    CHECK(longer.error.find("was replaced or written to") != std::string::npos);
    CHECK(longer.error.find("1156 bytes") != std::string::npos);
    CHECK(loaded(open(rows), kind, 0).error.find("was replaced") == std::string::npos);
  }
}

TEST_CASE("a change of a file is no fault of its data: no policy leaves the row out") {
  const TemporaryFolder folder;
  const fs::path rows = folder / "rows";
  write_rows(rows, 0);
  const Dataset dataset = open(rows);
  write_file(rows / (number_key(300) + ".npy"), "short");
  for (const OnError policy : {OnError::replace, OnError::mark}) {
    Loader loader(dataset, {.batch_size = 8, .workers = 1, .on_error = policy, .max_error_rate = 1});
    CHECK(says_replaced(drained(loader, 0).error, number_key(300)));
  }
}

TEST_CASE("verify compares the index of what others packed with an index of what is there now") {
  const TemporaryFolder folder;
  pack_rows(folder / "rows", folder / "packed", "tar", 0);
  const fs::path shard = folder / "one.tar";
  fs::copy_file(folder / "packed" / "shard-000000.tar", shard);
  const Dataset dataset = open(shard);
  const VerifyResult good = verify(dataset);
  CHECK(good.bad_count == 0);
  CHECK(good.indexes_compared == 1);
  fs::copy_file(folder / "packed" / "shard-000001.tar", shard, fs::copy_options::overwrite_existing);
  const VerifyResult bad = verify(dataset);
  REQUIRE(bad.bad_count > 0);
  CHECK(bad.bad.back().cause.find("index") != std::string::npos);
  CHECK(verify(open(folder / "rows")).indexes_compared == 1);
}

}  // namespace penstock::test::replaced_test
