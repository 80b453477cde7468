// The options of a Loader. Their defaults suit training from local storage.
//
//   const penstock::LoaderOptions options{
//       .batch_size = 64, .shuffle = true, .cache = {.kind = penstock::CacheKind::decoded, .limit = std::uint64_t{8} <<
//       30}};
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

/// How to treat a sample whose bytes are corrupt, unsupported or of the wrong shape. `raise`: next() throws. `replace`:
/// the row gets another sample, drawn from seed, epoch and position. `mark`: the row is zeros, and `__valid__` is 0.
enum class OnError : std::uint8_t { raise, replace, mark };

/// The place where the last transforms run if batches go to a device. For images these are normalize and cast, which
/// turn pixels into numbers. For points: center, unit_sphere, scale, channels_first, cast and the random moves. The
/// bytes are the same. `automatic` ("auto" in Python and the command): on the device, unless that copies more bytes.
enum class FinishOn : std::uint8_t { automatic, host, device };

/// How to treat a loader that shares batches if the fastest one is SharingOptions::lag batches ahead of it. `wait`: the
/// others wait for it, up to SharingOptions::patience. `build`: it builds the batches itself that the others have
/// passed.
enum class Behind : std::uint8_t { wait, build };

std::string_view name(OnError policy);
std::string_view name(Behind policy);
std::string_view name(FinishOn place);  ///< "auto", "host", "device"

inline constexpr unsigned kAutoWorkers = ~0U;

/// How bytes are read.
struct ReadOptions {
  EngineKind engine = EngineKind::automatic;                 ///< "auto" in Python and the command
  bool direct_io = false;                                    ///< O_DIRECT, if the file system supports it
  std::uint64_t read_ahead_bytes = std::uint64_t{64} << 20;  ///< read ahead of the workers, by engines that do so
  /// reader threads: rings, or pread threads; 0 chooses: 1 ring, 16 pread threads, 64 for network file systems
  unsigned threads = 0;
  unsigned depth = 256;                      ///< requests in flight per ring
  std::uint64_t merge_gap_bytes = 32 << 10;  ///< reads that are separated by at most this much are merged
  std::uint64_t merge_bytes = 1 << 20;       ///< maximum size of a merged read
  /// Keys of samples that the storage does not return. The loader does not read them, and counts them as invalid:
  /// `on_error` must be replace or mark. The order does not change, so saved states stay valid.
  std::vector<std::string> unreadable = {};
};

/// The cache of samples in memory. Batches are the same with and without.
struct CacheOptions {
  /// `decoded` keeps images as pixels before any random transform, so crops and flips stay random. The first epoch may
  /// take longer, because the cache needs images decoded whole.
  CacheKind kind = CacheKind::none;
  std::uint64_t limit = std::uint64_t{1} << 30;  ///< bytes; a full cache keeps what it has, and nothing new
  CacheScope shared = CacheScope::process;       ///< with `node`, processes of a node that read the same data share it
};

/// The cache on a local disk, for datasets in object stores (s3://, https://).
struct DiskCacheOptions {
  /// All processes and jobs with the same folder share it. "auto": a folder under the job's own temporary folder.
  /// Empty: no cache.
  std::filesystem::path path = {};
  /// bytes; 0: the folder's existing limit or, for a new folder, nine tenths of the free space
  std::uint64_t limit = 0;
};

/// Limits for the loader's memory.
struct MemoryOptions {
  unsigned reserved_batches = 2;  ///< batches that the consumer may hold at once in memory that is reserved for them
  /// Batches that the consumer may hold at most. The loader allocates memory beyond reserved_batches on demand, and
  /// keeps it. 0: reserved_batches.
  unsigned max_live_batches = 0;
  std::uint64_t max_items = 0;  ///< limit of a ragged output's items per sample; 0: as the data has
  std::uint64_t block_cache_bytes = std::uint64_t{256} << 20;  ///< for decompressed blocks
};

