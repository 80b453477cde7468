// Tests what a loader tells of a store and of the disk cache, and which block shuffle it names.
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <support/folder_store.hpp>
#include <support/temporary_folder.hpp>
#include <vector>

#include <doctest/doctest.h>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <loader/fetch/block_offer.hpp>
#include <loader/model/gains.hpp>
#include <loader/prepare.hpp>
#include <order/permutation/sample_order.hpp>
#include <penstock/loader.hpp>
#include <penstock/stats.hpp>
#include <record/time/rates.hpp>
#include <transforms/program/program.hpp>

namespace penstock::test::stores_test {
namespace {

/// Samples of one field, one behind the other in objects of 1,000, or in files.
struct Stored {
  TemporaryFolder folder;
  FolderStore store{folder / "store"};
  std::vector<Dataset::Shard> shards;

  Stored(unsigned samples, std::uint64_t fewest, std::uint64_t most, bool in_store = true) {
    constexpr unsigned kOfShard = 1000;
    std::mt19937_64 random(7);
    for (unsigned first = 0; first < samples; first += kOfShard) {
      const std::string name = "shard-" + std::to_string(first);
      const std::string address = "s3://bucket/" + name;
      IndexBuilder builder;
      std::vector<Extent> extents;
      std::uint64_t size = 0;
      for (unsigned i = first; i < std::min(samples, first + kOfShard); ++i) {
        const std::uint64_t length = fewest + random() % (most - fewest + 1);
        extents.push_back({0, size, length});
        size += length;
      }
      builder.add_file({.path = name, .size = size, .stamp = 0});
      for (std::size_t i = 0; i < extents.size(); ++i) {
        builder.add_sample(std::to_string(first + i));
        builder.set(builder.field(FieldSchema{.name = "x", .codec = "raw"}), extents[i]);
      }
      const auto path = in_store ? store.file_of(address) : folder / name;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path, std::ios::binary) << '.';
      std::filesystem::resize_file(path, size);
      Dataset::Shard shard{
          .index = std::move(builder).finish(), .root = in_store ? "s3://bucket" : path.parent_path(), .name = name};
      if (in_store) shard.objects = {std::make_shared<const StoredObject>(StoredObject{address, *store.find(address)})};
      shards.push_back(std::move(shard));
    }
  }
  Dataset dataset() const { return Dataset("s3://bucket", "test", shards, {}, false); }
};

LoaderOptions shuffled(std::uint32_t batch_size) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.workers = 1;
  options.shuffle = true;
  options.checksums = Checksums::off;
  options.transforms = {{"x", raw()}};
  return options;
}

void run_epoch(Loader& loader) {
  while (loader.next()) {
  }
}

Stats stats_of(const Stored& stored, const LoaderOptions& options) {
  Loader loader(stored.dataset(), options);
  run_epoch(loader);
  return loader.stats();
}

std::string table_of(const Stats& stats) {
  std::ostringstream text;
  text << stats;
  return text.str();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a store's requests are counted from the last reset on, and have a row of the table") {
  const Stored stored(300, 400, 600);
  Loader loader(stored.dataset(), shuffled(16));
  run_epoch(loader);
  const Stats first = loader.stats();
  CHECK(reads_store(first));
  const StoreCounts& counts = first.reads.store;
  CHECK(counts.requests > 0);
  CHECK(counts.bytes >= 300 * 400);
  CHECK(counts.waited.count() > 0);
  CHECK(store_rates(first).latency > 0);
  CHECK(has(table_of(first), "\nstore "));
  CHECK_FALSE(has(table_of(first), "disk cache"));
  CHECK(first.epochs == 1);
  loader.reset_stats();
  CHECK(loader.stats().reads.store.requests < counts.requests);
  for (int epoch = 0; epoch < 3; ++epoch) run_epoch(loader);  // more than it reads ahead
  CHECK(loader.stats().reads.store.requests > 0);
  // Nothing is told twice: both together are what the store was asked for.
  CHECK(counts.requests + loader.stats().reads.store.requests <= stored.store.ranges + 300);

  Stats sum = first;
  add(sum, first);
  CHECK(sum.reads.store.requests == 2 * counts.requests);
  CHECK(sum.reads.store.answers.count == 2 * counts.answers.count);
  CHECK(sum.block_offer.requests == first.block_offer.requests);
}

