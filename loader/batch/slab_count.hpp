// Computes how many slabs a loader needs.
#pragma once

#include <cstdint>
#include <span>

#include <penstock/options.hpp>
#include <storage/read/read_engine.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// The storage that an engine reads ahead from while workers decode. `none`: the workers read.
enum class ReadsAhead : std::uint8_t { none, of_disk, of_store };
ReadsAhead ahead_by(const ReadEngine& engine);

/// Returns the number of slabs: those ahead of the consumer and those that the consumer holds. With a device, the
/// batches under copy take the place of the consumer's. With sharing, the window of the hub needs more.
/// Ahead are `prefetch` ready batches and the batches being filled. The latter have enough rows to keep every worker,
/// or the storage, busy. If batches are large (more than 8 MiB), the larger of the two numbers is enough: none needs
/// to be filled while batches wait ready. Throws Error: invalid_argument, if the memory exceeds the address space of
/// a process.
unsigned slab_count(const LoaderOptions& options, std::span<const Output> outputs, ReadsAhead ahead);
/// The same for `row_bytes` in all outputs of fixed shape, without the check of the memory.
unsigned slab_count(const LoaderOptions& options, std::uint64_t row_bytes, ReadsAhead ahead);
/// Returns the part of slab_count() that is ahead of the consumer, without a device.
unsigned slabs_ahead(const LoaderOptions& options, std::span<const Output> outputs, ReadsAhead ahead);
/// Returns the number of slabs without memory for the batches that other processes may hold.
unsigned slabs_to_share(std::uint32_t batch_size);

}  // namespace penstock
