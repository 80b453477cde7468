// Tests the range of tensors: a `for` is an epoch, errors arrive, and the wait shows in PyTorch's profiler.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/profiler_legacy.h>

#include <penstock/torch/batches.hpp>

#include "doctest_after_torch.hpp"
#include "support/loading.hpp"

namespace batches_test {
namespace {

using namespace penstock::test;
using penstock::Error;
using penstock::Loader;
using penstock::torch::batches;
using penstock::torch::TensorBatch;

static_assert(std::input_iterator<penstock::torch::Batches::iterator>);

std::vector<std::uint64_t> epoch_of(Loader& loader) {
  std::vector<std::uint64_t> samples;
  for (const TensorBatch& batch : batches(loader))
    samples.insert(samples.end(), batch.samples().begin(), batch.samples().end());
  return samples;
}

TEST_CASE("one `for` is one epoch, with the batches that the loader itself gives") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 50);
  const penstock::Dataset dataset = penstock::open(folder / "data");
  const penstock::LoaderOptions options{.batch_size = 8, .shuffle = true, .seed = 5, .workers = 2};
  Loader loader(dataset, options), reference(dataset, options);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::uint64_t number = 0;
    for (const TensorBatch& batch : batches(loader)) {
      const auto expected = reference.next();
      REQUIRE(expected.has_value());
      const auto values = (*expected)["npy"].as<float>();
      CHECK(at::equal(batch["npy"].flatten(), at::tensor(at::ArrayRef<float>(values.data(), values.size()))));
      CHECK(std::ranges::equal(batch.keys(), expected->keys()));
      CHECK(batch.epoch() == epoch);
      CHECK(batch.number() == number++);
    }
    CHECK(number == 7);
    CHECK_FALSE(reference.next().has_value());
  }
}

TEST_CASE("two epochs have the same samples in another order, and a loop left early is followed by the next epoch") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 40);
  Loader loader(penstock::open(folder / "data"), {.batch_size = 8, .shuffle = true, .workers = 2});
  std::vector<std::uint64_t> first = epoch_of(loader), second = epoch_of(loader);
  CHECK(first != second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  CHECK(first == second);
  for (const TensorBatch& batch : batches(loader)) {
    CHECK(batch.epoch() == 2);
    break;
  }
  for (const TensorBatch& batch : batches(loader)) {
    CHECK(batch.epoch() == 3);
    CHECK(batch.number() == 0);
    break;
  }
}

TEST_CASE("what a worker failed with reaches the loop as an Error that names the sample") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 12);
  write_file(folder / "data" / (number_key(7) + ".npy"), "no array");
  Loader loader(penstock::open(folder / "data"), {.batch_size = 4, .workers = 2});
  int before = 0;
  const auto drain = [&] {
    for (const TensorBatch& batch : batches(loader)) before += static_cast<int>(batch.size());
  };
  CHECK_THROWS_WITH_AS(drain(), doctest::Contains(number_key(7).c_str()), Error);
  CHECK(before == 4);
}

// The ranges of this thread that torch's own profiler saw, by name: seconds.
template <typename Work>
std::vector<double> profiled(const std::string& name, Work work) {
  std::ostringstream trace;
  {
    const ::torch::autograd::profiler::RecordProfile profile(trace);
    work();
  }
  std::vector<double> seconds;
  for (const auto& event : nlohmann::json::parse(trace.str())) {
    if (event.at("name") == name) seconds.push_back(event.at("dur").get<double>() / 1e6);
  }
  return seconds;
}

TEST_CASE("each wait is a range of torch's profiler under the name that its tools look for") {
  constexpr std::chrono::milliseconds kDelay{60};
  const TemporaryFolder folder;
  write_arrays(folder / "data", 12);
  penstock::LoaderOptions options{.batch_size = 4, .workers = 1};
  options.batch_transform = [&](penstock::Batch&) { std::this_thread::sleep_for(kDelay); };
  Loader loader(penstock::open(folder / "data"), options);
  int count = 0;
  const std::vector<double> waits = profiled("enumerate(DataLoader)#PenstockLoader.__next__", [&] {
    for (const TensorBatch& batch : batches(loader)) count += static_cast<int>(batch["npy"].size(0));
  });
  CHECK(count == 12);
  REQUIRE(waits.size() == 4);  // three batches, and the end
  CHECK(waits[0] >= std::chrono::duration<double>(kDelay).count() / 2);
}

TEST_CASE("the mark is of user scope, and ends before the loop's body") {
  static std::vector<std::pair<std::string, bool>> seen;  // of this thread: name, and whether it began
  seen.clear();
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction& range) -> std::unique_ptr<at::ObserverContext> {
            seen.emplace_back(range.name(), true);
            return nullptr;
          },
          [](const at::RecordFunction& range, at::ObserverContext*) { seen.emplace_back(range.name(), false); })
          .scopes({at::RecordScope::USER_SCOPE}));
  const TemporaryFolder folder;
  write_arrays(folder / "data", 3);
  Loader loader(penstock::open(folder / "data"), {.batch_size = 4, .workers = 1});
  for (const TensorBatch& batch : batches(loader)) {
    REQUIRE(seen.size() == 2);
    CHECK(seen[0] == std::pair<std::string, bool>(penstock::torch::kProfilerMark, true));
    CHECK(seen[1] == std::pair<std::string, bool>(penstock::torch::kProfilerMark, false));
    CHECK(batch.size() == 3);
  }
  CHECK(seen.size() == 4);
  at::removeCallback(handle);
}

}  // namespace

}  // namespace batches_test
