// Says how many batches of memory a loader needs.
#pragma once

#include <cstdint>
#include <span>

#include <penstock/loader/options/options.hpp>
#include <penstock/storage/read/read_engine.hpp>
#include <penstock/transforms/output.hpp>

namespace penstock {

/// Whose answers an engine waits for while workers decode: nobody's, where workers read themselves.
enum class ReadsAhead : std::uint8_t { none, of_disk, of_store };
ReadsAhead ahead_by(const ReadEngine& engine);

/// Batches ahead of the consumer, and the consumer's; with a device, those being copied in place of the consumer's.
/// What is ahead is `prefetch` ready ones and those being filled (enough rows to keep every worker, or the disk, busy);
/// of large batches either as many as there are more of, since while batches wait ready none need be filled.
/// Throws Error: invalid_argument, for more memory than a process can address.
unsigned slab_count(const LoaderOptions& options, std::span<const Output> outputs, ReadsAhead ahead);
/// The same for rows of so many bytes in all outputs of fixed shape, without a look at what can be addressed.
unsigned slab_count(const LoaderOptions& options, std::uint64_t row_bytes, ReadsAhead ahead);

}  // namespace penstock