TEST_CASE("of the disk cache it is told what came from where") {
  const Stored stored(300, 20'000, 30'000);
  const TemporaryFolder folder;
  LoaderOptions options = shuffled(16);
  options.disk_cache.path = folder / "cache";
  Loader loader(stored.dataset(), options);
  for (int epoch = 0; epoch < 2; ++epoch) run_epoch(loader);
  const Stats cold = loader.stats();
  REQUIRE(has_disk_cache(cold));
  CHECK(cold.disk_cache.misses > 0);
  CHECK(cold.disk_cache.bytes_written > 0);
  CHECK(cold.disk_cache_dir == (folder / "cache").string());
  CHECK(has(table_of(cold), "\ndisk cache "));
  loader.reset_stats();
  CHECK(loader.stats().disk_cache.misses == 0);
  for (int epoch = 0; epoch < 2; ++epoch) run_epoch(loader);
  const Stats warm = loader.stats();
  CHECK(warm.disk_cache.misses == 0);
  CHECK(warm.disk_cache.hits > 0);
  CHECK(warm.disk_cache.bytes_read > 0);
  CHECK(warm.disk_cache.bytes_written == 0);
  CHECK(warm.disk_cache.used > 0);
  CHECK(warm.reads.store.requests == 0);
  CHECK(disk_cache_rates(warm).hit_share == 1);
  CHECK(disk_cache_rates(cold).hit_share < 1);

  Stats sum;
  add(sum, cold);
  add(sum, warm);
  CHECK(sum.disk_cache.hits == cold.disk_cache.hits + warm.disk_cache.hits);
  CHECK(sum.disk_cache_dir == cold.disk_cache_dir);
}

TEST_CASE("of a dataset on a disk nothing of this is told") {
  const Stored stored(100, 400, 600, false);
  const Stats stats = stats_of(stored, shuffled(64));
  CHECK_FALSE(reads_store(stats));
  CHECK_FALSE(has_disk_cache(stats));
  CHECK(stats.block_offer.requests == 0);
  CHECK_FALSE(has(table_of(stats), "\nstore "));
  CHECK_FALSE(has(table_of(stats), "\ndisk cache "));
}

TEST_CASE("the block shuffle that is named asks for as few requests as was said") {
  struct Case {
    std::uint32_t batch_size;
    std::uint64_t fewest, most, block;
  };
  // One request for a whole block: as long as it has room for, and a batch for sixteen of them.
  for (const Case& one : {Case{64, 30'000, 50'000, 4}, Case{256, 30'000, 50'000, 16}, Case{100, 30'000, 50'000, 0}}) {
    CAPTURE(one.batch_size);
    const Stored stored(6000, one.fewest, one.most);
    const auto requests = [&](const LoaderOptions& options, BlockOffer& offer) {
      const std::uint64_t before = stored.store.ranges;
      Loader loader(stored.dataset(), options);
      std::uint64_t rows = 0;
      while (const auto batch = loader.next()) rows += batch->size();
      // What it has read ahead by then belongs to the next epoch.
      const Stats stats = loader.stats();
      offer = stats.block_offer;
      const double ahead = static_cast<double>(stats.reads.requests) / static_cast<double>(rows);
      return static_cast<double>(stored.store.ranges - before) / static_cast<double>(rows) / ahead;
    };
    BlockOffer offer, with;
    LoaderOptions options = shuffled(one.batch_size);
    options.read_options.read_ahead_bytes = std::uint64_t{1} << 30;
    const double now = requests(options, offer);
    REQUIRE(offer.shuffle_block != 0);
    if (one.block != 0) CHECK(offer.shuffle_block == one.block);
    CHECK(offer.shuffle_block * kShuffleWindowBlocks <= one.batch_size);
    CHECK(offer.requests == doctest::Approx(now).epsilon(0.1));
    options.shuffle_block = offer.shuffle_block;
    CHECK(offer.requests_then == doctest::Approx(requests(options, with)).epsilon(0.15));
    CHECK(with.shuffle_block == 0);
  }
}

