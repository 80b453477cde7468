// Tests that values are compared with their checksums while they are loaded, and wrong ones are not delivered.
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <loader/fetch/value_checks.hpp>
#include <storage/read/in_worker_engine.hpp>
#include <storage/read/read_engine.hpp>
#include <transforms/clouds/codecs/packed_cloud.hpp>
#include <transforms/recode/cloud_recoder.hpp>

#include "support/loading.hpp"
#include "support/written_formats.hpp"

namespace penstock::test::checksums_test {
namespace {

constexpr std::uint64_t kCount = 6;
constexpr std::uint64_t kLongPoints = 9000;  // of 12 bytes: two ranges, the second one short
constexpr std::uint32_t kTaken = 1000;       // of a cloud's points in each epoch: nine epochs deliver all

std::string cloud_file(std::uint64_t number, std::uint64_t points) {
  std::vector<float> coordinates;
  for (std::uint64_t i = 0; i < points; ++i)
    coordinates.insert(coordinates.end(), {static_cast<float>(i), static_cast<float>(number), 0.25F});
  std::vector<std::byte> bytes;
  encode_cloud({.points = points}, {.coordinates = coordinates, .attributes = {}}, bytes);
  return text_of(bytes);
}

/// Samples with a long array, a short one, a long cloud, a short one, and a label.
void write_points(const std::filesystem::path& folder) {
  for (std::uint64_t i = 0; i < kCount; ++i) {
    for (const auto& [field, points] : {std::pair{"long", kLongPoints}, std::pair{"short", std::uint64_t{50}}}) {
      std::vector<float> values(3 * points);
      std::mt19937 random(static_cast<unsigned>(i + points));
      for (float& value : values) value = static_cast<float>(random() % 1000);
      write_file(folder / (number_key(i) + "." + field + ".npy"),
                 npy_file(values, "(" + std::to_string(points) + ", 3)"));
    }
    write_file(folder / (number_key(i) + ".scan"), cloud_file(i, kLongPoints));
    write_file(folder / (number_key(i) + ".few.scan"), cloud_file(i, 4000));
    write_file(folder / (number_key(i) + ".cls"), std::to_string(i % 3));
  }
}

/// Whole values as they are and decoded, and parts of longer and shorter ones.
LoaderOptions options_of(Checksums checksums, EngineKind engine = EngineKind::automatic) {
  LoaderOptions options{.batch_size = 4, .shuffle = true, .seed = 3, .workers = 2};
  options.transforms = {{"stored", field("short.npy") | raw()},
                        {"all", field("long.npy") | array::decode()},
                        {"some", field("scan") | points::sample(kTaken)},
                        {"fewer", field("few.scan") | points::sample(kTaken)},
                        {"cls", label()}};
  options.checksums = checksums;
  options.read_options.engine = engine;
  return options;
}

std::uint64_t digest_of(const Dataset& dataset, const LoaderOptions& options, int epochs = 2) {
  Loader loader(dataset, options);
  Digest digest;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    while (const auto batch = loader.next()) digest.add(*batch);
  }
  return digest.value();
}

void flip(const std::filesystem::path& file, std::uint64_t offset, unsigned bit) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  char byte = 0;
  stream.seekg(static_cast<std::streamoff>(offset)).get(byte);
  stream.seekp(static_cast<std::streamoff>(offset)).put(static_cast<char>(byte ^ (1 << bit)));
}

// The dataset as it is opened once that bit has flipped: what was open before would say that its file was written to.
Dataset flipped(const Dataset& dataset, std::uint32_t file, std::uint64_t offset, unsigned bit) {
  flip(dataset.file(file).path, offset, bit);
  return open(dataset.path());
}

Dataset packed_points(const TemporaryFolder& folder, const std::string& format) {
  write_points(folder / "source");
  ConvertOptions options;
  options.format = format;
  options.workers = 1;
  options.shard_size = 512 << 10;
  options.recoding.clouds = cloud_recoding("", "progressive", "none");
  convert(open(folder / "source"), folder / format, options);
  return open(folder / format);
}

