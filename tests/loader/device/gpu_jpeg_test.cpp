// A share of the JPEGs decoded by the device: the same batches, because the device is a processor with the same
// decoder.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <device/device.hpp>
#include <device/jpeg_decoder.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/packed/dataset_writer.hpp>
#include <loader/device/gpu_jpeg.hpp>

#include "support/device_loading.hpp"
#include "support/picture_files.hpp"
#include "support/restless.hpp"

namespace penstock::test::gpu_jpeg_test {
namespace {

const std::vector<float> kHalf{0.5F, 0.5F, 0.5F};

/// An EXIF block that says how the camera was held, behind the JPEG's first two bytes.
std::string held(const std::string& jpeg, char orientation) {
  using namespace std::string_literals;
  const std::string exif = "Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0"s;
  const std::string block = exif + orientation + std::string(6, '\0');
  return jpeg.substr(0, 2) + "\xff\xe1" + std::string(1, '\0') + static_cast<char>(block.size() + 2) + block +
         jpeg.substr(2);
}

/// Images of several sizes and their masks: JPEGs, of which every eleventh is a PNG and every seventh gray.
struct Pictures {
  explicit Pictures(std::uint64_t count) : path(folder / "data") {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto seed = static_cast<std::uint32_t>(i);
      const auto width = static_cast<std::int64_t>(40 + i * 13 % 90),
                 height = static_cast<std::int64_t>(33 + i * 7 % 80);
      const std::int64_t channels = i % 7 == 3 ? 1 : 3;
      replace(i,
              i % 11 == 5 ? png_picture(width, height, channels, seed) : jpeg_picture(width, height, channels, seed));
      write_file(path / (number_key(i) + ".seg.png"), png_picture(width, height, 1, seed + 1000));
    }
  }
  Dataset dataset() const { return open(path); }
  void replace(std::uint64_t number, const std::string& bytes) const {
    write_file(path / (number_key(number) + ".jpg"), bytes);
  }
  std::string bytes_of(std::uint64_t number) const { return read_file(path / (number_key(number) + ".jpg")); }
  TemporaryFolder folder;
  std::filesystem::path path;
};

std::vector<FieldChain> crops_and_masks() {
  const Chain crop = image::random_resized_crop(24) | image::random_horizontal_flip();
  return {{"numbers", field("jpg") | crop | image::normalize(kHalf, kHalf)},
          {"pixels", field("jpg") | image::resize(20, 28, "bicubic") | image::channels_last()},
          {"turned",
           field("jpg") | image::random_rotation({-20, 20}) | image::center_crop(16) | image::normalize(kHalf, kHalf)},
          {"mask", field("seg.png") | follow("numbers")}};
}

LoaderOptions pictures_on(std::shared_ptr<Device> device, double share, std::uint32_t batch_size = 8) {
  LoaderOptions options{.batch_size = batch_size, .shuffle = true, .workers = 2};
  options.transforms = crops_and_masks();
  options.device_options.gpu_jpeg = share;
  options.device_options.opened = std::move(device);
  return options;
}

LoaderOptions on_host(std::uint32_t batch_size = 8) {
  return pictures_on(nullptr, 0, batch_size);
}

/// Of all values of a batch, where they are.
std::uint64_t digest_of_values(std::span<const Field> fields) {
  Digest digest;
  for (const Field& field : fields) digest.add(field.values.data, field.values.bytes());
  return digest.value();
}

/// The processor's decoder, and what a test wants of it.
class ToldDecoder final : public JpegDecoder {
 public:
  explicit ToldDecoder(std::shared_ptr<HostDevice> device) : device_(device), inner_(std::move(device)) {}
  std::string description() const override { return "a decoder"; }
  std::optional<JpegSize> size(std::span<const std::byte> jpeg) override { return inner_.size(jpeg); }
  void decode(std::span<const JpegOnDevice> images, StreamHandle stream) override {
    if (before) before(images);
    inner_.decode(images, stream);
    for (const JpegOnDevice& image : images) {
      if (!black) continue;
      const std::size_t bytes = image.pitch * static_cast<std::size_t>(size(image.jpeg)->height);
      device_->enqueue(stream, [image, bytes] { std::memset(image.pixels, 0, bytes); });
    }
  }
  std::function<void(std::span<const JpegOnDevice>)> before = {};
  bool black = false;  ///< all pixels, so that they can be told from those of the host

 private:
  const std::shared_ptr<HostDevice> device_;
  HostJpegDecoder inner_;
};

}  // namespace

