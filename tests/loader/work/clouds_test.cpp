// Tests point clouds from packing to batches: a loader reads only the points that it delivers, always the same bytes.
#include <algorithm>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include <penstock/verify.hpp>
#include <transforms/clouds/codecs/packed_cloud.hpp>
#include <transforms/recode/cloud_recoder.hpp>

#include "support/bytes_read.hpp"
#include "support/loading.hpp"
#include "support/written_formats.hpp"

namespace penstock::test::clouds_test {
namespace {

constexpr std::uint32_t kClouds = 24, kPoints = 2000, kWanted = 50;

// x of a point is its number; y tells the cloud; "label" is the number modulo 5.
std::string cloud_file(std::uint32_t number, std::uint32_t points) {
  std::vector<float> coordinates;
  std::vector<std::uint8_t> labels;
  for (std::uint32_t i = 0; i < points; ++i) {
    coordinates.insert(coordinates.end(), {static_cast<float>(i), static_cast<float>(number), 0.25F});
    labels.push_back(static_cast<std::uint8_t>(i % 5));
  }
  std::vector<std::byte> bytes;
  encode_cloud({.points = points, .origin = {1000.0 * number, 0, 0}, .attributes = {{"label", DType::u8}}},
               {.coordinates = coordinates, .attributes = {std::as_bytes(std::span(labels))}}, bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_clouds(const std::filesystem::path& folder) {
  for (std::uint32_t i = 0; i < kClouds; ++i) {
    write_file(folder / (number_key(i) + ".scan"), cloud_file(i, kPoints));
    write_file(folder / (number_key(i) + ".cls"), std::to_string(i % 3));
  }
}

Dataset pack_clouds(const Dataset& source, const std::filesystem::path& destination, const std::string& format,
                    const CloudRecoding& clouds, unsigned workers = 2) {
  ConvertOptions options;
  options.format = format;
  options.shard_size = 128 << 10;
  options.workers = workers;
  options.recoding.clouds = clouds;
  convert(source, destination, options);
  return open(destination);
}

LoaderOptions options_for(const Chain& chain) {
  LoaderOptions options;
  options.batch_size = 8;
  options.shuffle = true;
  options.workers = 2;
  options.transforms = {{"scan", chain}, {"cls", label()}};
  return options;
}

std::uint64_t epoch_digest(const Dataset& dataset, LoaderOptions options, EngineKind engine, Stats* stats = nullptr) {
  options.read_options.engine = engine;
  options.checksums = Checksums::off;  // which would read more, the first time
  Loader loader(dataset, options);
  Digest digest;
  for (const Batch& batch : loader) digest.add(batch);
  if (stats != nullptr) *stats = loader.stats();
  return digest.value();
}

std::uint64_t total_points(const Dataset& dataset) {
  LoaderOptions options = options_for({});
  options.transforms.pop_back();
  Loader loader(dataset, options);
  std::uint64_t points = 0;
  for (const Batch& batch : loader) points += static_cast<std::uint64_t>(batch["scan"].offsets[batch.size()]);
  return points;
}

}  // namespace

TEST_CASE("a loader is made from the header of a large cloud, not from all of it") {
  constexpr std::uint32_t kMany = 400'000;  // of 12 bytes: 4.8 MB
  const TemporaryFolder folder;
  write_file(folder / "source/a.scan", cloud_file(1, kMany));
  const Dataset dataset =
      pack_clouds(open(folder / "source"), folder / "packed", "tar", cloud_recoding("", "progressive", "none"));
  LoaderOptions options;
  options.batch_size = 1;
  options.workers = 1;
  options.transforms = {{"scan", points::sample(kWanted)}};
  const std::uint64_t before = bytes_read();
  Loader loader(dataset, options);
  CHECK(loader.next()->size() == 1);
  CHECK(bytes_read() - before < 1'000'000);
}

TEST_CASE("of progressive clouds a loader reads little more than the points that it delivers, from any packing") {
  const TemporaryFolder folder;
  write_clouds(folder / "source");
  const Dataset source = open(folder / "source");
  const CloudRecoding progressive = cloud_recoding("", "progressive", "none");
  std::set<std::uint64_t> digests;
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    const Dataset dataset = pack_clouds(source, folder / format, format, progressive);
    CHECK(dataset.fields()[*dataset.field("scan")].codec == "points");
    for (const EngineKind engine :
         {EngineKind::in_worker, EngineKind::mmap, EngineKind::pread, EngineKind::automatic}) {
      Stats stats;
      digests.insert(epoch_digest(dataset, options_for(points::sample(kWanted) | points::center()), engine, &stats));
      if (format == "zip" || format == "tar" || format == "lmdb" || format == "hdf5" || format == "tfrecord") {
        CHECK(stats.bytes_read >= std::uint64_t{kClouds} * kWanted * 12);
        // The next epochs are read ahead. All clouds have 24 * 24,000 bytes.
        CHECK(stats.bytes_read < 6 * std::uint64_t{kClouds} * (kWanted * 12 + 256));
      }
    }
    CHECK(verify(dataset, {.against = &source}).bad.empty());
  }
  CHECK(digests.size() == 1);
}

TEST_CASE("successive epochs deliver every point of a progressive cloud once") {
  const TemporaryFolder folder;
  write_clouds(folder / "source");
  const Dataset dataset =
      pack_clouds(open(folder / "source"), folder / "packed", "tar", cloud_recoding("", "progressive", "none"));
  Loader loader(dataset, options_for(points::sample(kWanted)));
  std::vector<std::vector<int>> times(kClouds, std::vector<int>(kPoints, 0));
  for (std::uint32_t epoch = 0; epoch < kPoints / kWanted; ++epoch) {
    for (const Batch& batch : loader) {
      const auto values = batch["scan"].as<float>();
      for (std::size_t i = 0; i < values.size(); i += 3) {
        ++times[static_cast<std::size_t>(values[i + 1])][static_cast<std::size_t>(values[i])];
      }
    }
  }
  for (const std::vector<int>& cloud : times) CHECK(std::ranges::all_of(cloud, [](int count) { return count == 1; }));
}

TEST_CASE("presampling keeps that many points, origins and the attributes asked for; what is packed can be verified") {
  const TemporaryFolder folder;
  write_clouds(folder / "source");
  const Dataset source = open(folder / "source");
  const Dataset dataset = pack_clouds(source, folder / "packed", "tar", cloud_recoding("random:100", "keep", "label"));
  CHECK(total_points(dataset) == std::uint64_t{kClouds} * 100);
  LoaderOptions options = options_for(points::decode({"label"}) | points::sample(100));
  Loader loader(dataset, options);
  for (const Batch& batch : loader) {
    const auto values = batch["scan"].as<float>();
    const auto origins = batch["__origin__"].as<double>();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      CHECK(origins[3 * row] == 1000.0 * values[row * 400 + 1]);
      for (std::size_t i = row * 400; i < (row + 1) * 400; i += 4) {
        CHECK(values[i + 3] == static_cast<float>(static_cast<int>(values[i]) % 5));
      }
    }
  }
  CHECK(verify(dataset, {.against = &source}).bad.empty());
  write_file(folder / "source" / (number_key(3) + ".scan"), cloud_file(4, kPoints));
  const Dataset changed = open(folder / "source");
  const VerifyResult found = verify(dataset, {.against = &changed});
  REQUIRE(found.bad.size() == 1);
  CHECK(found.bad[0].key == number_key(3));
}

TEST_CASE("the bytes of packed clouds do not depend on the number of workers") {
  const TemporaryFolder folder;
  write_clouds(folder / "source");
  const Dataset source = open(folder / "source");
  for (const char* order : {"progressive", "stratified"}) {
    std::set<std::string> manifests;  // which hold the shards' hashes
    for (const unsigned workers : {1U, 2U, 5U}) {
      const auto place = folder / (order + std::to_string(workers));
      manifests.insert(std::string(
          pack_clouds(source, place, "tar", cloud_recoding("stratified:500", order, "all"), workers).attributes()));
    }
    CHECK(manifests.size() == 1);
  }
}

TEST_CASE("a cloud that is damaged is named with its key, or left out") {
  const TemporaryFolder folder;
  write_clouds(folder / "source");
  write_file(folder / "source" / (number_key(7) + ".scan"), cloud_file(7, kPoints).substr(0, 3000));
  const Dataset source = open(folder / "source");
  ConvertOptions options;
  options.recoding.clouds = cloud_recoding("", "progressive", "none");
  CHECK_THROWS_WITH(convert(source, folder / "packed", options), doctest::Contains("s000007"));
  options.on_error = PackOnError::skip;
  options.overwrite = true;
  const ConvertResult result = convert(source, folder / "packed", options);
  CHECK(result.skipped == 1);
  CHECK(open(folder / "packed").size() == kClouds - 1);
}

TEST_CASE(
    "what --presample, --point-order and --point-attributes take reads back from its own text, and all else is "
    "refused") {
  const CloudRecoding recoding = cloud_recoding("voxel:0.05,fps:4096", "stratified", "classification,intensity");
  CHECK(cloud_recoding(presample_text(recoding), order_text(recoding), attributes_text(recoding)) == recoding);
  for (const char* presample : {"fps", "fps:0", "fps:1.5", "voxel", "voxel:-1", "blocks:4", "nearest:4"}) {
    CHECK_THROWS_AS(cloud_recoding(presample, "keep", "none"), Error);
  }
  CHECK_THROWS_AS(cloud_recoding("", "sorted", "none"), Error);
}

}  // namespace penstock::test::clouds_test