LoaderOptions only(LoaderOptions options, std::string_view output) {
  std::erase_if(options.transforms, [&](const FieldChain& chain) { return chain.first != output; });
  return options;
}

Extent extent_of(const Dataset& dataset, std::uint64_t sample, std::string_view field) {
  std::vector<Piece> pieces;
  REQUIRE(dataset.locate(sample, *dataset.field(field), pieces));
  REQUIRE(pieces.size() == 1);
  REQUIRE(pieces[0].kind == Piece::Kind::extent);
  return pieces[0].extent;
}

/// Reads well, then damages what it brought: as a broken cable would.
class DamagingEngine : public ReadEngine {
 public:
  DamagingEngine(std::unique_ptr<ReadEngine> engine, int times) : engine_(std::move(engine)), left_(times) {}
  EngineKind kind() const override { return EngineKind::in_worker; }
  bool synchronous() const override { return true; }
  void submit(std::span<const ReadRequest> requests) override {
    engine_->submit(requests);
    for (const ReadRequest& request : requests) {
      if (left_.fetch_sub(1) > 0) request.destination[request.extent.length / 2] ^= std::byte{4};
    }
  }
  EngineStats stats() const override { return engine_->stats(); }

 private:
  std::unique_ptr<ReadEngine> engine_;
  std::atomic<int> left_;
};

Loader::EngineFactory damaging(int times) {
  return [times](const Dataset& dataset, EngineOptions options, OnRead on_read) {
    options.kind = EngineKind::in_worker;
    ChosenEngine chosen = choose_engine(dataset, options, std::move(on_read));
    return ChosenEngine{std::make_unique<DamagingEngine>(std::move(chosen.engine), times), "damaging"};
  };
}

}  // namespace

TEST_CASE("no flipped bit of a packed dataset's shards is delivered, in any packing, by any engine") {
  for (const std::string& format : written_formats()) {
    const TemporaryFolder folder;
    Dataset dataset = packed_points(folder, format);
    const std::uint64_t expected = digest_of(dataset, options_of(Checksums::off));
    std::mt19937 random(11);
    int refused = 0, delivered = 0;
    for (const std::string_view field : {"long.npy", "short.npy"}) {
      for (int i = 0; i < 4; ++i) {
        const Extent extent = extent_of(dataset, random() % kCount, field);
        const std::uint64_t at = extent.offset + (i == 0 ? extent.length - 1 : random() % extent.length);
        const unsigned bit = random() % 8;
        CAPTURE(format);
        CAPTURE(at);
        const Dataset damaged = flipped(dataset, extent.file, at, bit);
        for (const EngineKind engine :
             {EngineKind::in_worker, EngineKind::pread, EngineKind::io_uring, EngineKind::mmap}) {
          for (const Checksums checksums : {Checksums::first, Checksums::always}) {
            CAPTURE(name(engine));
            CAPTURE(name(checksums));
            CHECK_THROWS_WITH_AS(digest_of(damaged, options_of(checksums, engine)), doctest::Contains("CRC-32C"),
                                 Error);
            ++refused;
          }
        }
        try {
          delivered += digest_of(damaged, options_of(Checksums::off)) != expected;
        } catch (const Error&) {  // a broken header
        }
        dataset = flipped(dataset, extent.file, at, bit);
      }
    }
    CHECK(refused == 64);
    CHECK(delivered > 0);  // or there would be nothing to check
    for (const Checksums checksums : {Checksums::first, Checksums::always})
      CHECK(digest_of(dataset, options_of(checksums)) == expected);
  }
}

