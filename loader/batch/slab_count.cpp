#include <algorithm>
#include <string>

#include <loader/batch/slab_count.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::uint32_t kDiskRows = 64;         // reads in flight that keep a disk busy
constexpr std::uint32_t kStoreRows = 256;       // the same for a store 50 ms away, at 2,000 rows per second and more
constexpr std::uint32_t kServerRows = 128;      // the same for a server of 64 cores
constexpr std::uint64_t kSmallBatch = 8 << 20;  // in bytes: filled about as fast as handed from thread to thread

// Rejects sizes whose products would overflow later.
void require_addressable(const LoaderOptions& options, std::span<const Output> outputs, unsigned batches) {
  constexpr double kAddresses = 0x1p47,
                   kRowOverhead = 64;  // address space of a process; bytes of a row's name and table
  double row_bytes = kRowOverhead;
  for (const Output& output : outputs) {
    row_bytes += static_cast<double>(output.row_bytes()) *
                 (output.ragged ? static_cast<double>(options.memory_options.max_items) : 1);
  }
  if (row_bytes * options.batch_size * batches <= kAddresses) return;
  throw Error::invalid_argument(
      std::to_string(batches) + " batches of " + std::to_string(options.batch_size) +
      " rows take more memory than a process can address: lower batch_size, prefetch, reserved_batches" +
      (options.memory_options.max_items != 0 ? " or max_items" : ""));
}

}  // namespace

ReadsAhead ahead_by(const ReadEngine& engine) {
  if (engine.synchronous()) return ReadsAhead::none;
  return engine.kind() == EngineKind::store ? ReadsAhead::of_store : ReadsAhead::of_disk;
}

unsigned slab_count(const LoaderOptions& options, std::uint64_t row_bytes, ReadsAhead ahead_of) {
  const std::uint32_t in_flight = ahead_of == ReadsAhead::of_store  ? kStoreRows
                                  : ahead_of == ReadsAhead::of_disk ? kDiskRows
                                                                    : 0;
  const auto servers = static_cast<unsigned>(options.servers.addresses.size());
  const std::uint64_t rows = std::max({2 * options.max_workers, in_flight, servers * kServerRows});
  const auto filling = servers + static_cast<unsigned>(1 + (rows + options.batch_size - 1) / options.batch_size);
  const bool small = row_bytes <= kSmallBatch / options.batch_size;
  const unsigned ahead = small ? options.prefetch + filling : std::max(options.prefetch, filling);
  const unsigned transformed = options.batch_transform ? options.prefetch + 1 : 0;
  const unsigned behind = options.device_options.opened != nullptr ? options.device_options.prefetch + 1
                                                                   : options.memory_options.reserved_batches;
  const unsigned window = options.sharing.name.empty() ? 0 : 2 * options.sharing.lag;
  return ahead + transformed + behind + window;
}

unsigned slabs_ahead(const LoaderOptions& options, std::span<const Output> outputs, ReadsAhead ahead) {
  LoaderOptions alone = options;
  alone.sharing = {};
  alone.memory_options.reserved_batches = 0;
  return slab_count(alone, outputs, ahead);
}

unsigned slabs_to_share(std::uint32_t batch_size) {
  constexpr std::uint64_t kBytesOfRow = 64;  // of a slab without memory
  constexpr std::uint64_t kBytes = std::uint64_t{64} << 20, kFewest = 16, kMost = 1024;
  return static_cast<unsigned>(std::clamp(kBytes / (kBytesOfRow * batch_size), kFewest, kMost));
}

unsigned slab_count(const LoaderOptions& options, std::span<const Output> outputs, ReadsAhead ahead) {
  std::uint64_t row_bytes = 0;
  for (const Output& output : outputs) row_bytes += output.ragged ? 0 : output.row_bytes();
  const unsigned slabs = slab_count(options, row_bytes, ahead);
  require_addressable(options, outputs, slabs);
  return slabs;
}

}  // namespace penstock
