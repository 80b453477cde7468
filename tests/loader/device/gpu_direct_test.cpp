// Rows that a device reads from their files itself: the same batches as through the host, whatever goes wrong, and no
// memory written that somebody reads. The device is a processor that reads with pread.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <device/device.hpp>
#include <formats/text/numpy_text.hpp>

#include "support/device_loading.hpp"
#include "support/restless.hpp"
#include "support/thread_count.hpp"
#include "support/written_formats.hpp"

namespace penstock::test::gpu_direct_test {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kRowBytes = 64 * 64 * 3;
constexpr std::size_t kHeader = 128;

/// An array of `rows` images of 64 x 64: each row begins with its number, the rest is noise.
struct Images {
  explicit Images(std::uint64_t rows) : path(folder / "images.npy") {
    std::mt19937_64 random(5);
    std::string file = npy_header_text(DType::u8, {static_cast<std::int64_t>(rows), 64, 64, 3});
    REQUIRE(file.size() == kHeader);
    for (std::uint64_t row = 0; row < rows; ++row) {
      std::vector<std::uint64_t> values(kRowBytes / 8);
      for (std::uint64_t& value : values) value = random();
      values.front() = row;
      file.append(reinterpret_cast<const char*>(values.data()), kRowBytes);
    }
    write_file(path, file);
  }
  Dataset dataset() const { return open(path); }
  void cut_to(std::uint64_t rows, std::uint64_t more = 0) const {
    std::filesystem::resize_file(path, kHeader + rows * kRowBytes + more);
  }
  TemporaryFolder folder;
  std::filesystem::path path;
};

std::vector<FieldChain> several_outputs() {
  const std::vector<float> half{0.5F, 0.5F, 0.5F};
  const Chain value = field("value");
  return {{"crop", value | image::random_resized_crop(16)},
          {"rows", value | array::decode()},
          {"numbers", value | image::decode() | image::normalize(half, half)},
          {"stored", value | raw()}};
}

LoaderOptions images_on(std::shared_ptr<Device> device, std::uint32_t batch_size = 8) {
  LoaderOptions options{.batch_size = batch_size, .shuffle = true, .workers = 2};
  options.transforms = several_outputs();
  options.device_options.gpu_direct = device != nullptr;
  options.device_options.opened = std::move(device);
  return options;
}

LoaderOptions rows_alone(std::shared_ptr<Device> device, std::uint32_t batch_size = 8) {
  LoaderOptions options = images_on(std::move(device), batch_size);
  options.transforms = {{"value", array::decode()}};
  options.shuffle = false;
  return options;
}

std::shared_ptr<HostDevice> answering(std::function<std::int64_t(std::int64_t)> answer) {
  return std::make_shared<HostDevice>(0, HostDeviceOptions{.file_answer = std::move(answer)});
}

}  // namespace

TEST_CASE("batches with rows that the device reads are those of the host, for every engine") {
  const Images data(53);
  const Dataset dataset = data.dataset();
  Loader plain(dataset, images_on(nullptr));
  for (const EngineKind kind : {EngineKind::in_worker, EngineKind::pread}) {
    std::atomic<std::uint64_t> crossed{0}, read{0};
    const auto device = device_with([&](const HostWork& work) {
      if (work.kind == HostWork::Kind::copy_in) crossed += work.bytes;
      if (work.kind == HostWork::Kind::file_read) read += work.bytes;
    });
    LoaderOptions options = images_on(device);
    options.read_options.engine = kind;
    Loader loader(dataset, options);
    check_alike(loader, plain, 3);
    CHECK(read >= 3 * 53 * 2 * kRowBytes);
    CHECK(crossed < read);  // "stored" and the crops: no row of the others
    const Stats stats = loader.stats();
    CHECK(stats.gpu_direct == "bounce buffer, the device is a processor: rows, numbers");
    CHECK(stats.gpu_direct_bytes >= 3 * 53 * 2 * kRowBytes);
    CHECK(stats.gpu_direct_bytes <= read);  // some may be under way
    std::ostringstream table;
    table << stats;
    CHECK(table.str().find(" MB, bounce buffer, the device is a processor: rows, numbers\n") != std::string::npos);
  }
}

TEST_CASE("rows that the device reads are counted as ones that nobody checked") {
  const Images data(20);
  LoaderOptions options = rows_alone(device_with(), 4);
  options.checksums = Checksums::always;
  Loader loader(data.dataset(), options);
  while (loader.next()) {
  }
  const CheckStats checks = loader.stats().checks;
  CHECK(checks.checked == 0);
  CHECK(checks.unchecked >= 20);
  CHECK(checks.unchecked_bytes == checks.unchecked * kRowBytes);
}

