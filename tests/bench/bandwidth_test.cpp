#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <bench/measure/bandwidth.hpp>
#include <bench/measure/sample_bytes.hpp>
#include <bench/report/bandwidth_report.hpp>
#include <bench/synth/workload.hpp>
#include <device/host/host_device.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>

#include "support/bytes_read.hpp"
#include "support/folder_store.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::bandwidth_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

const BandwidthOptions kShort{.time = 20ms, .memory = std::uint64_t{8} << 20};

fs::path file_of(const TemporaryFolder& folder, const std::string& name, std::size_t size) {
  const fs::path path = folder / name;
  std::ofstream(path, std::ios::binary) << std::string(size, 'x');
  return path;
}

// The rate lies between the counted bytes over the whole time of the call, and those over the shortest time.
void check_between(const Bandwidth& found, std::uint64_t bytes, Clock::duration all, std::chrono::milliseconds least) {
  const auto counted = static_cast<double>(bytes);
  CHECK(found.bytes_per_s >= counted / std::chrono::duration<double>(all).count() * 0.999);
  CHECK(found.bytes_per_s <= counted / std::chrono::duration<double>(least).count());
}

}  // namespace

TEST_CASE("files to read are the largest regular files") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "inner");
  const fs::path small = file_of(folder, "small", 10), large = file_of(folder, "inner/large", 3000);
  const fs::path middle = file_of(folder, "middle", 200);
  file_of(folder, "empty", 0);
  CHECK(files_to_read(folder.path()) == std::vector{large, middle, small});
  CHECK(files_to_read(folder.path(), 200) == std::vector{large, middle});
  CHECK(files_to_read(folder.path(), 1, 1) == std::vector{large});
  CHECK(files_to_read(middle) == std::vector{middle});
  CHECK(files_to_read(folder / "none").empty());
}

TEST_CASE("the disk's rate is that of the bytes that were read past the page cache") {
  const TemporaryFolder folder;
  const std::vector<fs::path> files{file_of(folder, "a", (std::size_t{5} << 20) + 77), file_of(folder, "b", 4096)};
  const std::uint64_t before = bytes_read();
  const auto begin = Clock::now();
  const Bandwidth found = disk_bandwidth(files, kShort);
  const auto took = Clock::now() - begin;
  if (found.bytes_per_s == 0) {
    CHECK(found.how == "O_DIRECT is refused: EINVAL");  // tmpfs
  } else {
    check_between(found, bytes_read() - before, took, kShort.time);
    CHECK(found.how == "2 reads of 4.0 MiB at a time, O_DIRECT");
  }
  CHECK(disk_bandwidth({}, kShort).how == "no file to read");
  CHECK(disk_bandwidth(std::vector{folder / "none"}, kShort).bytes_per_s == 0);
}

TEST_CASE("the page cache's rate is that of the bytes after the first pass") {
  const TemporaryFolder folder;
  const std::vector<fs::path> files{file_of(folder, "a", (std::size_t{3} << 20) + 5), file_of(folder, "b", 1 << 20)};
  const std::uint64_t pass = (std::uint64_t{4} << 20) + 5;
  const std::uint64_t before = bytes_read();
  const auto begin = Clock::now();
  const Bandwidth found = page_cache_bandwidth(files, kShort);
  const auto took = Clock::now() - begin;
  check_between(found, bytes_read() - before - pass, took, kShort.time);
  CHECK(found.how == "one core, 4.0 MiB");
}

TEST_CASE("at most the allowed memory is read into the page cache") {
  const TemporaryFolder folder;
  const std::vector<fs::path> files{file_of(folder, "a", std::size_t{12} << 20)};
  CHECK(page_cache_bandwidth(files, kShort).how == "one core, 8.0 MiB");
}

TEST_CASE("memory and loopback have a rate") {
  CHECK(memory_bandwidth(1, kShort).bytes_per_s > 0);
  CHECK(memory_bandwidth(1, kShort).how == "one core, 4.0 MiB each");
  CHECK(memory_bandwidth(2, kShort).how == "2 cores, 2.0 MiB each");
  CHECK(loopback_bandwidth(kShort).bytes_per_s > 0);
}

TEST_CASE("a device's rate is that of its copies") {
  std::atomic<std::uint64_t> copied{0};
  HostDevice device(0, {.before = [&](const HostWork& work) {
                      if (work.kind == HostWork::Kind::copy_in) copied += work.bytes;
                    }});
  const auto begin = Clock::now();
  const Bandwidth found = device_bandwidth(device, kShort);
  const double wall = std::chrono::duration<double>(Clock::now() - begin).count();
  CHECK(copied % (4 * (std::uint64_t{2} << 20)) == 0);
  CHECK(found.bytes_per_s >= static_cast<double>(copied) / wall);
  CHECK(found.how.starts_with("from page-locked memory, copies of 2.0 MiB, "));
}

