// Usage: bucket_speed [SAMPLES] [WINDOW]: measures the cost of composing batches by length, without a loader. Lengths
// are drawn from a log-normal distribution, like those of texts.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include <sys/resource.h>

#include <order/buckets/length_table.hpp>
#include <order/plan.hpp>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

long peak_mib() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss >> 10;
}

/// Measures the seconds that one thread needs for an epoch of batches, and the longest time of one batch.
void deliver(const char* what, const penstock::PlanOptions& options) {
  const auto began = Clock::now();
  const penstock::Plan plan(options, 0);
  std::vector<penstock::Row> rows;
  double longest = 0;
  std::uint64_t count = 0;
  for (std::uint64_t b = 0;; ++b) {
    const auto before = Clock::now();
    if (!plan.has(b)) break;
    plan.batch(b, rows);
    longest = std::max(longest, seconds_since(before));
    count += rows.size();
  }
  const double all = seconds_since(began);
  std::printf("%-28s %8.3f s, %6.1f ns a sample, the longest batch %6.2f ms\n", what, all,
              1e9 * all / static_cast<double>(count), 1e3 * longest);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t samples = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const std::uint64_t window = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100'000;
  std::mt19937 random(1);
  std::lognormal_distribution<double> draw(5, 0.8);
  std::vector<double> lengths(samples);
  for (double& length : lengths) length = std::floor(std::min(draw(random), 4096.0));

  auto began = Clock::now();
  auto table = std::make_shared<penstock::LengthTable>(samples);
  for (std::uint64_t i = 0; i < samples; ++i) table->set(i, lengths[i]);
  table->finish();
  std::printf("%-28s %8.3f s\n", "the table of lengths", seconds_since(began));
  lengths = {};

  penstock::PlanOptions options{.samples = samples, .shuffle = true, .batch_size = 64};
  deliver("shuffled, as it comes", options);
  options.bucketed = std::make_shared<const penstock::BucketedOrder>("", table, window, 0);
  deliver("by length", options);
  options.batch_size = 512;
  options.bucketed = std::make_shared<const penstock::BucketedOrder>("", table, window, 16384);
  deliver("by length, with a budget", options);
  options.bucketed = std::make_shared<const penstock::BucketedOrder>("", table, window, 16384);
  began = Clock::now();
  const std::uint64_t batches = penstock::Plan(options, 0).batches();
  std::printf("%-28s %8.3f s, %llu batches\n", "beginnings of all batches", seconds_since(began),
              static_cast<unsigned long long>(batches));
  options.bucketed = std::make_shared<const penstock::BucketedOrder>("", table, window, 16384);
  began = Clock::now();
  std::vector<penstock::Row> rows;
  penstock::Plan(options, 0).batch(batches / 2, rows);
  std::printf("%-28s %8.3f s\n", "a seek to the middle", seconds_since(began));
  std::printf("%-28s %5ld MiB\n", "most memory at once", peak_mib());
}