TEST_CASE("batches are those of the host, whatever the device's share, for every engine") {
  const Pictures data(60);
  const Dataset dataset = data.dataset();
  Loader plain(dataset, on_host());
  for (const double share : {0.3, 1.0}) {
    for (const EngineKind kind : {EngineKind::in_worker, EngineKind::pread}) {
      const auto device = device_with();
      LoaderOptions options = pictures_on(device, share);
      options.read_options.engine = kind;
      Loader loader(dataset, options);
      check_alike(loader, plain, 4);
      const Stats stats = loader.stats();
      CHECK(stats.gpu_jpeg ==
            (share == 1 ? "100 %" : "30 %") + std::string(" by the processor's decoder: numbers, pixels"));
      const double jpegs = 4 * 2 * 54;  // the others of the sixty are PNGs
      CHECK(static_cast<double>(stats.gpu_jpeg_rows) >= (share == 1 ? jpegs : jpegs / 5));
      CHECK(stats.gpu_jpeg_refused == 0);
      CHECK(stats.device_bytes <= device->allocated());
      std::ostringstream table;
      table << stats;
      CHECK(table.str().find(" images, " + stats.gpu_jpeg + "\n") != std::string::npos);
    }
  }
}

TEST_CASE("which samples are the device's is drawn for them, not for their place or who is fast") {
  const Pictures data(60);
  const auto rows_with = [&](std::uint32_t batch_size, unsigned workers) {
    const auto device = device_with();
    const auto decoder = std::make_shared<ToldDecoder>(device);
    decoder->black = true;
    LoaderOptions options = pictures_on(device, 0.5, batch_size);
    options.workers = workers;
    options.device_options.jpeg_decoder = decoder;
    Loader loader(data.dataset(), options);
    std::map<std::pair<std::uint64_t, std::uint64_t>, bool> black;  // by epoch and sample
    for (int epoch = 0; epoch < 2; ++epoch) {
      while (const auto batch = loader.next()) {
        batch->synchronize();
        const Field& pixels = (*batch)["pixels"];
        const std::size_t bytes = pixels.values.bytes() / batch->size();
        for (std::uint32_t row = 0; row < batch->size(); ++row) {
          const auto levels = pixels.as<std::uint8_t>().subspan(row * bytes, bytes);
          black[{batch->epoch(), batch->samples()[row]}] =
              std::ranges::all_of(levels, [](auto level) { return level == 0; });
        }
      }
    }
    CHECK(loader.stats().gpu_jpeg == "50 % by a decoder: numbers, pixels");
    return black;
  };
  const auto once = rows_with(60, 1);
  CHECK(rows_with(7, 3) == once);
  int of_device = 0, changed = 0;
  for (std::uint64_t sample = 0; sample < 60; ++sample) {
    of_device += once.at({0, sample}) ? 1 : 0;
    changed += once.at({0, sample}) != once.at({1, sample}) ? 1 : 0;
  }
  CHECK(of_device > 15);
  CHECK(of_device < 40);
  CHECK(changed > 10);
}

TEST_CASE("images that do not fit the memory for them are the host's, and those that fit come by turns") {
  const Pictures data(60);
  Loader plain(data.dataset(), on_host(32));
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{20'000}, std::uint64_t{50'000}, std::uint64_t{1} << 20}) {
    LoaderOptions options = pictures_on(device_with(), 1, 32);
    options.device_options.gpu_jpeg_bytes = bytes;
    Loader loader(data.dataset(), options);
    plain.set_epoch(0);
    CHECK(digests_of(loader) == digests_of(plain));
    const Stats stats = loader.stats();
    CHECK((stats.gpu_jpeg_rows == 0) == (bytes == 1));
  }
}

TEST_CASE("images that a camera held askew come upright, from the host") {
  const Pictures data(24);
  std::set<std::string> askew;
  for (char orientation = 1; orientation <= 8; ++orientation) {
    const auto number = static_cast<std::uint64_t>(orientation) + 5;
    const std::string jpeg = held(data.bytes_of(number), orientation);
    data.replace(number, jpeg);
    if (orientation != 1) askew.insert(jpeg);
  }
  LoaderOptions options = on_host();
  options.transforms = {{"jpg", image::decode(false, true) | image::resize(20, 28) | image::normalize(kHalf, kHalf)}};
  Loader plain(data.dataset(), options);
  const auto device = device_with();
  const auto decoder = std::make_shared<ToldDecoder>(device);
  std::set<std::string> seen;
  decoder->before = [&](std::span<const JpegOnDevice> images) {
    for (const JpegOnDevice& image : images) seen.insert(text_of(image.jpeg));
  };
  options.device_options.opened = device;
  options.device_options.jpeg_decoder = decoder;
  options.device_options.gpu_jpeg = 1;
  {
    Loader loader(data.dataset(), options);
    CHECK(digests_of(loader) == digests_of(plain));
  }
  CHECK(seen.size() == 24 - 2 - 7);
  CHECK(seen.contains(data.bytes_of(6)));
  for (const std::string& jpeg : askew) CHECK_FALSE(seen.contains(jpeg));
}