TEST_CASE("no block shuffle is named where none would join anything, or the order is another one") {
  const Stored stored(2000, 3'000, 5'000);
  const BlockOffer small = stats_of(stored, shuffled(16)).block_offer;
  CHECK(small.shuffle_block == 0);
  CHECK(small.small_batch);
  CHECK(small.requests > 0.5);
  LoaderOptions in_order = shuffled(256);
  in_order.shuffle = false;
  CHECK(stats_of(stored, in_order).block_offer.requests == 0);
  LoaderOptions windows = shuffled(256);
  windows.shuffle_window = 500;
  CHECK(stats_of(stored, windows).block_offer.requests == 0);
  // A block has no more than a request: of six such samples, and of none that are longer than half of it.
  const auto offer_of = [](const Stored& of, std::uint32_t batch_size) {
    const Dataset dataset = of.dataset();
    LoaderOptions options = resolved(dataset, shuffled(batch_size));
    options.read_options.read_ahead_bytes = std::uint64_t{8} << 30;
    const Program program = compiled(dataset, options);
    return block_offer(dataset, program, order_options(options), engine_options(options),
                       select_samples(dataset, program, order_options(options)));
  };
  CHECK(offer_of(Stored(1000, 1'300'000, 1'300'000), 96).shuffle_block == 6);
  CHECK(offer_of(Stored(20'000, 1'300'000, 1'300'000), 960).shuffle_block == 6);
  CHECK(offer_of(Stored(40, 5 << 20, 5 << 20), 256).shuffle_block == 0);
}

TEST_CASE("the verdict on reads of a store names the block shuffle, and the cache where epochs come again") {
  Stats stats;
  stats.engine = EngineKind::store;
  stats.batches_taken = stats.batches = 100;
  stats.samples = 6400;
  stats.workers = 1;
  stats.wall = std::chrono::seconds(10);
  stats.data_wait = std::chrono::seconds(9);
  stats.stages = {{.name = "read", .threads = 1, .busy = std::chrono::seconds(9)}};
  stats.data_wait_by_stage = {{"read", std::chrono::seconds(9)}};
  stats.block_offer = {.shuffle_block = 16, .requests = 0.96, .requests_then = 1.0 / 16};
  const auto text = [&] { return verdict_of(stats).text; };
  CHECK(verdict_of(stats).binds == Binds::storage_latency);
  CHECK(has(text(),
            "shuffle=ps.shuffle.blocks(16) instead of a full shuffle makes one request for about 16 samples instead "
            "of 15"));
  CHECK_FALSE(has(text(), "disk_cache"));
  CHECK_FALSE(has(text(), "io_uring"));
  stats.epochs = 1;
  CHECK(has(text(), "disk_cache"));
  stats.disk_cache_dir = "/cache";
  CHECK_FALSE(has(text(), "disk_cache"));
  stats.block_offer = {};
  CHECK_FALSE(has(text(), "shuffle_block"));
  stats.engine = EngineKind::io_uring;
  stats.disk_cache_dir.clear();
  stats.block_offer = {.shuffle_block = 16, .requests = 0.96, .requests_then = 1.0 / 16};
  CHECK_FALSE(has(text(), "shuffle_block"));
  CHECK_FALSE(has(text(), "disk_cache"));
  CHECK(has(text(), "io_uring"));
}

}  // namespace penstock::test::stores_test
