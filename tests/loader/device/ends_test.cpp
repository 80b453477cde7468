// Tests that memory for batches on a device is bounded and given back, whenever and however a loader ends.
#include <chrono>
#include <future>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/device_loading.hpp"
#include "support/restless.hpp"
#include "support/thread_count.hpp"

namespace penstock::test::ends_test {

using namespace std::chrono_literals;

TEST_CASE("memory of the device is bounded, reserved before the first batch, and told") {
  const Arrays data(64);
  LoaderOptions options = on(std::make_shared<HostDevice>(0, HostDeviceOptions{.memory_bytes = 1024}));
  CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains("allocate: no memory for"));
  const auto device = device_with();
  options = on(device);
  options.memory_options.max_items = 4096;
  Loader loader(data.dataset(), options);
  const std::uint64_t reserved = device->allocated();
  CHECK(loader.stats().device_bytes == reserved);
  for (int epoch = 0; epoch < 5; ++epoch) digests_of(loader);
  CHECK(device->allocated() == reserved);
  const Stats stats = loader.stats();
  CHECK(stats.staging == "page-locked memory for host:0");
  CHECK(device->pinned() >= stats.slab_bytes);
  CHECK(device->pinned() < stats.slab_bytes + 4096 * stats.slabs);  // of pages
  std::ostringstream table;
  table << stats;
  CHECK(table.str().find("staging     page-locked memory for host:0") != std::string::npos);
  CHECK(table.str().find("device      host:0: a processor that acts as a device: ") != std::string::npos);
}

TEST_CASE("a copy that fails is what next() throws, with the device's words, then and from then on") {
  const Arrays data(400);
  for (const std::uint64_t failing : {0U, 1U, 7U, 20U}) {
    const auto device = device_with([failing](const HostWork& work) {
      if (work.number == failing) throw std::runtime_error("struck by lightning");
    });
    Loader loader(data.dataset(), on(device));
    const std::string said = words_of_failure(loader);
    CHECK(said.find("host:0") != std::string::npos);
    CHECK(said.find("struck by lightning") != std::string::npos);
  }
}

TEST_CASE("a loader that ends or jumps at random moments gives everything back, whatever is on its way") {
  const Arrays data(64);
  const Dataset dataset = packed(data.dataset(), data.folder / "tar", "tar");
  { const Loader warm(dataset, on(nullptr)); }
  const std::ptrdiff_t before = thread_count();
  std::mt19937 random(21);
  for (int round = 0; round < 400; ++round) {
    const auto device = restless_device(random, 6);
    LoaderOptions options = on(device);
    if (random() % 3 == 0) options.batch_transform = [](Batch&) {};
    restless_life(dataset, std::move(options), random);
    CHECK(device->allocated() == 0);
    CHECK(device->pinned() == 0);
  }
  CHECK(threads_down_to(before) <= before);
}

TEST_CASE("a copy that never ends does not keep its loader from ending") {
  const Arrays data(64);
  std::promise<void> opened;
  const auto open = opened.get_future().share();
  const auto device = device_with([open](const HostWork&) { open.wait(); });
  const auto begun = std::chrono::steady_clock::now();
  { const Loader loader(data.dataset(), on(device)); }
  CHECK(std::chrono::steady_clock::now() - begun < 30s);
  opened.set_value();
}

}  // namespace penstock::test::ends_test