TEST_CASE("no flipped bit of a value that is read in part is delivered") {
  for (const std::string& format : written_formats()) {
    const TemporaryFolder folder;
    Dataset dataset = packed_points(folder, format);
    std::mt19937 random(12);
    for (const auto& [field, output] : {std::pair{"scan", "some"}, std::pair{"few.scan", "fewer"}}) {
      const std::uint64_t expected = digest_of(dataset, only(options_of(Checksums::off), output), 9);
      for (int i = 0; i < 3; ++i) {
        const Extent extent = extent_of(dataset, random() % kCount, field);
        const std::uint64_t at = extent.offset + (i == 0 ? extent.length - 1 : random() % extent.length);
        const unsigned bit = random() % 8;
        CAPTURE(format);
        CAPTURE(field);
        CAPTURE(at - extent.offset);
        const Dataset damaged = flipped(dataset, extent.file, at, bit);
        for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread, EngineKind::mmap}) {
          for (const Checksums checksums : {Checksums::first, Checksums::always})
            CHECK_THROWS_WITH_AS(digest_of(damaged, only(options_of(checksums, engine), output), 9),
                                 doctest::Contains("CRC-32C"), Error);
        }
        dataset = flipped(dataset, extent.file, at, bit);
      }
      for (const Checksums checksums : {Checksums::first, Checksums::always})
        CHECK(digest_of(dataset, only(options_of(checksums), output), 9) == expected);
    }
  }
}

TEST_CASE("a value that differs is an error that names its place and both checksums") {
  const TemporaryFolder folder;
  Dataset dataset = packed_points(folder, "tar");
  for (const auto& [field, output, begin] :
       {std::tuple{"long.npy", "all", std::uint64_t{0}}, std::tuple{"scan", "some", RangeSums::kRange}}) {
    const Extent extent = extent_of(dataset, 2, field);
    dataset = flipped(dataset, extent.file, extent.offset + RangeSums::kRange + 7, 0);
    try {
      digest_of(dataset, only(options_of(Checksums::first), output), 9);
      FAIL("delivered");
    } catch (const Error& error) {
      const ErrorContext& place = error.context();
      CHECK(error.kind() == ErrorKind::corrupt);
      CHECK(place.dataset == dataset.path().string());
      CHECK(place.shard == dataset.shard(dataset.shard_of(2)).name);
      CHECK(place.key == number_key(2));
      CHECK(place.field == field);
      CAPTURE(error.what());
      CHECK(place.offset.value_or(0) == extent.offset + begin);
      CHECK(std::string(error.what()).find("is recorded") != std::string::npos);
    }
  }
}

TEST_CASE("what differs is read once more, and a read that was wrong once is cured") {
  const TemporaryFolder folder;
  const Dataset dataset = packed_points(folder, "tar");
  const std::uint64_t expected = digest_of(dataset, options_of(Checksums::off), 1);
  Loader loader(dataset, options_of(Checksums::always), damaging(9));
  Digest digest;
  while (const auto batch = loader.next()) digest.add(*batch);
  CHECK(digest.value() == expected);
  CHECK(loader.stats().checks.mismatches >= 9);
}

TEST_CASE("first looks at each value once, always each time, off never") {
  const TemporaryFolder folder;
  const Dataset dataset = packed_points(folder, "hdf5");
  const auto checks_of = [&](Checksums checksums) {
    LoaderOptions options = options_of(checksums);
    options.transforms = {{"stored", field("short.npy") | raw()}, {"all", field("long.npy") | array::decode()}};
    Loader loader(dataset, options);
    for (int epoch = 0; epoch < 5; ++epoch) batch_digests(loader);
    return loader.stats().checks;
  };
  CHECK(checks_of(Checksums::off).checked == 0);
  // Rows of two epochs that are under way at the same time may both be a value's first.
  const auto first = checks_of(Checksums::first);
  CHECK(first.checked >= 2 * kCount);
  CHECK(first.checked <= 2 * 2 * kCount);
  std::uint64_t bytes = 0;
  for (const char* field : {"short.npy", "long.npy"}) bytes += dataset.length(0, *dataset.field(field));
  CHECK(first.checked_bytes >= bytes * kCount);
  CHECK(first.checked_bytes <= 2 * bytes * kCount);
  CHECK(first.unchecked == 0);
  CHECK(checks_of(Checksums::always).checked >= 5 * 2 * kCount);
}

