// What a cache, or other values, would spare: in demands, in the simulation, and as it is tried on samples in memory.
#include <vector>

#include <doctest/doctest.h>

#include <loader/model/demands.hpp>
#include <loader/model/gains.hpp>
#include <loader/model/simulation.hpp>
#include <loader/model/tryout.hpp>
#include <loader/prepare.hpp>
#include <pack/recoding.hpp>
#include <penstock/gains.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

#include "support/loading.hpp"
#include "support/picture_files.hpp"

namespace penstock::test::tryout_test {
namespace {

constexpr double kMs = 1e-3;

// Of each row's 10 ms one brings bytes, eight are codecs and transforms.
Demands rows(std::size_t count = 1000) {
  Demands demands;
  demands.rows.assign(count, {.computes = 10 * kMs, .bytes = 1000, .bringing = 0.1, .filling = 0.8});
  demands.samples_per_s = 100;
  demands.samples = 10'000;
  return demands;
}

double mean_computes(const Demands& demands) {
  double sum = 0;
  for (const RowDemand& row : demands.rows) sum += row.computes;
  return sum / static_cast<double>(demands.rows.size());
}

struct Photographs {
  Photographs() {
    for (unsigned i = 0; i < 24; ++i) {
      write_file(folder / "data" / (number_key(i) + ".jpg"), jpeg_picture(320, 240, 3, i));
      write_file(folder / "data" / (number_key(i) + ".cls"), "1");
    }
  }
  Dataset dataset() const { return open(folder / "data"); }
  TemporaryFolder folder;
};

std::optional<CacheDemand> tried(const Dataset& dataset, std::vector<FieldChain> fields) {
  LoaderOptions options;
  options.transforms = std::move(fields);
  const Program program = compiled(dataset, resolved(dataset, options));
  std::vector<OutputStats> outputs;
  for (const Output& output : program.outputs())
    outputs.push_back({.name = output.name,
                       .decode = output.name == "jpg" ? std::chrono::milliseconds(99) : std::chrono::milliseconds(1),
                       .transform = {}});
  return tried_pixels(dataset, program, outputs, 0, {.samples = 16, .seconds = 0.5});
}

}  // namespace

TEST_CASE("values kept in another way change what is done for them, and nothing else") {
  Demands demands = rows();
  demands.storage = {.latency = 1 * kMs, .bytes_per_s = 1e6};
  const Demands made = demands.kept({.filling = 0.5, .bytes = 2});
  CHECK(made.rows[0].computes == doctest::Approx(10 * kMs * (0.1 + 2 * 0.1 + 0.5 * 0.8)));
  CHECK(made.rows[0].bytes == doctest::Approx(2000));
  CHECK(made.storage.latency == doctest::Approx(1 * kMs));
}

TEST_CASE("a cache spares as many samples as it holds") {
  const Demands demands = rows();
  const CacheDemand cache{.bytes = 50'000, .filling = 0.25};
  const double hit = 10 * kMs * (0.1 + 0.25 * 0.8);
  CHECK(mean_computes(demands.cached(cache, 500'000'000)) == doctest::Approx(hit));
  CHECK(mean_computes(demands.cached(cache, 2'000'000'000)) == doctest::Approx(hit));
  CHECK(mean_computes(demands.cached(cache, 125'000'000)) == doctest::Approx(0.25 * hit + 0.75 * 10 * kMs));
  CHECK(demands.cached(cache, 125'000'000).mean_bytes() == doctest::Approx(750));
}

TEST_CASE("rows without bytes are not read") {
  Demands demands = rows();
  demands.storage = {.latency = 100 * kMs, .bytes_per_s = 10e3};  // ten rows a second
  demands.reads_ahead = true;
  LoaderOptions options;
  options.workers = 4;
  CHECK(simulated(demands, {.cores = 4}, options).samples_per_s == doctest::Approx(10).epsilon(0.05));
  const Demands cached = demands.cached({.bytes = 1000, .filling = 1}, 1'000'000'000);
  CHECK(simulated(cached, {.cores = 4}, options).samples_per_s == doctest::Approx(4 / (9 * kMs)).epsilon(0.05));
}

TEST_CASE("a cache of images is offered with what it holds") {
  Demands demands = rows();
  demands.pixels = CacheDemand{.bytes = 500'000, .filling = 0.1};  // 5 GB
  LoaderOptions options;
  options.workers = 1;
  const std::vector<Gain> all = gains_of({demands, {.cores = 1}, options});
  REQUIRE(!all.empty());
  CHECK(all[0].knob == "cache");
  CHECK(all[0].value == "decoded");
  CHECK(all[0].options.cache.kind == CacheKind::decoded);
  CHECK(all[0].text.find("hold 21 % of the samples") != std::string::npos);
  const double spared = 0.1 + 0.9 * 0.8;
  CHECK(all[0].ratio == doctest::Approx(1 / (1 - 0.2147 * spared)).epsilon(0.02));
}

TEST_CASE("what a cache keeps of images is their pixels, and what they take from there is tried") {
  const Photographs photographs;
  const auto cache = tried(photographs.dataset(), {{"jpg", image::random_resized_crop(64)}, {"cls", label()}});
  REQUIRE(cache.has_value());
  CHECK(cache->bytes == doctest::Approx(320 * 240 * 3).epsilon(0.01));
  CHECK(cache->filling > 0.01);
  CHECK(cache->filling < 0.9);
}

TEST_CASE("rows for which nothing is drawn are kept as they are, and take nothing") {
  const Photographs photographs;
  const auto cache = tried(photographs.dataset(), {{"jpg", image::resize(32, 32)}, {"cls", label()}});
  REQUIRE(cache.has_value());
  CHECK(cache->bytes == doctest::Approx(32 * 32 * 3).epsilon(0.05));
  CHECK(cache->filling < 0.05);
}

TEST_CASE("a cache of images is not tried where it keeps none, and no rows") {
  const Arrays arrays(10);
  CHECK_FALSE(tried(arrays.dataset(), {{"npy", raw()}}).has_value());
}

TEST_CASE("a loader says what a cache of its images would bring") {
  const Photographs photographs;
  LoaderOptions options;
  options.workers = 1;
  options.batch_size = 8;
  options.transforms = {{"jpg", image::random_resized_crop(16)}};
  Loader loader(photographs.dataset(), options);
  for (unsigned epoch = 0; epoch < 20; ++epoch)
    while (loader.next()) {
    }
  const std::vector<Gain> gains = loader.gains();
  CHECK(std::ranges::find(gains, std::string("decoded"), &Gain::value) != gains.end());
}

}  // namespace penstock::test::tryout_test
