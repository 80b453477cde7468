#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <formats/extent.hpp>
#include <formats/places/object_store.hpp>
#include <penstock/error.hpp>
#include <storage/disk_cache/object_table.hpp>
#include <storage/disk_cache/warm.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kWarmedAtOnce = std::uint64_t{8} << 20;
constexpr std::size_t kWarmedInFlight = 4;
constexpr std::uint64_t kWarmProbes = 256;

// Returns the mean stored size of a value, from a sample of rows.
std::uint64_t mean_stored(const Dataset& dataset) {
  std::uint64_t bytes = 0, values = 0;
  std::vector<Piece> pieces;
  const std::uint64_t probes = std::min(kWarmProbes, dataset.size());
  for (std::uint64_t i = 0; i < probes; ++i)
    for (std::uint32_t field = 0; field < dataset.fields().size(); ++field) {
      if (!dataset.locate(i * (dataset.size() / probes), field, pieces)) continue;
      for (const Piece& piece : pieces) {
        const bool plain = piece.kind == Piece::Kind::extent;
        if (!plain && piece.kind != Piece::Kind::block) continue;
        bytes += plain ? piece.extent.length : dataset.block(piece.block).extent.length;
        ++values;
      }
    }
  return values == 0 ? 0 : bytes / values;
}

// Blocks of one object that are requested together.
struct WarmRange {
  std::shared_ptr<const StoredObject> stored;
  std::shared_ptr<CachedObject> object;
  std::uint64_t begin = 0;
  std::vector<std::byte> bytes = {};
  std::exception_ptr failure = {};
};

class Warming {
 public:
  Warming(DiskCache& cache, const Dataset& dataset, const std::function<bool(std::uint64_t, std::uint64_t)>& progress)
      : cache_(cache), dataset_(dataset), progress_(progress) {
    reader_ = object_store().reader([this](std::uint64_t tag, std::exception_ptr failure) {
      const std::scoped_lock lock(mutex_);
      auto* const range = reinterpret_cast<WarmRange*>(tag);
      range->failure = std::move(failure);
      const auto place = std::ranges::find_if(sent_, [&](const WarmRange& one) { return &one == range; });
      came_.splice(came_.end(), sent_, place);
      changed_.notify_one();
    });
  }
  ~Warming() { reader_->stop(); }
  Warming(Warming&&) = delete;

  Warmed run() {
    const std::uint64_t mean = mean_stored(dataset_);
    std::set<CachedObjectId> met;
    std::vector<std::shared_ptr<const StoredObject>> all;
    for (std::uint32_t file = 0; file < dataset_.file_count(); ++file)
      if (const auto& stored = dataset_.stored_object(file);
          stored != nullptr && met.insert(CachedObjectId::of(*stored)).second)
        all.push_back(stored);
    if (all.empty())
      throw Error::invalid_argument("is not in a store, so there is nothing to cache",
                                    {.dataset = dataset_.path().string()});
    for (const auto& stored : all) warmed_.total += stored->info.size;
    for (const auto& stored : all)
      if (const auto object = full_ ? nullptr : cache_.object(*stored, mean)) bring(stored, object);
    while (under_way()) settle();
    tell();
    return warmed_;
  }

 private:
  void bring(const std::shared_ptr<const StoredObject>& stored, const std::shared_ptr<CachedObject>& object) {
    const std::uint64_t size = object->block_bytes(), blocks = object->block_count();
    const auto end_of = [&](std::uint64_t block) { return std::min((block + 1) * size, stored->info.size); };
    for (std::uint64_t block = 0; block < blocks && !full_;) {
      if (object->has(block)) {
        warmed_.bytes += end_of(block) - block * size;
        ++block;
        continue;
      }
      const std::uint64_t first = block;
      while (block < blocks && !object->has(block) && (block + 1 - first) * size <= kWarmedAtOnce) ++block;
      ask({.stored = stored, .object = object, .begin = first * size}, end_of(block - 1) - first * size);
    }
  }

  void ask(WarmRange range, std::uint64_t length) {
    while (under_way() >= kWarmedInFlight) settle();
    if (full_) return;
    range.bytes.resize(length);
    std::vector<RangeRead> reads;
    {
      const std::scoped_lock lock(mutex_);
      WarmRange& sent = sent_.emplace_back(std::move(range));
      reads.push_back({sent.stored, {{sent.begin, sent.bytes}}, reinterpret_cast<std::uint64_t>(&sent)});
    }
    reader_->submit(std::move(reads));
  }

  std::size_t under_way() {
    const std::scoped_lock lock(mutex_);
    return sent_.size() + came_.size();
  }

  // Waits for a range and keeps its blocks.
  void settle() {
    std::list<WarmRange> done;
    while (done.empty()) {
      tell();
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(100), [this] { return !came_.empty(); });
      if (!came_.empty()) done.splice(done.end(), came_, came_.begin());
    }
    const WarmRange& range = done.front();
    if (range.failure != nullptr) std::rethrow_exception(range.failure);
    warmed_.fetched += range.bytes.size();
    const std::uint64_t size = range.object->block_bytes();
    for (std::uint64_t at = 0; at < range.bytes.size() && !full_; at += size) {
      const std::uint64_t length = std::min<std::uint64_t>(size, range.bytes.size() - at);
      if (range.object->keep((range.begin + at) / size, std::span(range.bytes).subspan(at, length)))
        warmed_.bytes += length;
      else
        full_ = true;
    }
  }

  void tell() const {
    if (!progress_(warmed_.bytes, warmed_.total)) throw Error::resource("interrupted");
  }

  DiskCache& cache_;
  const Dataset& dataset_;
  const std::function<bool(std::uint64_t, std::uint64_t)>& progress_;
  Warmed warmed_;
  bool full_ = false;
  std::mutex mutex_;  // guards the lists
  std::condition_variable changed_;
  std::list<WarmRange> sent_, came_;
  std::unique_ptr<RangeReader> reader_;
};

}  // namespace

Warmed warm(DiskCache& cache, const Dataset& dataset,
            const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  return Warming(cache, dataset, progress).run();
}

}  // namespace penstock