TEST_CASE("where it cannot be had the stats say why, and the host decodes") {
  const Pictures data(20);
  LoaderOptions options = on_host();
  options.transforms.resize(1);
  Loader plain(data.dataset(), options);
  CHECK(plain.stats().gpu_jpeg.empty());
  options.device_options.opened = device_with();
  options.device_options.gpu_jpeg = 0.5;
  options.device_options.finish_on = FinishOn::host;
  Loader floats(data.dataset(), options);
  CHECK(digests_of(floats) == digests_of(plain));
  CHECK(floats.stats().gpu_jpeg.find("not used: no output has images that are copied to the device as uint8 pixels") ==
        0);
  CHECK(floats.stats().gpu_jpeg_rows == 0);

  options.device_options.finish_on = FinishOn::automatic;
  const std::uint64_t needs = floats.stats().device_bytes;
  options.device_options.opened = std::make_shared<HostDevice>(0, HostDeviceOptions{.memory_bytes = needs + (1 << 20)});
  Loader crowded(data.dataset(), options);
  CHECK(digests_of(crowded).size() == 3);
  CHECK(crowded.stats().gpu_jpeg.find("not used: host:0: allocate: no memory") == 0);
}

TEST_CASE("what does not go together is refused when the loader is made") {
  const Pictures data(8);
  const auto refused = [&](const char* cause, auto change) {
    LoaderOptions options = pictures_on(device_with(), 0.5);
    change(options);
    CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains(cause));
  };
  refused("gpu_jpeg requires a device", [](LoaderOptions& options) { options.device_options.opened = nullptr; });
  refused("gpu_jpeg must be between 0 and 1", [](LoaderOptions& options) { options.device_options.gpu_jpeg = 1.5; });
  refused("gpu_jpeg must be between 0 and 1",
          [](LoaderOptions& options) { options.device_options.gpu_jpeg = std::nan(""); });
  refused("gpu_jpeg cannot be combined with", [](LoaderOptions& options) { options.cache.kind = CacheKind::encoded; });
  refused("gpu_jpeg cannot be combined with", [](LoaderOptions& options) { options.batch_transform = [](Batch&) {}; });
}

TEST_CASE("a JPEG that the device finds bad meets the error policy, as on the host") {
  for (const OnError policy : {OnError::raise, OnError::replace}) {
    const Pictures data(40);
    const Dataset dataset = data.dataset();
    for (const std::uint64_t number : {9U, 23U}) {
      const std::string whole = data.bytes_of(number);
      data.replace(number, whole.substr(0, whole.size() / 2) + std::string(whole.size() - whole.size() / 2, '\0'));
    }
    LoaderOptions options = on_host(4);
    options.transforms.resize(2);
    options.on_error = policy;
    options.max_error_rate = 1;
    Loader plain(dataset, options);
    options.device_options.opened = device_with();
    options.device_options.gpu_jpeg = 1;
    Loader loader(dataset, options);
    if (policy == OnError::raise) {
      const Error there = failure_of(loader), here = failure_of(plain);
      CHECK(std::string(there.what()) == here.what());
      CHECK(there.kind() == ErrorKind::corrupt);
      CHECK_FALSE(there.context().key.empty());
      continue;
    }
    for (int epoch = 0; epoch < 3; ++epoch) CHECK(digests_of(loader) == digests_of(plain));
    const Stats stats = loader.stats();
    CHECK(stats.bad_samples == plain.stats().bad_samples);
    CHECK(stats.gpu_jpeg_refused >= 3);
    CHECK(stats.gpu_jpeg_rows > 0);
    std::ostringstream table;
    table << stats;
    CHECK(table.str().find("batches were decoded by the CPU") != std::string::npos);
    CHECK(digest_of(loader.at(0, 3)) == digest_of(plain.at(0, 3)));
  }
}

