#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <tuple>
#include <utility>

#include <base/caught.hpp>
#include <formats/extent.hpp>
#include <formats/places/object_store.hpp>
#include <penstock/error.hpp>
#include <storage/read/coalesce.hpp>
#include <storage/read/disk_cache_use.hpp>
#include <storage/read/store_engine.hpp>

namespace penstock {

struct StoredRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
};

/// A file and the number of a cached block.
using BlockNumber = std::pair<std::uint32_t, std::uint64_t>;

/// Requests of one file that are answered together. A job is in exactly one place at a time: in one of the four lists
/// of State, or with the thread that serves it. Therefore each request is answered exactly once.
struct StoreJob {
  std::vector<ReadRequest> requests = {};
  StoredRange wanted = {};                   ///< with a cache: the whole blocks around all requests
  StoredRange fetched = {};                  ///< part of `wanted` that is fetched from the store; empty: the cache has
                                             ///< all blocks, or will have them once other jobs have fetched them
  std::multiset<BlockNumber> blocks = {};    ///< the fetched blocks, until State::fetching has them
  std::unique_ptr<std::byte[]> buffer = {};  ///< the fetched blocks; allocated once the window has room
  std::size_t ranges = 0;                    ///< ranges that the store has not answered yet
  std::exception_ptr failure = {};
  std::list<StoreJob>::iterator self = {};  ///< position in State::sent

  std::uint32_t file() const { return requests.front().extent.file; }
};

using StoreJobs = std::list<StoreJob>;

namespace {

// Bytes that a thread reads from the cache per job.
constexpr std::uint64_t kCachedJobBytes = 512 << 10;
constexpr unsigned kCacheThreads = 2;

StoredRange blocks_around(const Extent& extent, std::uint64_t block, std::uint64_t file_size) {
  const std::uint64_t end = extent.offset + extent.length, last = (end - 1) / block * block;
  return {extent.offset / block * block, file_size - last > block ? last + block : file_size};
}

// Trims cached blocks at both ends of `wanted`. Cached blocks in the middle are fetched again, so that one range
// suffices.
StoredRange missing_of(StoredRange wanted, std::uint32_t file, std::uint64_t block, const DiskCacheUse& cache) {
  while (wanted.begin < wanted.end && cache.has(file, wanted.begin / block))
    wanted.begin = std::min(wanted.begin + block, wanted.end);
  while (wanted.begin < wanted.end && cache.has(file, (wanted.end - 1) / block))
    wanted.end = (wanted.end - 1) / block * block;
  return wanted;
}

[[noreturn]] void refuse_at_the_end() {
  throw Error::io(ECANCELED, "not read, because the loader is closing");
}

}  // namespace

struct StoreEngine::State {
  State(const Dataset& of, const EngineOptions& engine_options, OnRead answer_to,
        std::shared_ptr<DiskCacheUse> disk_cache)
      : dataset(of),
        options(engine_options),
        core(
            of.file_count(), [of](std::uint32_t file) { return of.file(file); }, {.root = of.path()},
            std::move(answer_to)),
        cache(std::move(disk_cache)) {}

  void push(std::span<const ReadRequest> requests);
  void push_again(std::span<const ReadRequest> requests);
  void add_plain(std::vector<ReadRequest> requests, StoreJobs& made, std::vector<RangeRead>& reads);
  void add_cached(std::vector<ReadRequest> requests, bool again, StoreJobs& made, StoreJobs& hits, StoreJobs& follow);
  bool is_fetched(std::uint32_t file, StoredRange missing) const;
  bool waits(const StoreJob& follower) const;
  void ask_for(StoreJob& job, std::vector<RangeRead>& reads);
  void send(StoreJobs& made, std::vector<RangeRead> reads);
  void send_cached(StoreJobs& made, StoreJobs& hits, StoreJobs& follow);
  void begin_waiting();
  void take_those_with_room(StoreJobs& begun);
  void end_fetch(const StoreJob& job);
  void is_through(const StoreJob& job);
  void came(StoreJob& job, std::exception_ptr failure);
  void answer(const StoreJob& job);
  void run(const std::stop_token& stop);
  void serve(StoreJob& job);
  bool bring(const StoreJob& job, const ReadRequest& request);
  void settle(const StoreJob& job);
  void cancel() noexcept;

  const Dataset dataset;
  const EngineOptions options;
  EngineCore core;
  const std::shared_ptr<DiskCacheUse> cache;
  std::unique_ptr<RangeReader> reader;

  std::shared_mutex sending;  // held shared while reads are passed to the store; guards `cancelled`
  bool cancelled = false;

