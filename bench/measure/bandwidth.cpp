#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <base/caught.hpp>
#include <base/error_number.hpp>
#include <bench/measure/bandwidth.hpp>
#include <bench/measure/stopwatch.hpp>
#include <bench/measure/units.hpp>
#include <device/device.hpp>
#include <formats/io/descriptor.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = std::size_t{4} << 20;
constexpr std::size_t kAlignment = 4096;  // of O_DIRECT, on all file systems that have it
constexpr unsigned kReaders = 4;
constexpr std::size_t kEntries = 100'000;

class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::size_t bytes)
      : bytes_(bytes), data_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes))) {
    if (data_ == nullptr) throw std::bad_alloc();
    std::memset(data_, 1, bytes);  // pages that were never written share one page of zeros
  }
  ~AlignedBuffer() { std::free(data_); }
  AlignedBuffer(AlignedBuffer&&) = delete;
  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

struct BlockOfFile {
  const fs::path* file;
  std::uint64_t offset, length;
};

std::vector<BlockOfFile> blocks_of(std::span<const fs::path> files, std::uint64_t most) {
  std::vector<BlockOfFile> blocks;
  std::uint64_t sum = 0;
  for (const fs::path& file : files) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(file, error);
    for (std::uint64_t offset = 0; !error && offset < size && sum < most; offset += kBlock) {
      blocks.push_back({&file, offset, std::min<std::uint64_t>(kBlock, size - offset)});
      sum += blocks.back().length;
    }
  }
  return blocks;
}

std::string in_flight(unsigned reads, std::uint64_t bytes) {
  return std::to_string(reads) + " reads of " + bytes_text(bytes) + " at a time";
}

// parallel_for() would make an arena within the measured time. Throws an exception when all threads have ended.
void run_threads(unsigned threads, const std::function<void()>& work) {
  std::vector<std::exception_ptr> failures(threads);
  {
    std::vector<std::jthread> running;
    for (std::exception_ptr& failure : failures) running.emplace_back([&] { failure = caught(work); });
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

// One of the threads that read blocks in turn.
class DirectReader {
 public:
  explicit DirectReader(const std::vector<BlockOfFile>& blocks) : blocks_(blocks), buffer_(kBlock) {}

  /// Bytes read, or -errno.
  std::int64_t read(std::uint64_t number) {
    const BlockOfFile& block = blocks_[number % blocks_.size()];
    if (block.file != file_) {
      file_ = block.file;
      open_ = Descriptor(::open(file_->c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_DIRECT));
    }
    if (open_.get() < 0) return -errno;
    const ssize_t got = ::pread(open_.get(), buffer_.data(), kBlock, static_cast<off_t>(block.offset));
    return got < 0 ? -errno : got;
  }

 private:
  const std::vector<BlockOfFile>& blocks_;
  AlignedBuffer buffer_;
  const fs::path* file_ = nullptr;
  Descriptor open_;
};

}  // namespace

std::vector<fs::path> files_to_read(const fs::path& path, std::uint64_t least, std::size_t most) {
  std::vector<std::pair<std::uint64_t, fs::path>> found;
  std::error_code error;
  const auto add = [&](const fs::path& file) {
    std::error_code failure;
    if (!fs::is_regular_file(file, failure) || failure) return;
    const std::uint64_t size = fs::file_size(file, failure);
    if (!failure && size >= std::max<std::uint64_t>(least, 1)) found.emplace_back(size, file);
  };
  if (!fs::is_directory(path, error)) add(path);
  std::size_t entries = 0;
  fs::recursive_directory_iterator walk(path, fs::directory_options::skip_permission_denied, error);
  for (; !error && walk != fs::recursive_directory_iterator() && entries < kEntries; walk.increment(error), ++entries)
    add(walk->path());
  std::ranges::sort(found, [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a < b; });
  if (found.size() > most) found.resize(most);
  std::vector<fs::path> files;
  for (auto& [size, file] : found) files.push_back(std::move(file));
  return files;
}

Bandwidth disk_bandwidth(std::span<const fs::path> files, const BandwidthOptions& options) {
  const std::vector<BlockOfFile> blocks = blocks_of(files, ~std::uint64_t{0});
  if (blocks.empty()) return {.how = "no file to read"};
  std::atomic<std::uint64_t> next{0}, bytes{0};
  std::atomic<std::int64_t> refused{0};
  const auto threads = static_cast<unsigned>(std::clamp<std::uint64_t>(options.memory / kBlock, 1, kReaders));
  const Stopwatch watch(options.time, options.keep_going);
  run_threads(threads, [&] {
    DirectReader reader(blocks);
    do {
      const std::int64_t got = reader.read(next++);
      if (got < 0)
        refused = -got;
      else
        bytes += static_cast<std::uint64_t>(got);
    } while (refused == 0 && !watch.over());
  });
  if (refused != 0) return {.how = "O_DIRECT is refused: " + error_number_name(static_cast<int>(refused))};
  return {static_cast<double>(bytes) / watch.seconds(), in_flight(threads, kBlock) + ", O_DIRECT"};
}

Bandwidth page_cache_bandwidth(std::span<const fs::path> files, const BandwidthOptions& options) {
  const std::vector<BlockOfFile> blocks = blocks_of(files, options.memory);
  if (blocks.empty()) return {.how = "no file to read"};
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  std::uint64_t bytes = 0, pass = 0;
  const auto read = [&] {
    for (const BlockOfFile& block : blocks) {
      const Descriptor file = Descriptor::open(*block.file, O_RDONLY | O_NOCTTY);
      for (std::uint64_t done = 0; done < block.length; done += buffer.size()) {
        const std::span wanted = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), block.length - done));
        pass += read_at(file.get(), wanted, block.offset + done, *block.file);
      }
    }
  };
  read();  // into the page cache
  const Stopwatch watch(options.time, options.keep_going);
  do {
    pass = 0;
    read();
    bytes += pass;
  } while (!watch.over());
  return {static_cast<double>(bytes) / watch.seconds(), "one core, " + bytes_text(pass)};
}

