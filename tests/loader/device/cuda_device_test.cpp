// Loaders on CudaDevice, on CUDA's stand-in: the bytes of the host by way of pinned slabs, streams, events and kernels
// of CUDA's, on the device that was asked for and on no other; and what becomes of a device that fails.
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <bench/synth/workload.hpp>
#include <formats/text/numpy_text.hpp>

#include "device/fake_cuda.hpp"
#include "support/device_loading.hpp"
#include "support/restless.hpp"

using namespace penstock;
using namespace penstock::test;
using namespace std::chrono_literals;

namespace {

struct Icons {
  Icons() { synth_icons(folder / "icons", {.count = 40, .seed = 3, .workers = 1, .classes = 2}); }
  Dataset dataset() const { return open(folder / "icons"); }
  TemporaryFolder folder;
};

/// Passes over images in each type, bytes, labels.
LoaderOptions icons_on(std::string device) {
  const std::vector<float> mean{0.485F, 0.456F, 0.406F}, deviation{0.229F, 0.224F, 0.225F};
  const Chain pixels = field("png") | image::random_resized_crop(25) | image::random_horizontal_flip();
  LoaderOptions options{.batch_size = 7, .shuffle = true, .workers = 2};
  options.device = std::move(device);
  options.transforms = {{"planes", pixels | image::normalize(mean, deviation)},
                        {"last", pixels | image::channels_last() | image::normalize(mean, deviation)},
                        {"half", pixels | image::normalize(mean, deviation) | image::cast(DType::f16)},
                        {"brain", pixels | image::cast(DType::bf16) | image::channels_last()},
                        {"bytes", pixels},
                        {"cls", label()}};
  return options;
}

/// Moves of points, and arrays of different lengths.
LoaderOptions points_on(std::string device) {
  LoaderOptions options{.batch_size = 2, .shuffle = true, .seed = 5, .workers = 2};
  options.device = std::move(device);
  options.device_options.prefetch = 1;  // with ThreadSanitizer, kernels take longer than loaders wait for them at their end
  options.transforms = {
      {"npy", points::center() | points::unit_sphere() | points::random_rotate() | points::random_jitter()},
      {"planes", field("npy") | points::sample(33) | points::random_jitter() | points::channels_first()},
      {"stored", field("npy") | raw()}};
  return options;
}

void write_clouds(const std::filesystem::path& folder, std::uint64_t count) {
  std::minstd_rand random(17);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<float> values(180);
    for (float& value : values) value = static_cast<float>(random() % 20001) / 1000 - 10;
    write_file(folder / (number_key(i) + ".npy"), npy_file(values, "(60, 3)"));
  }
}

/// Ends with nothing left and nothing to complain of.
void check_ended(const std::vector<int>& devices) {
  CHECK(test::cuda::alive() == test::cuda::Alive{});
  const std::vector<std::string> complaints = test::cuda::complaints();
  for (const std::string& each : complaints) MESSAGE(each);
  CHECK(complaints.empty());
  CHECK(test::cuda::devices_with_context() == devices);
  CHECK(test::cuda::current_context() == nullptr);
}

}  // namespace

TEST_CASE("batches that kernels finished are those of the host, copied from page-locked memory alone") {
  const Icons icons;
  const Dataset dataset = icons.dataset();
  test::cuda::begin_anew();
  Loader plain(dataset, icons_on(""));
  {
    Loader loader(dataset, icons_on("cuda:1"));
    for (int epoch = 0; epoch < 2; ++epoch) CHECK(digests_of(loader) == digests_of(plain));
    CHECK(loader.next()->device() == DeviceId{DeviceId::Kind::cuda, 1});
    CHECK(loader.stats().staging == "page-locked memory for cuda:1");
    CHECK(test::cuda::copies_of_plain_memory() == 0);
  }
  check_ended({1});
}

TEST_CASE("clouds that kernels moved are those of the host") {
  const TemporaryFolder folder;
  write_clouds(folder / "points", 9);
  const Dataset dataset = open(folder / "points");
  test::cuda::begin_anew();
  Loader plain(dataset, points_on(""));
  {
    Loader loader(dataset, points_on("cuda:2"));
    CHECK(digests_of(loader) == digests_of(plain));
  }
  check_ended({2});
}