  std::mutex mutex;  // guards the members below
  std::condition_variable_any changed;
  StoreJobs waiting;                    // jobs waiting for room in the block window, in order
  StoreJobs sent;                       // jobs that the store is reading
  StoreJobs for_cache;                  // jobs that the cache threads will serve
  StoreJobs following;                  // jobs whose missing blocks other jobs fetch
  std::multiset<BlockNumber> fetching;  // blocks of jobs with a fetch, until these are in the cache
  std::uint64_t block_bytes = 0;        // sum of fetched.size() over jobs that are sent or being served
  std::chrono::steady_clock::time_point busy_since{};
};

// Accepts all requests or, if memory runs out, none: everything is allocated before the first send.
void StoreEngine::State::push(std::span<const ReadRequest> requests) {
  const std::shared_lock lock(sending);
  if (cancelled) refuse_at_the_end();
  std::vector<ReadRequest> plain, cached, beyond;
  for (const ReadRequest& request : requests) {
    const std::uint64_t size = dataset.stored_object(request.extent.file)->info.size;
    const bool inside = request.extent.offset + request.extent.length <= size;
    const bool is_cached = cache != nullptr && cache->block_bytes(request.extent.file) != 0;
    (!inside ? beyond : is_cached ? cached : plain).push_back(request);
  }
  StoreJobs made, made_cached, hits, follow;
  std::vector<RangeRead> reads;
  add_plain(std::move(plain), made, reads);
  add_cached(std::move(cached), false, made_cached, hits, follow);
  send(made, std::move(reads));
  send_cached(made_cached, hits, follow);
  for (const ReadRequest& request : beyond) core.answer(request.tag, core.failure_of(request.extent, 0));
}

// Fetches requests again whose cached blocks were missing or invalid. Skips the check for cached blocks: a block that
// is invalid in the cache would be chosen again.
void StoreEngine::State::push_again(std::span<const ReadRequest> requests) {
  if (requests.empty()) return;
  const auto failure = caught([&] {
    const std::shared_lock lock(sending);
    if (cancelled) refuse_at_the_end();
    StoreJobs made, hits, follow;
    add_cached({requests.begin(), requests.end()}, true, made, hits, follow);
    send_cached(made, hits, follow);
  });
  if (failure != nullptr) core.fail(requests, failure);
}

// Reads into the destinations directly, without whole blocks. Bytes between neighbours are discarded.
void StoreEngine::State::add_plain(std::vector<ReadRequest> requests, StoreJobs& made, std::vector<RangeRead>& reads) {
  std::vector<MergedRead> merged;
  coalesce(requests, options.merge_gap_bytes, kLongestStoreRange, merged);
  for (const MergedRead& read : merged) {
    StoreJob& job = made.emplace_back();
    const auto members = std::span(requests).subspan(read.first, read.count);
    job.requests.assign(members.begin(), members.end());
    ask_for(job, reads);
  }
}

// Returns whether other jobs fetch all of the missing blocks. The caller holds `mutex`.
bool StoreEngine::State::is_fetched(std::uint32_t file, StoredRange missing) const {
  const std::uint64_t block = cache->block_bytes(file);
  for (std::uint64_t number = missing.begin / block; number * block < missing.end; ++number)
    if (!fetching.contains({file, number}) && !cache->has(file, number)) return false;
  return true;
}

// Returns whether other jobs still fetch blocks of the job. The caller holds `mutex`.
bool StoreEngine::State::waits(const StoreJob& follower) const {
  const std::uint64_t block = cache->block_bytes(follower.file());
  const auto next = fetching.lower_bound({follower.file(), follower.wanted.begin / block});
  return next != fetching.end() && next->first == follower.file() && next->second * block < follower.wanted.end;
}

