#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>

#include <base/processor/streamed_copy.hpp>
#include <base/sigbus_guard.hpp>
#include <formats/extent.hpp>
#include <formats/io/crc32c.hpp>
#include <storage/read/gather_engine.hpp>
#include <storage/read/read_vector.hpp>

namespace penstock {
namespace {

bool inside(const ReadRequest& request, std::uint64_t size) {
  const Extent& extent = request.extent;
  return extent.length != 0 && extent.offset <= size && extent.length <= size - extent.offset;
}

// A fault jumps out of this function without running destructors, so no object here may need one.
void serve_request(const ReadRequest& request, const std::byte* from) {
  const std::span<const std::byte> bytes(from, request.extent.length);
  if (request.sum != nullptr && request.streamed) {
    request.sum->crc32c = copy_with_crc32c(request.destination, bytes);
    request.sum->known = true;
  } else if (request.streamed) {
    copy_streamed(request.destination, bytes);
  } else {
    std::memcpy(request.destination, bytes.data(), bytes.size());
  }
}

// Copies requests that are inside the file mapped at `base`, and prefetches the first lines of the next ones meanwhile.
// Returns the number of requests served: all, or those before the first that faulted.
std::size_t gather(const std::byte* base, std::span<const ReadRequest> requests) {
  constexpr std::size_t kAhead = 12;  // cache lines in flight: about the limit of a core
  volatile std::size_t copied = 0;    // volatile: read after a jump out of the loop
  const bool whole = guarded([&] {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (i + kAhead < requests.size()) __builtin_prefetch(base + requests[i + kAhead].extent.offset);
      const ReadRequest& request = requests[i];
      serve_request(request, base + request.extent.offset);
      copied = i + 1;
    }
  });
  return whole ? requests.size() : copied;
}

}  // namespace

class MappedFile {
 public:
  MappedFile(std::shared_ptr<const OpenFile> file, bool scattered) : file_(std::move(file)) {
    if (file_->size == 0) return;
    memory_ = mmap(nullptr, static_cast<std::size_t>(file_->size), PROT_READ, MAP_SHARED, file_->fd, 0);
    if (memory_ == MAP_FAILED && errno != ENOMEM) throw Error::io(errno, "cannot map the file");
    if (memory_ == MAP_FAILED) return;  // no address space is left: a limit, or a small machine
    if (scattered) madvise(memory_, static_cast<std::size_t>(file_->size), MADV_RANDOM);
  }
  ~MappedFile() {
    if (memory_ != nullptr && memory_ != MAP_FAILED) munmap(memory_, static_cast<std::size_t>(file_->size));
  }
  MappedFile(MappedFile&&) = delete;

  bool mapped() const { return memory_ != MAP_FAILED; }
  const OpenFile& file() const { return *file_; }
  const std::byte* bytes() const { return static_cast<const std::byte*>(memory_); }
  /// Number of mapped bytes that are in the file at this moment.
  std::uint64_t size_now() const {
    struct stat status {};
    if (fstat(file_->fd, &status) != 0) return 0;
    return std::min(file_->size, static_cast<std::uint64_t>(status.st_size));
  }

 private:
  std::shared_ptr<const OpenFile> file_;
  void* memory_ = nullptr;
};

GatherEngine::GatherEngine(std::shared_ptr<EngineCore> core, bool scattered)
    : core_(std::move(core)), scattered_(scattered), mappings_(kMappings) {}

GatherEngine::~GatherEngine() {
  core_->gate.close();
}

bool GatherEngine::stop(std::chrono::milliseconds) {
  core_->gate.close();
  return true;
}

void GatherEngine::submit(std::span<const ReadRequest> requests) {
  const BusyTime busy(core_->counters);
  core_->counters.asked(requests);
  while (!requests.empty()) {
    const std::uint32_t file = requests.front().extent.file;
    const auto other = std::ranges::find_if(requests, [&](const ReadRequest& r) { return r.extent.file != file; });
    const auto count = static_cast<std::size_t>(other - requests.begin());
    serve(requests.first(count));
    requests = requests.subspan(count);
  }
}

// Serves requests of one file. Requests inside the file are copied together; a request that cannot be copied is handled
// separately.
void GatherEngine::serve(std::span<const ReadRequest> requests) {
  std::shared_ptr<const MappedFile> mapping;
  while (!requests.empty()) {
    const ReadRequest& first = requests.front();
    try {
      if (mapping == nullptr) {
        if (!core_->admits(first)) {
          requests = requests.subspan(1);
          continue;
        }
        mapping = mapped(first.extent.file);
      }
      if (!mapping->mapped()) {
        if (core_->admits(first)) read(first, mapping->file());
        requests = requests.subspan(1);
        continue;
      }
      const std::uint64_t size = mapping->size_now();
      const auto outside = std::ranges::find_if_not(requests, [&](const ReadRequest& r) { return inside(r, size); });
      const auto whole = requests.first(static_cast<std::size_t>(outside - requests.begin()));
      auto copied = requests.first(gather(mapping->bytes(), whole));
      // If the file was truncated during the copy, its last page contains zeros after the new end and does not fault.
      const std::uint64_t size_left = mapping->size_now();
      if (size_left < size)
        copied = copied.first(static_cast<std::size_t>(
            std::ranges::find_if_not(copied, [&](const ReadRequest& r) { return inside(r, size_left); }) -
            copied.begin()));
      core_->counters.issued(copied);
      core_->answer_all(copied);
      requests = requests.subspan(copied.size());
      if (requests.empty()) return;
      if (core_->admits(requests.front())) {
        copy(requests.front(), *mapping, size_left);
        core_->answer(requests.front().tag);
      }
    } catch (...) {
      core_->fail(requests.front(), std::current_exception());
    }
    requests = requests.subspan(1);
  }
}

void GatherEngine::copy(const ReadRequest& request, const MappedFile& file, std::uint64_t size) {
  const Extent& extent = request.extent;
  core_->counters.issued(extent.length);
  if (extent.offset > size || extent.length > size - extent.offset) throw core_->files.ends_inside(extent);
  const auto length = static_cast<std::size_t>(extent.length);
  const bool copied = copy_from_mapping(request.destination, file.bytes() + extent.offset, length);
  // The file was truncated after the check above, or the storage failed.
  if (extent.offset + extent.length > file.size_now()) throw core_->files.ends_inside(extent);
  if (!copied) throw core_->files.failed(extent, EIO);
}

void GatherEngine::read(const ReadRequest& request, const OpenFile& file) {
  ReadVector target;
  target.assign(request.destination, request.extent.length);
  const ReadEnd end = read_fully(file.fd, request.extent.offset, target, core_->counters, {});
  if (end.errnum != 0) throw core_->files.failed(request.extent, end.errnum);
  if (!target.full()) throw core_->files.ends_inside(request.extent);
  core_->answer(request.tag);
}

std::shared_ptr<const MappedFile> GatherEngine::mapped(std::uint32_t file) {
  {
    const std::lock_guard lock(mutex_);
    if (auto found = mappings_.find(file)) return found;
  }
  std::shared_ptr<const MappedFile> mapping;
  try {
    mapping = std::make_shared<const MappedFile>(core_->open(file), scattered_);
  } catch (const Error& error) {
    throw error.in({.shard = core_->files.shard(file)});
  }
  std::shared_ptr<const MappedFile> replaced;  // unmapped after the lock is released
  const std::lock_guard lock(mutex_);
  replaced = mappings_.keep(file, mapping);
  return mapping;
}

}  // namespace penstock
