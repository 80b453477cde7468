// Says how many batches of memory a loader needs.
#pragma once

#include <cstdint>
#include <span>

#include <penstock/options.hpp>
#include <storage/read/read_engine.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// The storage that an engine reads ahead from while workers decode. `none`: the workers read themselves.
enum class ReadsAhead : std::uint8_t { none, of_disk, of_store };
ReadsAhead ahead_by(const ReadEngine& engine);

/// Slabs for the batches ahead of the consumer and for those that the consumer holds. With a device, the batches that
/// are being copied take the place of the consumer's.
///
/// Ahead are `prefetch` ready batches, and batches that are being filled: enough rows to keep every worker, or the
/// disk, busy. Of large batches (more than 8 MiB) only the larger of the two numbers is ahead: while batches wait
/// ready, none needs to be filled. Throws Error: invalid_argument, for more memory than a process can address.
unsigned slab_count(const LoaderOptions& options, std::span<const Output> outputs, ReadsAhead ahead);
/// The same, for `row_bytes` in all outputs of fixed shape, and without the check of the memory.
unsigned slab_count(const LoaderOptions& options, std::uint64_t row_bytes, ReadsAhead ahead);

}  // namespace penstock
