// The options of a Loader. Their defaults suit training from local storage.
//
//   const penstock::LoaderOptions options{
//       .batch_size = 64, .shuffle = true, .cache = {.kind = penstock::CacheKind::decoded, .limit = std::uint64_t{8} << 30}};
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/chain.hpp>
#include <penstock/mix.hpp>
#include <penstock/order.hpp>
#include <penstock/storage.hpp>

namespace penstock {

class Batch;        // penstock/batch.hpp
class Device;       // device/device.hpp
class JpegDecoder;  // device/jpeg_decoder.hpp
class Mixture;      // penstock/mixture.hpp
struct Windows;     // order/windows/windows.hpp

/// What becomes of a sample whose bytes are corrupt, unsupported or of the wrong shape.
enum class OnError : std::uint8_t { raise, replace, mark };

/// Where the last steps are done when batches go to a device: of images, that from pixels to numbers in their layout
/// (normalize, cast); of points, center, unit_sphere, scale, random_scale, shift, rotate, jitter, channels_first and
/// cast. The bytes are the same. `automatic` ("auto" in Python and the command): on the device, where no more bytes
/// cross than otherwise.
enum class Where : std::uint8_t { automatic, host, device };

std::string_view name(OnError policy);
std::string_view name(Where where);

inline constexpr unsigned kAutoWorkers = ~0U;

struct LoaderOptions {
  // ---- What people set first ----------------------------------------------------------------------------------------

  std::uint32_t batch_size = 64;  ///< rows
  bool shuffle = false;
  std::uint64_t seed = 0;
  unsigned workers = 0;  ///< decoding threads; 0: usable cores (affinity, cgroup quota) divided by local ranks
  /// More than `workers`: how many are at work changes, up to so many, as the loader sees them bring something
  /// (loader/work/auto_workers.hpp); it begins with `workers`, and memory is reserved for all. kAutoWorkers ("auto" in
  /// Python) is 4 times as many, at least 64. Else `workers`. Bytes are the same.
  unsigned workers_max = 0;
  unsigned prefetch = 2;  ///< batches kept ahead of the consumer: ready, or (of more than 8 MiB) being filled
  std::vector<FieldChain> fields = {};  ///< outputs; empty: every field, decoded by its codec
  /// mixup() or cutmix() of each batch: its images and labels, which become float32 (classes,). Of several, each batch
  /// draws one. Rows that do not count are neither mixed nor mixed in.
  std::vector<Mix> mix = {};

  // ---- Order and ranks ----------------------------------------------------------------------------------------------

  Last last = Last::keep;
  std::uint32_t rank = 0, world = 1;
  /// Sample numbers that an epoch delivers, in their unshuffled order; unset: all. A sample may stand there several
  /// times: each time it draws anew.
  std::optional<std::vector<std::uint64_t>> subset = {};
  /// Set by the loader of a mixture; `shuffle`, `shuffle_block` and `seed` are then of each pass over a source.
  std::shared_ptr<const Mixture> mixture = {};
  /// Samples per block of a block shuffle, for storage that is slow at random and for samples that share filtered
  /// blocks, which a full shuffle undoes many times (the stats then say so); 0 or unset: full shuffle.
  std::optional<std::uint64_t> shuffle_block = {};
  /// Samples are shuffled within windows of so many neighbours alone, as a curriculum wants it; 0: over all.
  std::uint64_t shuffle_window = 0;
  /// How often samples come, where that is not once each: weights, repeats, classes in balance; null: once each.
  std::shared_ptr<const Draws> draws = {};
  /// Batches of samples of like lengths, or of as many as a budget has room for; null: batch_size of them, as they
  /// come.
  std::shared_ptr<const LengthBuckets> buckets = {};
  /// Outputs whose rows are of several samples each; null: of one.
  std::shared_ptr<const Windows> windows = {};

  // ---- Errors -------------------------------------------------------------------------------------------------------

  OnError on_error = OnError::raise;
  /// Share of an epoch's samples that replace and mark may meet; more raises. A sample counts once an epoch, however
  /// often the epoch is begun again. With several ranks each minds the limit for its own share, unless sum_over_ranks
  /// is given.
  double max_error_rate = 0.05;
  /// The same limit as a number of samples, in place of a share; of a mixture, for each source.
  std::optional<std::uint64_t> max_error_count = {};
  /// The sum over all ranks of a number that each of them gives, by whatever they talk with: all ranks then pass the
  /// limit at the same batch. Called by next(), in its thread, behind the same batches on every rank: every 16th of an
  /// epoch and its last. What it throws is what next() throws for that batch. It must not use the loader.
  std::function<std::uint64_t(std::uint64_t)> sum_over_ranks = {};
  /// Keys of samples that the storage does not return. The loader does not read them, and counts them as bad:
  /// `on_error` must be replace or mark, and decides about their rows. The order does not change, so saved states stay
  /// valid.
  std::vector<std::string> unreadable = {};
  Missing missing = Missing::raise;
  /// When values are compared with the CRC-32C that their index has. A difference is read once more, and is then a
  /// fault of the sample's data, to which `on_error` applies. What the stats call unchecked has no checksum, or is read
  /// by a device.
  Checksums checksums = Checksums::first;
  std::chrono::milliseconds timeout{0};  ///< of next(); 0 waits for ever

