// A share of the JPEGs decoded by nvJPEG on CudaDevice, both on stand-ins: the batches of the host, because the
// stand-in has its decoder, by way of CUDA's streams and kernels.
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "device/fake_cuda.hpp"
#include "device/fake_nvjpeg.hpp"
#include "support/device_loading.hpp"
#include "support/picture_files.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

struct Pictures {
  explicit Pictures(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto width = static_cast<std::int64_t>(40 + i * 13 % 90),
                 height = static_cast<std::int64_t>(33 + i * 7 % 80);
      replace(i, jpeg_picture(width, height, i % 7 == 3 ? 1 : 3, static_cast<std::uint32_t>(i)));
    }
  }
  Dataset dataset() const { return open(folder / "data"); }
  std::filesystem::path path_of(std::uint64_t number) const { return folder / "data" / (number_key(number) + ".jpg"); }
  void replace(std::uint64_t number, const std::string& bytes) const { write_file(path_of(number), bytes); }
  TemporaryFolder folder;
};

LoaderOptions pictures_on(std::string device, double share) {
  const std::vector<float> half{0.5F, 0.5F, 0.5F};
  LoaderOptions options{.batch_size = 7, .shuffle = true, .workers = 2};
  options.transforms = {{"numbers", field("jpg") | image::random_resized_crop(24) | image::random_horizontal_flip() |
                                    image::normalize(half, half)},
                    {"pixels", field("jpg") | image::resize(20, 29, "bicubic") | image::channels_last()},
                    {"half", field("jpg") | image::resize(33) | image::center_crop(31) | image::normalize(half, half) |
                                 image::cast(DType::f16)}};
  options.device = std::move(device);
  options.device_options.gpu_jpeg = share;
  return options;
}

/// All as in a process of its own, and checked at its end.
struct Fresh {
  Fresh() {
    cuda::begin_anew();
    fake_nvjpeg.hardware = true, fake_nvjpeg.microseconds = 0, fake_nvjpeg.refuse_batch = 0, fake_nvjpeg.images = 0;
  }
  ~Fresh() {
    CHECK(fake_nvjpeg.handles + fake_nvjpeg.states + fake_nvjpeg.streams == 0);
    CHECK(cuda::alive() == cuda::Alive{});
    const std::vector<std::string> complaints = cuda::complaints();
    for (const std::string& each : complaints) MESSAGE(each);
    CHECK(complaints.empty());
    CHECK(cuda::devices_with_context() == std::vector{1});
    CHECK(cuda::current_context() == nullptr);
  }
};

}  // namespace

TEST_CASE("batches are those of the host, whatever the share and the engine, and however slow streams and engine are") {
  const Pictures data(50);
  const Dataset dataset = data.dataset();
  Loader plain(dataset, pictures_on("", 0));
  std::atomic<unsigned> seed{1};
  for (const bool hardware : {false, true}) {
    for (const bool slow : {false, true}) {
      for (const double share : {0.4, 1.0}) {
        const Fresh fresh;
        fake_nvjpeg.hardware = hardware;
        if (slow) {
          fake_nvjpeg.microseconds = 300;
          cuda::before_work(
              [&] { std::this_thread::sleep_for(std::chrono::microseconds(std::minstd_rand(seed++)() % 500)); });
        }
        LoaderOptions options = pictures_on("cuda:1", share);
        options.device_options.gpu_jpeg_bytes = 200'000;  // several turns for a batch
        options.device_options.prefetch = options.memory_options.reserved_batches = 1;
        Loader loader(dataset, options);
        plain.set_epoch(0);
        for (int epoch = 0; epoch < 2; ++epoch) CHECK(digests_of(loader) == digests_of(plain));
        const Stats stats = loader.stats();
        const std::string engine = hardware ? "hardware engine" : "CUDA";
        CHECK(stats.gpu_jpeg ==
              (share < 1 ? "40" : "100") + (" % by nvJPEG 13.0.1, " + engine + ": numbers, pixels, half"));
        CHECK(fake_nvjpeg.images >= 3 * 50 * 2 * share / 2);
        CHECK(stats.gpu_jpeg_rows >= 3 * 50 * 2 * share / 2);
        CHECK(cuda::copies_of_plain_memory() == 0);
      }
    }
  }
}

TEST_CASE("bytes that nvJPEG finds bad behind a sound header meet the error policy, as on the host") {
  const Pictures data(40);
  for (const std::uint64_t number : {9U, 23U}) {
    const std::string whole = read_file(data.path_of(number));
    data.replace(number, whole.substr(0, whole.size() / 2) + std::string(whole.size() - whole.size() / 2, '\0'));
  }
  const Dataset dataset = data.dataset();
  const Fresh fresh;
  LoaderOptions options = pictures_on("", 0);
  options.on_error = OnError::replace;
  options.max_error_rate = 1;
  Loader plain(dataset, options);
  options.device = "cuda:1";
  options.device_options.gpu_jpeg = 1;
  Loader loader(dataset, options);
  for (int epoch = 0; epoch < 2; ++epoch) CHECK(digests_of(loader) == digests_of(plain));
  CHECK(loader.stats().gpu_jpeg_refused >= 2);
  CHECK(loader.stats().gpu_jpeg_rows > 0);
}

TEST_CASE("a device that fails while it decodes ends its loader in order") {
  const Pictures data(60);
  const Dataset dataset = data.dataset();
  for (const int failing : {0, 3, 11, 40}) {
    const Fresh fresh;
    fake_nvjpeg.hardware = false;
    std::atomic<int> begun{0};
    cuda::before_work([&] {
      if (begun++ == failing) cuda::strike(1, cudaErrorIllegalAddress);
    });
    Loader loader(dataset, pictures_on("cuda:1", 0.7));
    std::string said;
    try {
      for (int epoch = 0; epoch < 3; ++epoch) digests_of(loader);
    } catch (const Error& error) {
      said = error.what();
    }
    CAPTURE(failing);
    CAPTURE(said);
    CHECK(said.find("cuda:1: ") != std::string::npos);
    CHECK(said.find("cudaErrorIllegalAddress") != std::string::npos);
  }
}

TEST_CASE("a loader that ends or jumps at random moments, while JPEGs are decoded, gives everything back") {
  const Pictures data(40);
  const Dataset dataset = data.dataset();
  std::mt19937 random(4);
  for (int round = 0; round < 20; ++round) {
    const Fresh fresh;
    fake_nvjpeg.hardware = random() % 2 == 0;
    fake_nvjpeg.microseconds = static_cast<int>(random() % 300);
    LoaderOptions options = pictures_on("cuda:1", 0.7);
    options.batch_size = static_cast<std::uint32_t>(1 + random() % 16);
    options.device_options.prefetch = static_cast<unsigned>(1 + random() % 3);
    options.device_options.gpu_jpeg_bytes = 60'000 + random() % 200'000;
    std::vector<Batch> kept;
    {
      Loader loader(dataset, options);
      for (auto left = random() % 12; left > 0; --left) {
        if (random() % 5 == 0) loader.set_epoch(random() % 3);
        auto batch = loader.next();
        if (batch && random() % 4 == 0 && kept.empty()) kept.push_back(std::move(*batch));
      }
    }
    kept.clear();
  }
}