TEST_CASE("rows that the device reads itself stand beside JPEGs that it decodes, also where it finds one bad") {
  const Pictures data(40);
  const std::string whole = data.bytes_of(9);
  data.replace(9, whole.substr(0, whole.size() / 2) + std::string(whole.size() - whole.size() / 2, '\0'));
  DatasetWriterOptions as;
  as.fields = {{.name = "jpg", .codec = "jpeg"},
               {.name = "row", .codec = "raw", .dtype = DType::u8, .shape = {4096}, .fixed = true}};
  {
    DatasetWriter writer(data.folder / "packed", as);
    for (std::uint64_t i = 0; i < 40; ++i) {
      const std::string jpeg = data.bytes_of(i), row(4096, static_cast<char>(i));
      writer.add(
          number_key(i),
          std::vector<FieldValue>{{.field = 0, .bytes = bytes_of(jpeg), .crc32c = crc32c(bytes_of(jpeg)), .header = {}},
                                  {.field = 1, .bytes = bytes_of(row), .crc32c = crc32c(bytes_of(row)), .header = {}}});
    }
    writer.finish();
  }
  const Dataset dataset = open(data.folder / "packed");
  LoaderOptions options = on_host(4);
  options.transforms.resize(1);
  options.transforms.emplace_back("row", array::decode());
  options.on_error = OnError::replace;
  options.max_error_rate = 1;
  Loader plain(dataset, options);
  options.device_options.opened = device_with();
  options.device_options.gpu_jpeg = 1;
  options.device_options.gpu_direct = true;
  Loader loader(dataset, options);
  for (int epoch = 0; epoch < 3; ++epoch) CHECK(digests_of(loader) == digests_of(plain));
  const Stats stats = loader.stats();
  CHECK(stats.gpu_direct == "bounce buffer, the device is a processor: row");
  CHECK(stats.gpu_jpeg_refused >= 3);
  for (std::uint64_t batch = 0; batch < 10; ++batch)
    CHECK(digest_of(loader.at(0, batch)) == digest_of(plain.at(0, batch)));
}

TEST_CASE("a decoder that fails fails its batch, with its words, and those after it come") {
  const Pictures data(60);
  const auto device = device_with();
  const auto decoder = std::make_shared<ToldDecoder>(device);
  std::atomic<int> calls{0};
  decoder->before = [&](std::span<const JpegOnDevice>) {
    if (++calls == 5) throw Error::resource("nvJPEG: nvjpegDecodeBatched: status 6");
  };
  LoaderOptions options = pictures_on(device, 1);
  options.device_options.jpeg_decoder = decoder;
  Loader loader(data.dataset(), options);
  const Error error = failure_of(loader);
  CHECK(error.kind() == ErrorKind::resource);
  CHECK(error.cause().find("status 6") != std::string::npos);
  loader.set_epoch(0);
  Loader plain(data.dataset(), on_host());
  CHECK(digests_of(loader) == digests_of(plain));
}

TEST_CASE("nothing is overwritten that a stream reads, however slow streams and decoder are") {
  const Pictures data(48);
  Loader plain(data.dataset(), on_host(6));
  std::vector<std::uint64_t> expected;
  while (const auto batch = plain.next()) expected.push_back(digest_of_values(batch->fields()));
  std::atomic<unsigned> seed{1};
  const auto pause = [&] { std::this_thread::sleep_for(std::chrono::microseconds(std::minstd_rand(seed++)() % 700)); };
  const auto device = device_with([&](const HostWork&) { pause(); });
  const auto decoder = std::make_shared<ToldDecoder>(device);
  decoder->before = [&](std::span<const JpegOnDevice>) { pause(); };
  LoaderOptions options = pictures_on(device, 0.8, 6);
  options.device_options.jpeg_decoder = decoder;
  options.device_options.gpu_jpeg_bytes = 100'000;
  options.device_options.prefetch = options.memory_options.reserved_batches = 1;
  const auto look = [&](const Batch& batch) -> std::function<int()> {
    return [&, fields = std::vector<Field>(batch.fields().begin(), batch.fields().end()), number = batch.number()] {
      pause();
      return digest_of_values(fields) == expected[number] ? 0 : 1;
    };
  };
  CHECK(looked_at_late(*device, data.dataset(), options, 3, look) == 3 * 8);
}

TEST_CASE("a loader that ends, jumps or fails while JPEGs are decoded gives everything back") {
  const Pictures data(40);
  const Dataset dataset = data.dataset();
  std::mt19937 random(4);
  for (int round = 0; round < 80; ++round) {
    const auto device = restless_device(random, 60);
    LoaderOptions options = pictures_on(device, 0.7);
    options.device_options.gpu_jpeg_bytes = 40'000 + random() % 200'000;
    restless_life(dataset, std::move(options), random);
    CHECK(device->allocated() == 0);
  }
}

}  // namespace penstock::test::gpu_jpeg_test