// Blocks that another job fetches are not requested twice. Otherwise the next epoch would wait for the store although
// all its blocks are in the cache by then.
void StoreEngine::State::add_cached(std::vector<ReadRequest> requests, bool again, StoreJobs& made, StoreJobs& hits,
                                    StoreJobs& follow) {
  // A block is in the cache before it leaves `fetching`, so under the lock it is in one of the two.
  const std::scoped_lock guard(mutex);
  std::ranges::sort(requests, [](const ReadRequest& a, const ReadRequest& b) {
    return std::tie(a.extent.file, a.extent.offset) < std::tie(b.extent.file, b.extent.offset);
  });
  StoreJob* open = nullptr;  // the job to extend if the next request is nearby
  std::uint64_t hit_bytes = kCachedJobBytes;
  for (const ReadRequest& request : requests) {
    const std::uint32_t file = request.extent.file;
    const std::uint64_t block = cache->block_bytes(file);
    const StoredRange wanted = blocks_around(request.extent, block, dataset.stored_object(file)->info.size);
    const StoredRange missing = again ? wanted : missing_of(wanted, file, block, *cache);
    if (missing.size() == 0) {
      if (hit_bytes >= kCachedJobBytes || hits.back().file() != file) hits.emplace_back(), hit_bytes = 0;
      hits.back().requests.push_back(request);
      hit_bytes += request.extent.length;
      continue;
    }
    if (!again && is_fetched(file, missing)) {
      StoreJob& job = follow.emplace_back();
      job.requests.push_back(request);
      job.wanted = wanted;
      continue;
    }
    const bool near = open != nullptr && open->file() == file &&
                      missing.begin <= open->fetched.end + std::max(options.merge_gap_bytes, block) &&
                      std::max(missing.end, open->fetched.end) - open->fetched.begin <= kLongestStoreRange;
    if (!near) {
      open = &made.emplace_back();
      open->wanted = wanted;
      open->fetched = missing;
    } else {
      open->wanted.end = std::max(open->wanted.end, wanted.end);
      open->wanted.begin = std::min(open->wanted.begin, wanted.begin);
      open->fetched.end = std::max(open->fetched.end, missing.end);
    }
    open->requests.push_back(request);
  }
  for (StoreJob& job : made) {
    const std::uint64_t block = cache->block_bytes(job.file());
    for (std::uint64_t number = job.fetched.begin / block; number * block < job.fetched.end; ++number)
      job.blocks.emplace(job.file(), number);
  }
}

void StoreEngine::State::ask_for(StoreJob& job, std::vector<RangeRead>& reads) {
  const auto object = dataset.stored_object(job.file());
  const auto tag = reinterpret_cast<std::uint64_t>(&job);
  const auto ask_in_pieces = [&](std::uint64_t offset, std::span<std::byte> into) {
    for (std::uint64_t done = 0; done < into.size(); done += kLongestStoreRange) {
      const std::uint64_t length = std::min<std::uint64_t>(kLongestStoreRange, into.size() - done);
      reads.push_back({object, {{offset + done, into.subspan(done, length)}}, tag});
      ++job.ranges;
    }
  };
  if (job.buffer != nullptr) {
    ask_in_pieces(job.fetched.begin, {job.buffer.get(), static_cast<std::size_t>(job.fetched.size())});
  } else if (job.requests.size() == 1) {
    const ReadRequest& request = job.requests.front();
    ask_in_pieces(request.extent.offset, {request.destination, static_cast<std::size_t>(request.extent.length)});
  } else {
    RangeRead& read = reads.emplace_back(RangeRead{object, {}, tag});
    for (const ReadRequest& request : job.requests)
      read.parts.push_back(
          {request.extent.offset, {request.destination, static_cast<std::size_t>(request.extent.length)}});
    ++job.ranges;
  }
}

// Cannot fail: push() has allocated all memory. The list keeps the address of each job, which is the tag of its reads.
void StoreEngine::State::send(StoreJobs& made, std::vector<RangeRead> reads) {
  for (const RangeRead& read : reads)
    core.counters.issued(read.parts.back().offset + read.parts.back().into.size() - read.parts.front().offset);
  for (auto job = made.begin(); job != made.end(); ++job) job->self = job;
  {
    const std::scoped_lock guard(mutex);
    if (sent.empty() && !made.empty()) busy_since = std::chrono::steady_clock::now();
    sent.splice(sent.end(), made);
  }
  if (!reads.empty()) reader->submit(std::move(reads));
}

// Cannot fail either.
void StoreEngine::State::send_cached(StoreJobs& made, StoreJobs& hits, StoreJobs& follow) {
  bool wakes = false;
  {
    const std::scoped_lock guard(mutex);
    for (StoreJob& job : made) fetching.merge(job.blocks);
    while (!follow.empty()) {
      StoreJobs& to = waits(follow.front()) ? following : hits;
      to.splice(to.end(), follow, follow.begin());
    }
    wakes = !hits.empty();
    waiting.splice(waiting.end(), made);
    for_cache.splice(for_cache.end(), hits);
  }
  if (wakes) changed.notify_all();
  begin_waiting();
}

// Whole blocks contain more bytes than the caller has reserved, so jobs beyond the block window wait. A job that is
// longer than the window runs when no other job holds blocks.
void StoreEngine::State::take_those_with_room(StoreJobs& begun) {
  const std::scoped_lock guard(mutex);
  while (!waiting.empty()) {
    const std::uint64_t bytes = waiting.front().fetched.size();
    if (block_bytes != 0 && (bytes > options.block_window || block_bytes > options.block_window - bytes)) return;
    block_bytes += bytes;
    begun.splice(begun.end(), waiting, waiting.begin());
  }
}