/// Work that a device does besides training. Only with LoaderOptions::device.
struct DeviceOptions {
  FinishOn finish_on = FinishOn::automatic;
  unsigned prefetch = 2;  ///< batches ahead of the consumer on the device, including those that are being copied
  /// The share, 0 to 1, of JPEGs that the device decodes, crops, resizes and flips (nvJPEG on a GPU). Applies to
  /// outputs whose images are copied as uint8 pixels. The choice is a random function of the sample. The pixels of a
  /// GPU differ from the processor's by a few levels. The cores decode the images that the device refuses, and stats()
  /// says why. Not with batch_transform, mix or cache, which need rows in the host's memory.
  double gpu_jpeg = 0;
  std::uint64_t gpu_jpeg_bytes = std::uint64_t{256} << 20;  ///< device memory for images that it decodes
  /// Experimental, no GPU has run it yet. Reads rows from their files straight into device memory (GPUDirect Storage).
  /// Applies to outputs of fixed shape whose rows are stored unencoded, each in one piece of at least a page. The
  /// batches are the same. Other rows are copied from the host, and stats() says why. Not with batch_transform, mix or
  /// cache.
  bool gpu_direct = false;
  std::shared_ptr<Device> opened = {};             ///< an open device, used instead of LoaderOptions::device
  std::shared_ptr<JpegDecoder> jpeg_decoder = {};  ///< an open decoder, used instead of the device's own
};

/// One stream of batches for several loaders. Loaders of one user on one machine that have the same name build each
/// batch once, in the process of one of them, and all use it from that memory. If this process ends, another one takes
/// over. Each loader has its own position and state. The bytes are the same as without sharing. batch_transform runs in
/// each loader.
///
/// Memory: 2 * `lag` more batches than without sharing, and those that each loader holds. Only pages that a program
/// writes to are copied.
struct SharingOptions {
  /// Loaders with this name share batches. They must load the same dataset with the same seed, transforms, batch size
  /// and rank. Empty: no sharing.
  std::string name = {};
  /// The number of loaders that the first batch waits for, at most `patience` long. A loader that comes later begins
  /// with the batch that the slowest one needs next.
  unsigned consumers = 1;
  unsigned lag = 8;  ///< batches that the fastest loader may be ahead of the slowest; at least 1
  Behind behind = Behind::wait;
  /// Seconds that the others wait for a loader that takes no batch, and that a loader waits for the process that
  /// builds. Then they continue: the bytes are the same, but batches may be built twice.
  double patience = 30;
  /// The arguments that another process needs to make such a loader, as bytes; recipe_of_sharing() returns them there.
  std::string recipe = {};
};

/// Batches that servers on other machines fill (penstock/batch_server.hpp). The bytes are the same as without servers.
/// If a server ends, is silent or sends a wrong checksum, another one fills the batch. If none is left, the workers of
/// the loader do, until a server comes back. Servers have the dataset under any path. penstock compares keys and
/// classes, and of up to 4,096 samples the lengths and the checksums in the index.
struct ServersOptions {
  std::vector<std::string> addresses = {};  ///< HOST:PORT of each server. Empty: the workers fill all batches.
  /// The token of the servers (ServeOptions::token). Empty: PENSTOCK_TOKEN in the environment.
  std::string token = {};
  /// Seconds to wait for a server, at the beginning and for each answer. With `timeout`, at most half of it.
  double patience = 10;
};

/// Returns SharingOptions::recipe of the process that builds the batches of that name; nothing if there is none. Throws
/// Error: resource, if the name belongs to another user, or if the process does not answer.
std::optional<std::string> recipe_of_sharing(const std::string& name);

/// The options of a Loader. The defaults suit training from local storage.
struct LoaderOptions {
  // ---- Options that most people set ---------------------------------------------------------------------------------

  std::uint32_t batch_size = 64;  ///< rows
  bool shuffle = false;
  std::uint64_t seed = 0;
  unsigned workers = 0;  ///< decoding threads; 0: usable cores (affinity, cgroup quota) divided by local ranks
  /// Upper limit of automatic scaling. The loader starts with `workers`, and changes the number while it runs if that
  /// makes it faster (loader/work/auto_workers.hpp). Memory for max_workers is reserved. 0: `workers`. kAutoWorkers
  /// ("auto" in Python): 4 times `workers`, at least 64. The bytes of batches are the same.
  unsigned max_workers = 0;
  unsigned prefetch = 2;  ///< batches kept ahead of the consumer: ready or, if larger than 8 MiB, being filled
  std::vector<FieldChain> transforms = {};  ///< one chain for each output; empty: every field, decoded by its codec
  /// mixup() or cutmix() of each batch: its images and labels, which become float32 (classes,). If there are several,
  /// each batch draws one. Rows that are not valid are left out.
  std::vector<Mix> mix = {};

  // ---- Order and ranks ----------------------------------------------------------------------------------------------