TEST_CASE("every packing whose rows are plain extents is read so, and the others say why not") {
  const Images data(20);
  for (const std::string& format : written_formats()) {
    const Dataset dataset = packed(data.dataset(), data.folder / format, format);
    Loader plain(dataset, rows_alone(nullptr)), loader(dataset, rows_alone(device_with()));
    CHECK(digests_of(loader) == digests_of(plain));
    const Stats stats = loader.stats();
    MESSAGE(format << ": " << stats.gpu_direct);
    const bool used = stats.gpu_direct == "bounce buffer, the device is a processor: value";
    CHECK((used || stats.gpu_direct.find("not used: no output's rows are stored as they are") == 0));
    CHECK((stats.gpu_direct_bytes != 0) == used);
    if (format == "tar" || format == "hdf5") CHECK(used);
  }
}

TEST_CASE("where it cannot be had the stats say why, and batches come through the host") {
  const Images data(20);
  Loader plain(data.dataset(), rows_alone(nullptr));
  CHECK(plain.stats().gpu_direct.empty());
  const auto device = std::make_shared<HostDevice>(0, HostDeviceOptions{.refuse_files = "no cuFile"});
  Loader loader(data.dataset(), rows_alone(device));
  CHECK(digests_of(loader) == digests_of(plain));
  CHECK(loader.stats().gpu_direct == "not used: host:0: no cuFile");
  CHECK(loader.stats().gpu_direct_bytes == 0);
  const Arrays small(8);
  Loader of_small(small.dataset(), {.device_options = {.gpu_direct = true, .opened = device_with()}});
  CHECK(of_small.stats().gpu_direct.find("not used: no output's rows") == 0);
}

TEST_CASE("what does not go together is refused when the loader is made") {
  const Images data(8);
  LoaderOptions options = rows_alone(nullptr);
  options.device_options.gpu_direct = true;
  CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains("gpu_direct requires a device"));
  options = rows_alone(device_with());
  options.batch_transform = [](Batch&) {};
  CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains("gpu_direct cannot be combined with"));
  options = rows_alone(device_with());
  options.cache.kind = CacheKind::encoded;
  CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains("gpu_direct cannot be combined with"));
}

TEST_CASE("short reads and interruptions change nothing, and a failing read is tried again") {
  const Images data(40);
  Loader plain(data.dataset(), images_on(nullptr));
  std::atomic<unsigned> asked{0};
  Loader loader(data.dataset(), images_on(answering([&](std::int64_t answer) -> std::int64_t {
                  switch (asked++ % 7) {
                    case 1:
                      return -EINTR;
                    case 3:
                      return answer > 100 ? answer / 3 : answer;
                    case 5:
                      return -EAGAIN;
                    default:
                      return answer;
                  }
                })));
  CHECK(digests_of(loader) == digests_of(plain));
  CHECK(asked > 80);
  Loader failing_once(data.dataset(),
                      images_on(answering([&, left = std::make_shared<std::atomic<int>>(2)](std::int64_t answer) {
                        return (*left)-- > 0 ? -EIO : answer;
                      })));
  plain.set_epoch(0);
  CHECK(digests_of(failing_once) == digests_of(plain));
}

TEST_CASE("a read that fails for good is one error with its row, and the batches after it come") {
  const Images data(40);
  const std::uint64_t bad = kHeader + 19 * kRowBytes;
  std::atomic<bool> failing{false};
  const auto device = std::make_shared<HostDevice>(
      0, HostDeviceOptions{.file_answer = [&](std::int64_t answer) { return failing ? -EIO : answer; }});
  LoaderOptions options = rows_alone(device, 1);
  options.on_error = OnError::replace;  // which I/O errors are none of
  options.prefetch = options.device_options.prefetch = 1;
  Loader loader(data.dataset(), options);
  for (int i = 0; i < 10; ++i) CHECK(loader.next()->number() == static_cast<std::uint64_t>(i));
  failing = true;
  const Error error = failure_of(loader);
  failing = false;
  CHECK(error.kind() == ErrorKind::io);
  CHECK(error.context().dataset == data.path.string());
  CHECK(error.context().shard == "images.npy");
  CHECK(error.context().field == "value");
  CHECK_FALSE(error.context().key.empty());
  CHECK(error.context().offset.value() < bad);
  CHECK(error.cause().find("Input/output error") != std::string::npos);
  loader.set_epoch(0);
  Loader plain(data.dataset(), rows_alone(nullptr, 1));
  CHECK(digests_of(loader) == digests_of(plain));  // memory and events of the failed batch are whole
}

TEST_CASE("a file that was cut since it was opened is told as on the host, whatever the error policy") {
  for (const OnError policy : {OnError::raise, OnError::replace, OnError::mark}) {
    const Images data(40);
    const Dataset dataset = data.dataset();
    data.cut_to(30, 100);
    LoaderOptions options = rows_alone(nullptr);
    options.shuffle = true;
    options.on_error = policy;
    options.max_error_rate = 1;
    Loader plain(dataset, options);
    options.device_options.opened = device_with();
    options.device_options.gpu_direct = true;
    Loader loader(dataset, options);
    const Error there = failure_of(loader), here = failure_of(plain);
    CHECK(std::string(there.what()) == here.what());
    CHECK(there.kind() == ErrorKind::invalid_argument);
    CHECK(there.cause().find("was replaced or written to") == 0);
  }
}