  // ---- Reading ------------------------------------------------------------------------------------------------------

  EngineKind engine = EngineKind::automatic;            ///< "auto" in Python and the command
  bool direct_io = false;                               ///< O_DIRECT where the file system allows it
  std::uint64_t read_window = std::uint64_t{64} << 20;  ///< bytes read ahead of the workers, by engines that do so
  unsigned engine_threads = 0;  ///< reader threads: rings, or pread threads; 0 chooses (1 ring, 16 pread threads)
  unsigned engine_depth = 256;  ///< requests in flight per ring
  std::uint64_t merge_gap_bytes = 32 << 10;  ///< extents this close are read as one
  std::uint64_t merge_bytes = 1 << 20;       ///< as long as the read stays within this

  // ---- Memory and caches --------------------------------------------------------------------------------------------

  unsigned held = 2;  ///< batches the consumer may hold at once, in memory that is reserved for them
  /// Up to so many it may hold all the same: memory for one more is taken as it comes to that, and kept. 0: as `held`.
  unsigned held_max = 0;
  std::uint64_t max_items = 0;  ///< bound of a ragged output's items per sample; 0: as the data has
  std::uint64_t block_cache = std::uint64_t{256} << 20;  ///< bytes of undone blocks kept
  /// What is kept of samples for later epochs; the bytes of batches are the same with and without. `decoded` keeps
  /// images as pixels before anything is drawn for them, so that crops and flips stay fresh; to keep them whole it
  /// decodes them whole, so its first epoch may take longer.
  CacheKind cache = CacheKind::none;
  std::uint64_t cache_bytes = std::uint64_t{1} << 30;  ///< limit of the cache; what comes when it is full is not kept

  /// Who shares `cache`. With `node` the processes of a node that read the same have one together, of `cache_bytes`.
  CacheScope cache_scope = CacheScope::process;
  /// A folder on the node's own disk in which bytes of datasets that lie in stores (s3://, https://) are kept, for all
  /// processes and jobs that are given the same one. "auto": one under the job's own temporary folder. Empty: none.
  std::filesystem::path cache_dir = {};
  /// Bytes that the folder may take; 0: as the folder was made with, or nine tenths of what was free then.
  std::uint64_t cache_limit = 0;

  // ---- Watching -----------------------------------------------------------------------------------------------------

  /// The loader shows its figures, which are numbers alone, to `penstock top`, in a page of shared memory that this
  /// user alone can read. PENSTOCK_PUBLISH=0 in the environment is publish = false for all loaders of a program.
  bool publish = true;
  /// A folder in which the loader enters each batch that next() gives, so that it survives a kill of the process; made
  /// where it is not there. All ranks and all restarts of a training have the same one, each dataset one of its own.
  /// audit_ledger() proves from it that every sample was delivered once an epoch (docs/ledger.md). Empty: none.
  std::filesystem::path ledger = {};

  // ---- The program's own step ---------------------------------------------------------------------------------------

  /// A step of the user's own on whole batches, in order, in one thread of the loader's that runs up to `prefetch`
  /// batches ahead of the consumer. It may change values in place, and attach() what it makes. What it throws, of any
  /// type, is what next() throws for that batch. Loader::at() calls it too, in its caller's thread. It must not use the
  /// loader; destroying the loader waits until it returns. With a device it comes before the copy.
  std::function<void(Batch&)> on_batch = {};
  std::string on_batch_stage = "on_batch";  ///< the name of that stage in the stats

  // ---- Device -------------------------------------------------------------------------------------------------------

  /// "cuda:0": batches are copied there ahead of the consumer, which gets them at once and waits on the device
  /// (Batch::wait). Empty: they stay in memory of the host. "host": a processor in a device's place, to try the rest
  /// with.
  std::string device = {};
  std::shared_ptr<Device> on_device = {};  ///< A device that the caller has already opened. Overrides `device`.
  unsigned device_prefetch = 2;            ///< batches ahead of the consumer on the device, those on their way included
  Where where = Where::automatic;
  /// Experimental, no GPU has run it yet. With a device: outputs of fixed shape whose rows are stored as they are, each
  /// in one piece of a page or more, are read from their files straight into the device's memory (GPUDirect Storage). The batches are the same. Where that
  /// cannot be had they go through the host, and the stats say why. Neither with on_batch nor mix nor cache, which work
  /// on rows in the host's memory.
  bool gpu_direct = false;
  /// With a device: the share, 0 to 1, of JPEGs that it decodes, crops, resizes and flips in the cores' place (nvJPEG
  /// on a GPU), of outputs whose images cross as uint8 pixels. Which ones is drawn for each sample, so batches depend
  /// on nothing else; but a GPU's decoder gives other pixels than the processor's, by a few levels. Where it cannot be
  /// had, and for images that it does not take, the cores do it, and the stats say why. Neither with on_batch nor mix
  /// nor cache, which work on rows in the host's memory.
  double gpu_jpeg = 0;
  std::uint64_t gpu_jpeg_bytes = std::uint64_t{256} << 20;  ///< of the device, for images that it decodes
  /// A decoder that the caller has already opened. It is used instead of the device's own.
  std::shared_ptr<JpegDecoder> on_device_jpeg = {};
};

}  // namespace penstock