  Last last_batch = Last::keep;
  std::uint32_t rank = 0, world_size = 1;
  /// Sample numbers that an epoch delivers, in their unshuffled order; unset: all. A number may occur several times;
  /// each occurrence draws its own random transforms.
  std::optional<std::vector<std::uint64_t>> subset = {};
  /// Leave it empty: Loader's constructor for a mixture sets it. `shuffle`, `shuffle_block` and `seed` then apply to
  /// each pass over a source.
  std::shared_ptr<const Mixture> mixture = {};
  /// Samples per block of a block shuffle; 0 or unset: full shuffle. For storage with slow random reads, and for
  /// samples that share compressed blocks, which a full shuffle decompresses many times.
  std::optional<std::uint64_t> shuffle_block = {};
  std::uint64_t shuffle_window = 0;  ///< shuffles only within windows of this many neighbours; 0: over all samples
  /// How often samples come: by weights, repeats, or with balanced classes; null: each once.
  std::shared_ptr<const Draws> sampler = {};
  /// Batches of samples of similar length, with a number of rows that fits a budget; null: batch_size rows as they
  /// come.
  std::shared_ptr<const LengthBuckets> batching = {};
  std::shared_ptr<const Windows> windows = {};  ///< outputs whose rows are several samples each; null: one

  // ---- Errors -------------------------------------------------------------------------------------------------------

  OnError on_error = OnError::raise;
  /// Share of an epoch's samples that may be invalid under replace and mark; more raises. A sample counts once an
  /// epoch. Each rank counts for its own share, unless all_reduce is given.
  double max_error_rate = 0.05;
  /// The limit as a number of samples, instead of a share. For a mixture, it applies to each source.
  std::optional<std::uint64_t> max_error_count = {};
  /// Your function that returns the sum of its argument over all ranks. With it, all ranks exceed the limit at the same
  /// batch. next() calls it in its thread, after the same batches on every rank: every 16th batch of an epoch, and the
  /// last one. Exceptions leave next(). The function must not use the loader.
  std::function<std::uint64_t(std::uint64_t)> all_reduce = {};
  /// For samples that lack a field that an output reads: a policy, or a number. The number fills the row after all
  /// transforms, if the row has a fixed shape and its dtype can represent the number; other outputs raise. Outputs that
  /// follow() a filled one are filled or empty in the same samples. Batch::present() marks the other rows.
  MissingRows missing = Missing::raise;
  /// The same for single outputs: {{"mask", 255}, {"boxes", Missing::empty}}; `missing` is for the others. Loader
  /// throws Error: invalid_argument, if there is no such output, or if a number or Missing::empty cannot make its rows.
  std::vector<MissingRowsOf> missing_by_output = {};
  /// When values are compared with the CRC-32C in their index. On a mismatch the loader reads the value again; if it
  /// still differs, the sample is invalid, and `on_error` applies. Stats::checks counts values without a checksum.
  Checksums checksums = Checksums::first;
  std::chrono::milliseconds timeout{0};  ///< of next(); 0: no limit

  // ---- Machine ------------------------------------------------------------------------------------------------------

  /// "cuda:0": batches are copied there ahead of the consumer, which gets them at once and waits on the device
  /// (Batch::wait). Empty: they stay in the host's memory. "host": a processor acts as the device, for tests.
  std::string device = {};
  CacheOptions cache = {};
  DiskCacheOptions disk_cache = {};
  ReadOptions read_options = {};
  MemoryOptions memory_options = {};
  DeviceOptions device_options = {};
  SharingOptions sharing = {};
  ServersOptions servers = {};

  // ---- Your own code and logs ---------------------------------------------------------------------------------------

  /// Publishes live metrics, which are numbers only, to `penstock top`, in shared memory that only this user can read.
  /// PENSTOCK_PUBLISH=0 in the environment turns it off for a whole program.
  bool publish = true;
  /// A folder that records every batch that next() returns. The record survives a kill of the process. All ranks and
  /// all restarts of a training use the same folder, and each dataset its own. audit_ledger() checks that every sample
  /// was delivered once an epoch (docs/ledger.md). Empty: no record.
  std::filesystem::path delivery_log = {};
  /// Your function of whole batches. The loader calls it in order, in one thread, up to `prefetch` batches ahead of the
  /// consumer and before the copy to a device. The function may change values in place, and attach() results. next()
  /// throws its exceptions for that batch. Loader::at() calls it in its caller's thread. The function must not use the
  /// loader, whose destructor waits for it.
  std::function<void(Batch&)> batch_transform = {};
};

}  // namespace penstock