TEST_CASE("a file that is cut while it is read is told with the row, and nothing is replaced") {
  const Images data(400);
  LoaderOptions options = rows_alone(device_with());
  options.on_error = OnError::replace;
  Loader loader(data.dataset(), options);
  loader.next();
  data.cut_to(300, 7);
  const Error error = failure_of(loader);
  CHECK(error.cause().find("was replaced or written to") != std::string::npos);
  CHECK(error.context().key.find("300") != std::string::npos);
  CHECK(error.context().offset == kHeader + 300 * kRowBytes);
  CHECK(error.context().shard == "images.npy");
  CHECK(error.context().field == "value");
}

TEST_CASE("a device that fails in a read fails the loader, with its words") {
  const Images data(100);
  const auto device = device_with([](const HostWork& work) {
    if (work.number == 60) throw std::runtime_error("struck by lightning");
  });
  Loader loader(data.dataset(), images_on(device));
  const Error error = failure_of(loader);
  CHECK(error.kind() == ErrorKind::resource);
  CHECK(error.cause().find("struck by lightning") != std::string::npos);
  CHECK_THROWS_AS(loader.next(), Error);
}

TEST_CASE("nothing is read into memory that a stream of the consumer still reads") {
  const Images data(200);
  std::atomic<unsigned> seed{1};
  const auto pause = [&] { std::this_thread::sleep_for(std::chrono::microseconds(std::minstd_rand(seed++)() % 400)); };
  const auto device = device_with([&](const HostWork&) { pause(); });
  LoaderOptions options = rows_alone(device);
  options.shuffle = true;
  options.device_options.prefetch = options.memory_options.reserved_batches = 1;
  const auto look = [&](const Batch& batch) -> std::function<int()> {
    const std::vector<std::uint64_t> expected(batch.samples().begin(), batch.samples().end());
    return [&, values = batch["value"].values.data, expected] {
      pause();
      int wrong = 0;
      for (std::size_t row = 0; row < expected.size(); ++row)
        wrong += std::memcmp(values + row * kRowBytes, &expected[row], sizeof expected[row]) != 0 ? 1 : 0;
      return wrong;
    };
  };
  CHECK(looked_at_late(*device, data.dataset(), options, 2, look) == 2 * 25);
  CHECK(device->attached() == 0);
}

TEST_CASE("a loader that ends or jumps while reads are under way gives everything back") {
  const Images data(60);
  const Dataset dataset = data.dataset();
  const std::ptrdiff_t before = thread_count();
  std::mt19937 random(21);
  for (int round = 0; round < 120; ++round) {
    const auto device = restless_device(random, 60);
    LoaderOptions options = images_on(device);
    options.read_options.threads = static_cast<unsigned>(1 + random() % 4);
    options.read_options.engine = random() % 2 == 0 ? EngineKind::pread : EngineKind::in_worker;
    restless_life(dataset, std::move(options), random);
    CHECK(device->allocated() == 0);
    CHECK(device->attached() == 0);
  }
  CHECK(threads_down_to(before) <= before);
}

TEST_CASE("rows that nobody wants any more are not read: a loader ends, and jumps, in the midst of a batch") {
  const Images data(60);
  std::atomic<unsigned> reads{0};
  const auto device = device_with([&](const HostWork& work) {
    if (work.kind != HostWork::Kind::file_read) return;
    ++reads;
    reads.notify_all();
    std::this_thread::sleep_for(20ms);
  });
  LoaderOptions options = rows_alone(device, 60);
  options.read_options.threads = 1;
  Loader plain(data.dataset(), rows_alone(nullptr, 60));
  plain.set_epoch(1);
  {
    Loader loader(data.dataset(), options);
    reads.wait(0);
    loader.set_epoch(1);
    CHECK(digests_of(loader) == digests_of(plain));
    CHECK(reads < 60 + 30);
    reads = 0;
    reads.wait(0);
  }
  CHECK(reads < 30);
}

TEST_CASE("reads that never come back do not keep their loader from ending") {
  const Images data(60);
  std::promise<void> opened;
  const auto open = opened.get_future().share();
  const auto device = device_with([open](const HostWork& work) {
    if (work.kind == HostWork::Kind::file_read) open.wait();
  });
  LoaderOptions options = images_on(device);
  options.timeout = 200ms;
  const auto begun = std::chrono::steady_clock::now();
  {
    Loader loader(data.dataset(), options);
    CHECK_THROWS_WITH(loader.next(), doctest::Contains("no batch within 200 ms"));
  }
  CHECK(std::chrono::steady_clock::now() - begun < 30s);
  opened.set_value();
}

}  // namespace penstock::test::gpu_direct_test