// The caller holds `sending`, and `cancelled` is false. If memory runs out, every job is answered with that error.
void StoreEngine::State::begin_waiting() {
  StoreJobs begun;
  take_those_with_room(begun);
  if (begun.empty()) return;
  std::vector<RangeRead> reads;
  const auto failure = caught([&] {
    for (StoreJob& job : begun) {
      job.buffer = std::make_unique_for_overwrite<std::byte[]>(job.fetched.size());
      ask_for(job, reads);
    }
  });
  if (failure == nullptr) return send(begun, std::move(reads));
  {
    const std::scoped_lock guard(mutex);
    for (StoreJob& job : begun) job.failure = failure;
    for_cache.splice(for_cache.end(), begun);
  }
  changed.notify_all();
}

// Lets the cache threads serve the jobs that waited for these blocks.
void StoreEngine::State::end_fetch(const StoreJob& job) {
  if (job.fetched.size() == 0) return;
  const std::uint64_t block = cache->block_bytes(job.file());
  const std::scoped_lock guard(mutex);
  for (std::uint64_t number = job.fetched.begin / block; number * block < job.fetched.end; ++number)
    fetching.erase(fetching.find({job.file(), number}));
  for (auto at = following.begin(); at != following.end();) {
    const auto follower = at++;
    const bool concerned = follower->file() == job.file() && follower->wanted.begin < job.fetched.end &&
                           job.fetched.begin < follower->wanted.end;
    if (!concerned) continue;
    if (job.failure != nullptr) follower->failure = job.failure;
    if (waits(*follower)) continue;
    for_cache.splice(for_cache.end(), following, follower);
    changed.notify_one();
  }
}

// Returns the job's share of the block window, and starts waiting jobs.
void StoreEngine::State::is_through(const StoreJob& job) {
  if (job.fetched.size() == 0) return;
  {
    const std::scoped_lock guard(mutex);
    block_bytes -= job.fetched.size();
    if (waiting.empty()) return;
  }
  const std::shared_lock lock(sending);
  if (!cancelled) begin_waiting();
}

// Called by a thread of the store. A cache thread may serve and free a job as soon as it is in `for_cache` and the lock
// is released, so the job must not be used after that.
void StoreEngine::State::came(StoreJob& job, std::exception_ptr failure) {
  StoreJobs done;
  {
    const std::scoped_lock guard(mutex);
    if (failure != nullptr && job.failure == nullptr) job.failure = std::move(failure);
    if (--job.ranges != 0) return;
    if (job.fetched.size() != 0)
      for_cache.splice(for_cache.end(), sent, job.self);
    else
      done.splice(done.end(), sent, job.self);
    if (sent.empty()) core.counters.busy(std::chrono::steady_clock::now() - busy_since);
  }
  if (done.empty()) return changed.notify_one();
  answer(job);
}

void StoreEngine::State::answer(const StoreJob& job) {
  if (job.failure != nullptr) return core.fail(job.requests, job.failure);
  core.answer_all(job.requests);
}

void StoreEngine::State::run(const std::stop_token& stop) {
  while (true) {
    StoreJobs job;
    {
      std::unique_lock lock(mutex);
      if (!changed.wait(lock, stop, [this] { return !for_cache.empty(); }) || stop.stop_requested()) return;
      job.splice(job.end(), for_cache, for_cache.begin());
    }
    serve(job.front());
    job.front().buffer.reset();
    end_fetch(job.front());
    is_through(job.front());
  }
}

// Answers before settle(), so that writing blocks to the disk does not delay the loader.
void StoreEngine::State::serve(StoreJob& job) {
  if (job.failure != nullptr) return answer(job);
  const auto bad = std::stable_partition(job.requests.begin(), job.requests.end(),
                                         [&](const ReadRequest& request) { return bring(job, request); });
  const std::span<const ReadRequest> good(job.requests.begin(), bad), again(bad, job.requests.end());
  core.answer_all(good);
  push_again(again);
  settle(job);
}

// Returns false if a cached block was evicted meanwhile or does not match its checksum.
bool StoreEngine::State::bring(const StoreJob& job, const ReadRequest& request) {
  const Extent& extent = request.extent;
  const StoredRange asked{extent.offset, extent.offset + extent.length};
  const StoredRange common{std::clamp(job.fetched.begin, asked.begin, asked.end),
                           std::clamp(job.fetched.end, asked.begin, asked.end)};
  const auto from_cache = [&](std::uint64_t begin, std::uint64_t end) {
    return begin >= end ||
           cache->read(extent.file, begin,
                       {request.destination + (begin - asked.begin), static_cast<std::size_t>(end - begin)});
  };
  if (common.size() == 0) return from_cache(asked.begin, asked.end);
  std::memcpy(request.destination + (common.begin - asked.begin), job.buffer.get() + (common.begin - job.fetched.begin),
              common.size());
  return from_cache(asked.begin, common.begin) && from_cache(common.end, asked.end);
}

