#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include <penstock/stats.hpp>

namespace penstock {
namespace {

template <auto First, auto... Rest>
constexpr auto& member(auto& owner) {
  if constexpr (sizeof...(Rest) == 0)
    return owner.*First;
  else
    return member<Rest...>(owner.*First);
}

// `Path` contains the pointers to members that lead from Counts to the counter.
template <auto... Path>
constexpr Counter counter(std::string_view group, std::string_view name, Counter::Rule rule, std::string_view meaning,
                          std::string_view metric = {}) {
  constexpr bool time = std::is_same_v<decltype(member<Path...>(std::declval<Counts&>())), std::chrono::nanoseconds&>;
  const bool bytes = name.starts_with("bytes") || name.ends_with("bytes");
  return {.group = group,
          .name = name,
          .unit = time    ? Counter::Unit::time
                  : bytes ? Counter::Unit::bytes
                          : Counter::Unit::number,
          .rule = rule,
          .get =
              [](const Counts& counts) {
                if constexpr (time)
                  return static_cast<std::uint64_t>(member<Path...>(counts).count());
                else
                  return member<Path...>(counts);
              },
          .set =
              [](Counts& counts, std::uint64_t value) {
                if constexpr (time)
                  member<Path...>(counts) = std::chrono::nanoseconds(static_cast<std::int64_t>(value));
                else
                  member<Path...>(counts) = value;
              },
          .meaning = meaning,
          .metric = metric};
}

constexpr auto kCounts = Counter::Rule::counts, kPeaks = Counter::Rule::peaks, kStands = Counter::Rule::stands;
constexpr std::string_view kNoFamily = Counter::kNoFamily;
using C = Counts;

constexpr auto kCounters = std::to_array<Counter>({
    counter<&C::rank>("", "rank", kStands, "Rank of this process among the processes that share the epoch.", kNoFamily),
    counter<&C::world>("", "world", kStands, "Processes that share the epoch.", kNoFamily),
    counter<&C::samples>("", "samples", kCounts, "Samples delivered to the training loop."),
    counter<&C::batches>("", "batches", kCounts, "Batches delivered to the training loop."),
    counter<&C::epochs>("", "epochs", kPeaks, "Epochs that have ended since the loader was made."),
    counter<&C::bytes_read>("", "bytes_read", kCounts, "Bytes requested from storage, for any batch.", "read_bytes"),
    counter<&C::stored_bytes>("", "stored_bytes", kCounts, "Stored bytes of the delivered samples."),
    counter<&C::bytes_delivered>("", "bytes_delivered", kCounts, "Bytes delivered in batches.", "delivered_bytes"),
    counter<&C::wall>("", "wall_s", kCounts, "Time since the first call of next(), or since reset_stats().",
                      "run_seconds"),
    counter<&C::first_batch>("", "first_batch_s", kPeaks, "Time from the first call of next() to the first batch."),
    counter<&C::data_wait>("", "data_wait_s", kCounts, "Time that the training loop waited for batches."),
    counter<&C::step_time>("", "step_s", kCounts, "Time that the training loop spent between batches.", "step_seconds"),
    counter<&C::batches_taken>("", "batches_taken", kCounts, "Calls of next() that returned a batch."),
    counter<&C::batches_ready>("", "batches_ready", kCounts, "Batches that were finished before next() was called."),
    counter<&C::workers_on_cores>(
        "", "workers_on_cores_s", kCounts,
        "Time that workers ran on a core, summed over workers; 0 if the system does not measure it."),
    counter<&C::workers_await_cores>("", "workers_await_cores_s", kCounts,
                                     "Time that workers were ready to run and waited for a core, summed over workers."),
    counter<&C::custom_transform_on_cores>("", "custom_transform_on_cores_s", kCounts,
                                           "Time that your Python functions and batch_transform ran on a core."),
    counter<&C::custom_transform_awaits_lock>("", "custom_transform_awaits_lock_s", kCounts,
                                              "Time that these functions waited for a lock, such as Python's GIL."),
    counter<&C::workers>("", "workers", kStands, "Decoding threads; the mean if their number changes.", "workers_mean"),
    counter<&C::workers_now>("", "workers_now", kStands, "Decoding threads that may work now.", "workers"),
    counter<&C::workers_max>("", "workers_max", kStands, "Maximum number of decoding threads."),
    counter<&C::workers_observed>("", "workers_observed", kPeaks, "Threads that decoded at least one row."),
    counter<&C::slabs>("", "slabs", kStands, "Batches that fit into the host memory reserved for batches."),
    counter<&C::slab_bytes>("", "slab_bytes", kStands, "Host memory reserved for batches.", kNoFamily),
    counter<&C::held_max_bytes>("", "held_max_bytes", kStands,
                                "Memory that more batches held by your program may use (max_live_batches)."),
    counter<&C::window_bytes>("", "window_bytes", kStands, "Memory reserved for reads ahead of the workers.",
                              kNoFamily),
    counter<&C::block_cache_bytes>("", "cache_bytes", kStands, "Memory that holds decompressed blocks.", kNoFamily),
    counter<&C::device_slabs>("", "device_slabs", kStands,
                              "Batches that fit into the device memory reserved for them."),
    counter<&C::device_bytes>("", "device_bytes", kStands, "Device memory reserved for batches.", kNoFamily),
    counter<&C::copied_bytes>("", "copied_bytes", kCounts, "Bytes of finished copies to the device."),
    counter<&C::copy_time>("", "copy_s", kCounts, "Time that copies to the device ran."),
    counter<&C::gpu_direct_bytes>("", "gpu_direct_bytes", kCounts,
                                  "Bytes that the device read itself; bytes_read includes them."),
    counter<&C::gpu_jpeg_rows>("", "gpu_jpeg_rows", kCounts, "Rows whose JPEG the device decoded."),
    counter<&C::gpu_jpeg_refused>("", "gpu_jpeg_refused", kCounts,
                                  "Batches that the CPU decoded, because the device found a bad JPEG in them."),
    counter<&C::blocks_undone>("", "blocks_undone", kCounts,
                               "Blocks that were decompressed (HDF5 chunks, compressed shards)."),
    counter<&C::checks, &CheckStats::checked>("", "checked", kCounts,
                                              "Values or parts of values that were compared with their checksum."),
    counter<&C::checks, &CheckStats::checked_bytes>("", "checked_bytes", kCounts,
                                                    "Bytes that were compared with a checksum."),
    counter<&C::checks, &CheckStats::unchecked>("", "unchecked", kCounts,
                                                "Values without a recorded checksum, or read by the device."),
    counter<&C::checks, &CheckStats::unchecked_bytes>("", "unchecked_bytes", kCounts, "Bytes of unchecked values."),
    counter<&C::checks, &CheckStats::mismatches>(
        "", "checksum_mismatches", kCounts,
        "Checksums that differed after the first read; they may match after the second one."),
    counter<&C::bad_samples>("", "bad_samples", kCounts, "Invalid samples, which on_error replaced or marked."),
    counter<&C::excluded_samples>("", "excluded_samples", kStands,
                                  "Samples left out because they lack a field or a whole window."),
    counter<&C::later_failures>("", "later_failures", kCounts,
                                "Errors of samples that already had one in another output."),
    counter<&C::reads, &EngineStats::requests>("reads", "requests", kCounts, "Reads requested from storage.", "reads"),
    counter<&C::reads, &EngineStats::bytes>("reads", "bytes", kCounts, "Bytes of the requested reads.",
                                            "reads_requested_bytes"),
    counter<&C::reads, &EngineStats::reads>(
        "reads", "reads", kCounts, "Reads issued to the system, after neighbours were joined.", "reads_issued"),
    counter<&C::reads, &EngineStats::read_bytes>("reads", "read_bytes", kCounts, "Bytes of the issued reads.",
                                                 "reads_issued_bytes"),
    counter<&C::reads, &EngineStats::retries>("reads", "retries", kCounts, "Reads issued again after a short read.",
                                              "reads_retried"),
    counter<&C::reads, &EngineStats::opens>("reads", "opens", kCounts, "Files opened.", "files_opened"),
    counter<&C::reads, &EngineStats::opening>("reads", "opening_s", kCounts, "Time spent in opening files.",
                                              "files_opening_seconds"),
    counter<&C::reads, &EngineStats::busy>("reads", "busy_s", kCounts, "Time in which reads were in flight."),
    counter<&C::reads, &EngineStats::store, &StoreCounts::requests>("store", "requests", kCounts,
                                                                    "Requests sent to the store, including retries."),
    counter<&C::reads, &EngineStats::store, &StoreCounts::bytes>("store", "bytes", kCounts,
                                                                 "Bytes received in the bodies of answers."),
    counter<&C::reads, &EngineStats::store, &StoreCounts::retries>("store", "retries", kCounts,
                                                                   "Requests sent again after a failure."),
    counter<&C::reads, &EngineStats::store, &StoreCounts::hedges>(
        "store", "hedges", kCounts, "Requests sent a second time because the first was slow."),
    counter<&C::reads, &EngineStats::store, &StoreCounts::connections>("store", "connections", kCounts,
                                                                       "Connections opened."),
    counter<&C::reads, &EngineStats::store, &StoreCounts::waited>(
        "store", "waited_s", kCounts, "Time from sending a request to its last byte, summed over requests."),
    counter<&C::disk_cache, &DiskCacheStats::hits>("disk_cache", "hits", kCounts, "Blocks read from the disk cache."),
    counter<&C::disk_cache, &DiskCacheStats::misses>("disk_cache", "misses", kCounts,
                                                     "Blocks that the disk cache lacked, or whose copy was damaged."),
    counter<&C::disk_cache, &DiskCacheStats::bad>("disk_cache", "bad", kCounts,
                                                  "Blocks with a wrong checksum; `misses` counts them too."),
    counter<&C::disk_cache, &DiskCacheStats::bypassed>(
        "disk_cache", "bypassed", kCounts, "Blocks not cached, because all cached blocks are needed sooner."),
    counter<&C::disk_cache, &DiskCacheStats::bytes_read>("disk_cache", "read_bytes", kCounts,
                                                         "Bytes read from the disk cache."),
    counter<&C::disk_cache, &DiskCacheStats::bytes_written>("disk_cache", "written_bytes", kCounts,
                                                            "Bytes written to the disk cache."),
    counter<&C::disk_cache, &DiskCacheStats::bytes_evicted>("disk_cache", "evicted_bytes", kCounts,
                                                            "Bytes evicted by this process."),
    counter<&C::disk_cache, &DiskCacheStats::reading>("disk_cache", "reading_s", kCounts,
                                                      "Time spent in reading blocks, summed over threads."),
    counter<&C::disk_cache, &DiskCacheStats::writing>("disk_cache", "writing_s", kCounts,
                                                      "Time spent in writing blocks, summed over threads."),
    counter<&C::disk_cache, &DiskCacheStats::evicting>("disk_cache", "evicting_s", kCounts,
                                                       "Time spent in evicting blocks, summed over threads."),
    counter<&C::disk_cache, &DiskCacheStats::used>("disk_cache", "used_bytes", kPeaks, "Bytes that the folder holds."),
    counter<&C::disk_cache, &DiskCacheStats::limit>("disk_cache", "limit_bytes", kPeaks,
                                                    "Bytes that the folder may hold."),
    counter<&C::sharing, &SharingStats::consumers>("sharing", "consumers", kStands,
                                                   "Loaders that get batches from this process, this one included."),
    counter<&C::sharing, &SharingStats::received>("sharing", "received", kCounts,
                                                  "Batches that this loader got from the process that builds them."),
    counter<&C::sharing, &SharingStats::built_alone>(
        "sharing", "built_alone", kCounts, "Batches that this loader built for itself, because no other had them."),
    counter<&C::sharing, &SharingStats::built_for_all>("sharing", "built_for_all", kPeaks,
                                                       "Batches that this process built for all loaders."),
    counter<&C::sharing, &SharingStats::left_behind>(
        "sharing", "left_behind", kPeaks, "Times that the others went on without a loader that took no batch."),
    counter<&C::served, &ServedStats::ready>("servers", "ready", kStands,
                                             "Servers that are connected and have shown that they have the token."),
    counter<&C::served, &ServedStats::batches>("servers", "batches", kCounts, "Batches that servers filled."),
    counter<&C::served, &ServedStats::bytes>("servers", "bytes", kCounts, "Bytes of values that servers sent."),
    counter<&C::served, &ServedStats::filled_without_server>("servers", "filled_without_server", kCounts,
                                                             "Batches that this loader filled, because no server did."),
    counter<&C::cache, &CacheStats::reserved>(
        "cache", "reserved_bytes", kStands,
        "Memory reserved for the cache of samples, including its table; 0 without a cache."),
    counter<&C::cache, &CacheStats::used>("cache", "used_bytes", kPeaks, "Bytes of the cached values.", kNoFamily),
    counter<&C::cache, &CacheStats::values>("cache", "values", kPeaks, "Cached values."),
    counter<&C::cache, &CacheStats::hits>("cache", "hits", kCounts, "Values found in the cache."),
    counter<&C::cache, &CacheStats::misses>("cache", "misses", kCounts, "Values not found in the cache."),
    counter<&C::cache, &CacheStats::hits_of_others>("cache", "hits_of_others", kCounts,
                                                    "Hits on values that another loader cached."),
    counter<&C::cache, &CacheStats::members>("cache", "members", kPeaks,
                                             "Loaders that share the cache; 0 if only this loader uses it."),
});

}  // namespace

std::span<const Counter> counters() {
  return kCounters;
}

void add(Counts& sum, const Counts& more) {
  for (const Counter& one : counters()) {
    const std::uint64_t ours = one.get(sum), theirs = one.get(more);
    if (one.rule == kCounts) one.set(sum, ours + theirs);
    if (one.rule == kPeaks) one.set(sum, std::max(ours, theirs));
  }
  sum.reads.store.answers += more.reads.store.answers;
}

void subtract(Counts& from, const Counts& before) {
  for (const Counter& one : counters())
    if (one.rule == kCounts) one.set(from, one.get(from) - one.get(before));
  from.reads.store.answers -= before.reads.store.answers;
}

}  // namespace penstock