TEST_CASE("a store's rate is that of the ranges that it answered") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "bucket");
  file_of(folder, "bucket/a", (std::size_t{5} << 20) + 1);
  FolderStore store(folder.path());
  const auto object = std::make_shared<const StoredObject>(
      StoredObject{.address = "s3://bucket/a", .info = store.find("s3://bucket/a").value()});
  const auto begin = Clock::now();
  const Bandwidth found = store_bandwidth(std::vector{object}, kShort);
  const double wall = std::chrono::duration<double>(Clock::now() - begin).count();
  CHECK(found.bytes_per_s > 0);
  CHECK(found.bytes_per_s * wall >= static_cast<double>(store.bytes) - static_cast<double>(kShort.memory));
  CHECK(found.how == "2 requests of up to 4.0 MiB at a time");
  CHECK(store_bandwidth({}, kShort).how == "no object to read");
  store.before = [](const std::string& verb, const std::string&) {
    if (verb == "range") throw Error::io(5, "planted");
  };
  CHECK_THROWS_WITH(store_bandwidth(std::vector{object}, kShort), doctest::Contains("planted"));
}

TEST_CASE("each measurement ends when it is interrupted") {
  const TemporaryFolder folder;
  const std::vector<fs::path> files{file_of(folder, "a", 4096)};
  BandwidthOptions options = kShort;
  options.time = 1h;
  options.keep_going = [] { return false; };
  CHECK_THROWS_WITH(page_cache_bandwidth(files, options), doctest::Contains("interrupted"));
  CHECK_THROWS_WITH(memory_bandwidth(2, options), doctest::Contains("interrupted"));
  CHECK_THROWS_WITH(loopback_bandwidth(options), doctest::Contains("interrupted"));
}

TEST_CASE("the bytes of a sample are those of the files and of the batches") {
  const TemporaryFolder folder;
  synth_icons(folder / "icons", {.count = 90}, {});
  const Dataset dataset = open(folder / "icons");
  const Task task = guess_task(dataset);
  const SampleBytes found = sample_bytes(dataset, task);
  double files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "icons"))
    if (entry.path().extension() == ".png") files += static_cast<double>(entry.file_size());
  CHECK(found.stored == doctest::Approx(files / 90));
  Loader loader(dataset, {.batch_size = 9, .workers = 1, .transforms = task.fields});
  const auto batch = loader.next();
  REQUIRE(batch.has_value());
  double delivered = 0;
  for (const Field& field : batch->fields()) delivered += static_cast<double>(field.values.bytes());
  CHECK(found.delivered == doctest::Approx(delivered / 9));
}

TEST_CASE("the table shows the needs of a step, and the sentence names the limit") {
  using Bytes = BandwidthRow::Bytes;
  const SampleBytes sample{.stored = 1e5, .delivered = 6e5};
  std::vector<BandwidthRow> rows{{"disk", Bytes::stored, {50e6, "O_DIRECT"}},
                                 {"memory copy", Bytes::delivered, {6e9, "one core"}},
                                 {"PCIe", Bytes::delivered, {.how = "no GPU"}},
                                 {"loopback", Bytes::none, {1e9, "TCP"}, false}};
  CHECK(bandwidth_table(rows, sample, 1000) ==
        "resource     MB/s  samples/s  needed MB/s  use %\n"
        "disk         50.0        500          100    200  O_DIRECT\n"
        "memory copy  6000     10,000          600     10  one core\n"
        "PCIe            -          -          600      -  no GPU\n"
        "loopback     1000          -            -      -  TCP\n");
  CHECK(bandwidth_table(rows, {}, {}).starts_with("resource     MB/s\n"));
  CHECK(bandwidth_limit(rows, sample, 1000) ==
        "The limit is the disk: 50.0 MB/s are 500 samples/s of 100,000 bytes, and the step needs 1,000 samples/s.");
  CHECK(bandwidth_limit(rows, sample, 400) ==
        "No resource is the limit. The slowest is the disk: 50.0 MB/s are 500 samples/s of 100,000 bytes, and the "
        "step needs 400 samples/s.");
  rows[0].limits = false;  // the dataset is in the page cache
  CHECK(bandwidth_limit(rows, sample, {}) ==
        "The slowest is the memory copy: 6000 MB/s are 10,000 samples/s of 600,000 bytes. The disk does not count: the "
        "files are in the page cache.");
  CHECK(bandwidth_limit(rows, {}, 1000).empty());
}

}  // namespace penstock::test::bandwidth_test