TEST_CASE("a value read in part is checked by ranges, each of them once, and only first reads are wider") {
  const TemporaryFolder folder;
  const Dataset dataset = packed_points(folder, "tar");
  LoaderOptions options = options_of(Checksums::first);
  options = only(options, "some");
  Loader loader(dataset, options);
  for (int epoch = 0; epoch < 20; ++epoch) batch_digests(loader);
  const std::uint64_t all_ranges = 2 * kCount;  // nine epochs read each
  const std::uint64_t checked = loader.stats().checks.checked;
  CHECK(checked >= all_ranges);
  CHECK(checked <= 2 * all_ranges);  // rows of two epochs that are under way may both be a range's first
  const std::uint64_t read = loader.stats().bytes_read;
  for (int epoch = 0; epoch < 8; ++epoch) batch_digests(loader);
  CHECK(loader.stats().checks.checked == checked);
  // What is read ahead at both ends differs by a few batches.
  CHECK(loader.stats().bytes_read - read < 12 * kCount * (kTaken * 12 + 256));
}

TEST_CASE("what differed is looked at again each time, whole or in part") {
  const TemporaryFolder folder;
  Dataset dataset = packed_points(folder, "tar");
  for (const auto& [field, output] :
       {std::pair{"long.npy", "all"}, std::pair{"scan", "some"}, std::pair{"few.scan", "fewer"}}) {
    CAPTURE(field);
    const Extent extent = extent_of(dataset, 2, field);
    const std::uint64_t at = extent.offset + extent.length - 7;
    dataset = flipped(dataset, extent.file, at, 0);
    const auto bad = [&](Checksums checksums) {
      LoaderOptions options = only(options_of(checksums), output);
      options.on_error = OnError::mark;
      options.max_error_rate = 1;
      Loader loader(dataset, options);
      for (int epoch = 0; epoch < 27; ++epoch) batch_digests(loader);
      return loader.stats().bad.size();
    };
    const std::size_t expected = bad(Checksums::always);  // a part of a cloud in some of the epochs
    CHECK(expected >= 3);
    CHECK(bad(Checksums::first) == expected);
    dataset = flipped(dataset, extent.file, at, 0);
  }
}

TEST_CASE("what no checksum covers is counted") {
  const TemporaryFolder folder;
  write_points(folder / "source");
  const Dataset source = open(folder / "source");
  Loader loader(source, options_of(Checksums::first));
  batch_digests(loader);
  const CheckStats checks = loader.stats().checks;
  CHECK(checks.checked == 0);
  CHECK(checks.unchecked >= 5 * kCount);
  CHECK(checks.unchecked_bytes >= kCount * kLongPoints * 12);
}

TEST_CASE("a checksum that differs is a fault of the data: on_error applies, at() throws, pack stops") {
  const TemporaryFolder folder;
  Dataset dataset = packed_points(folder, "tar");
  const Extent extent = extent_of(dataset, 1, "short.npy");
  dataset = flipped(dataset, extent.file, extent.offset + extent.length - 2, 5);
  LoaderOptions options = options_of(Checksums::always);
  options.shuffle = false;
  CHECK_THROWS_AS(Loader(dataset, options).at(0, 0), Error);
  options.max_error_rate = 1;
  for (const OnError policy : {OnError::replace, OnError::mark}) {
    options.on_error = policy;
    Loader loader(dataset, options);
    const auto batch = loader.next();
    CHECK((batch->valid()[1] == 0) == (policy == OnError::mark));
    CHECK((batch->samples()[1] == 1) == (policy == OnError::mark));
    REQUIRE(loader.stats().bad_samples >= 1);
    CHECK(loader.stats().bad[0].sample == 1);
  }
  CHECK_THROWS_WITH_AS(packed(dataset, folder / "copy", "zip"), doctest::Contains("CRC-32C"), Error);
}

TEST_CASE("what a cache keeps was checked, also where it was checked before") {
  const TemporaryFolder folder;
  const Dataset dataset = packed_points(folder, "tar");
  LoaderOptions options = options_of(Checksums::first);
  options.transforms = {{"stored", field("short.npy") | raw()}};
  options.cache.kind = CacheKind::encoded;
  Loader loader(dataset, options, damaging(3));
  const std::uint64_t expected = digest_of(dataset, options, 3);
  Digest digest;
  for (int epoch = 0; epoch < 3; ++epoch) {
    while (const auto batch = loader.next()) digest.add(*batch);
  }
  CHECK(digest.value() == expected);
}

}  // namespace penstock::test::checksums_test