Bandwidth memory_bandwidth(unsigned threads, const BandwidthOptions& options) {
  const std::size_t share = options.memory / 2 / std::max(threads, 1U) / kAlignment * kAlignment;
  if (share == 0) return {.how = "too little memory"};
  std::mutex mutex;  // guards `rate`
  double rate = 0;
  run_threads(threads, [&] {
    const AlignedBuffer from(share), to(share);
    std::uint64_t bytes = 0;
    const Stopwatch watch(options.time, options.keep_going);
    do {
      std::memcpy(to.data(), from.data(), share);
      std::atomic_signal_fence(std::memory_order_seq_cst);  // keeps each copy
      bytes += share;
    } while (!watch.over());
    const double mine = static_cast<double>(bytes) / watch.seconds();
    const std::lock_guard lock(mutex);
    rate += mine;
  });
  return {rate, (threads == 1 ? "one core, " : std::to_string(threads) + " cores, ") + bytes_text(share) + " each"};
}

Bandwidth device_bandwidth(Device& device, const BandwidthOptions& options) {
  const std::size_t size = std::max<std::size_t>(options.memory / 4 / kAlignment * kAlignment, kAlignment);
  const AlignedBuffer from(size);
  struct Pinned {
    Device& device;
    void* data;
    ~Pinned() { device.unpin(data); }
  };
  struct Allocated {
    Device& device;
    void* data;
    ~Allocated() { device.deallocate(data); }
  };
  device.pin(from.data(), size);
  const Pinned pinned{device, from.data()};
  const Allocated to{device, device.allocate(size)};
  const auto stream = device.make_stream();
  const auto begin = device.make_event(), end = device.make_event();
  std::uint64_t bytes = 0;
  double seconds = 0;
  const Stopwatch watch(options.time, options.keep_going);
  do {
    constexpr unsigned kAtOnce = 4;  // hides the start of the copies
    begin->record(stream->handle());
    for (unsigned i = 0; i < kAtOnce; ++i) device.copy_in(to.data, from.data(), size, stream->handle());
    end->record(stream->handle());
    end->wait();
    seconds += std::chrono::duration<double>(device.between(*begin, *end)).count();
    bytes += kAtOnce * size;
  } while (!watch.over());
  return {seconds > 0 ? static_cast<double>(bytes) / seconds : 0,
          "from page-locked memory, copies of " + bytes_text(size) + ", " + device.description()};
}

}  // namespace penstock