// Offers the fetched blocks to the cache, and reports each use of a block that it already had.
void StoreEngine::State::settle(const StoreJob& job) {
  const std::uint32_t file = job.file();
  const std::uint64_t block = cache->block_bytes(file);
  for (std::uint64_t begin = job.fetched.begin; begin < job.fetched.end; begin += block) {
    const std::uint64_t length = std::min(block, job.fetched.end - begin);
    cache->keep(file, begin / block,
                {job.buffer.get() + (begin - job.fetched.begin), static_cast<std::size_t>(length)});
  }
  std::uint64_t told = 0;  // blocks before this number were reported
  for (const ReadRequest& request : job.requests) {
    const std::uint64_t last = (request.extent.offset + request.extent.length - 1) / block;
    for (std::uint64_t number = std::max(told, request.extent.offset / block); number <= last; ++number) {
      if (job.fetched.begin <= number * block && number * block < job.fetched.end) continue;
      cache->used(file, number);
    }
    told = std::max(told, last + 1);
  }
}

// Nothing enters the lists after `cancelled` is set under the exclusive lock, so one pass answers all that is left.
void StoreEngine::State::cancel() noexcept {
  {
    const std::unique_lock lock(sending);
    if (std::exchange(cancelled, true)) return;
  }
  reader->stop();
  StoreJobs left;
  {
    const std::scoped_lock guard(mutex);
    left.splice(left.end(), waiting);
    left.splice(left.end(), sent);
    left.splice(left.end(), for_cache);
    left.splice(left.end(), following);
  }
  for (const StoreJob& job : left) core.fail(job.requests, caught(refuse_at_the_end));
}

StoreEngine::StoreEngine(const Dataset& dataset, const EngineOptions& options, OnRead on_read,
                         std::unique_ptr<ReadEngine> local, std::shared_ptr<DiskCacheUse> cache)
    : local_(std::move(local)),
      state_(std::make_shared<State>(dataset, options, std::move(on_read), std::move(cache))) {
  state_->reader = object_store().reader([state = state_.get()](std::uint64_t tag, std::exception_ptr failure) {
    state->came(*reinterpret_cast<StoreJob*>(tag), std::move(failure));
  });
  if (state_->cache == nullptr) return;
  start_threads(threads_, "store-", kCacheThreads,
                [state = state_](unsigned, const std::stop_token& stop) { state->run(stop); });
}

StoreEngine::~StoreEngine() {
  stop(kStopGrace);
}

bool StoreEngine::stop(std::chrono::milliseconds grace) {
  const bool local = local_ == nullptr || local_->stop(grace);
  state_->core.gate.close();
  state_->cancel();
  for (Thread& thread : threads_) thread.request_stop();
  const Deadline deadline(grace);
  for (Thread& thread : threads_)
    if (!thread.join_for(deadline.left())) abandoned_ = true;
  threads_.clear();
  return local && !abandoned_;
}

unsigned StoreEngine::threads() const {
  return static_cast<unsigned>(threads_.size()) + (local_ != nullptr ? local_->threads() : 0);
}

void StoreEngine::submit(std::span<const ReadRequest> requests) {
  const auto push = [this](std::span<const ReadRequest> admitted) { state_->push(admitted); };
  if (local_ == nullptr) return state_->core.submit(requests, push);
  std::vector<ReadRequest> of_files, of_objects;
  const auto failure = caught([&] {
    of_files.reserve(requests.size());
    of_objects.reserve(requests.size());
  });
  if (failure != nullptr) return state_->core.fail(requests, failure);
  for (const ReadRequest& request : requests)
    (state_->dataset.stored_object(request.extent.file) != nullptr ? of_objects : of_files).push_back(request);
  if (!of_files.empty()) local_->submit(of_files);
  if (!of_objects.empty()) state_->core.submit(of_objects, push);
}

void StoreEngine::cancel() noexcept {
  state_->cancel();
}

EngineStats StoreEngine::stats() const {
  EngineStats stats = state_->core.counters.total();
  stats.store = state_->reader->counts();
  stats.retries += stats.store.retries;
  if (local_ != nullptr) stats += local_->stats();
  return stats;
}

}  // namespace penstock