TEST_CASE("rows that cuFile reads straight into the device's memory are those of the host") {
  constexpr std::int64_t kRows = 40;
  const TemporaryFolder folder;
  std::string file = npy_header_text(DType::u8, {kRows, 40, 50, 3});
  std::minstd_rand random(5);
  for (std::int64_t i = 0; i < kRows * 40 * 50 * 3; ++i) file.push_back(static_cast<char>(random() >> 8));
  write_file(folder / "images.npy", file);
  const Dataset dataset = open(folder / "images.npy");
  const std::vector<float> half{0.5F, 0.5F, 0.5F};
  LoaderOptions options{.batch_size = 6, .shuffle = true, .workers = 2};
  options.transforms = {{"rows", field("value") | array::decode()},
                        {"numbers", field("value") | image::decode() | image::normalize(half, half)}};
  test::cuda::begin_anew();
  Loader plain(dataset, options);
  options.device = "cuda:1";
  options.device_options.gpu_direct = true;
  {
    Loader loader(dataset, options);
    for (int epoch = 0; epoch < 2; ++epoch) CHECK(digests_of(loader) == digests_of(plain));
    const Stats stats = loader.stats();
    CHECK(stats.gpu_direct.find("bounce buffer, ") == 0);
    CHECK(stats.gpu_direct.find(": rows, numbers") != std::string::npos);
    CHECK(stats.gpu_direct_bytes >= 2 * 2 * kRows * 40 * 50 * 3);
  }
  check_ended({1});
}

TEST_CASE("without page-locked memory the stats say why, and batches come all the same") {
  const Arrays data(64);
  test::cuda::begin_anew();
  LoaderOptions options = on(nullptr);
  Loader plain(data.dataset(), options);
  options.device = "cuda:0";
  {
    test::cuda::refuse("cudaHostRegister", cudaErrorMemoryAllocation);
    Loader loader(data.dataset(), options);
    CHECK(digests_of(loader) == digests_of(plain));
    CHECK(loader.stats().staging.find("plain memory: page-locking failed: cuda:0: cudaHostRegister: ") == 0);
  }
  check_ended({0});
}

TEST_CASE("a device without memory is refused in the constructor, and nothing is left of it") {
  const Arrays data(64);
  LoaderOptions options = on(nullptr);
  options.device = "cuda:0";
  for (const int after : {0, 1, 2}) {
    test::cuda::begin_anew();
    test::cuda::refuse("cudaMalloc", cudaErrorMemoryAllocation, after);
    CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains("cudaErrorMemoryAllocation"));
    check_ended({0});
  }
}

TEST_CASE("a device that fails midway is what next() throws from then on, and ends in order") {
  const Arrays data(400);
  LoaderOptions options = on(nullptr);
  options.device = "cuda:1";
  for (const int failing : {0, 1, 7, 20}) {
    test::cuda::begin_anew();
    std::atomic<int> begun{0};
    test::cuda::before_work([&] {
      if (begun++ == failing) test::cuda::strike(1, cudaErrorIllegalAddress);
    });
    {
      Loader loader(data.dataset(), options);
      const std::string said = words_of_failure(loader);
      CHECK(said.find("cuda:1: ") != std::string::npos);
      CHECK(said.find("cudaErrorIllegalAddress") != std::string::npos);
    }
    check_ended({1});
  }
}

TEST_CASE("a loader that ends or jumps at random moments gives everything back to CUDA, whatever is on its way") {
  const Arrays data(64);
  const Dataset dataset = packed(data.dataset(), data.folder / "tar", "tar");
  std::mt19937 random(21);
  for (int round = 0; round < 60; ++round) {
    test::cuda::begin_anew();
    std::atomic<unsigned> seed{1};
    if (random() % 2 == 0) {
      test::cuda::before_work([&] { std::this_thread::sleep_for(std::chrono::microseconds(seed++ * 97 % 400)); });
    }
    LoaderOptions options = on(nullptr);
    options.device = "cuda:1";
    restless_life(dataset, std::move(options), random);
    check_ended({1});
  }
}
