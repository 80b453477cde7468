// Settles everything before threads start: it checks and resolves options, compiles chains, and makes the plan's terms.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <penstock/formats/dataset.hpp>
#include <penstock/loader/device/device_slab.hpp>
#include <penstock/loader/options.hpp>
#include <penstock/loader/plan/plan.hpp>
#include <penstock/loader/plan/selection.hpp>
#include <penstock/loader/work/failures.hpp>
#include <penstock/transforms/program/program.hpp>

namespace penstock {

/// The options with every default decided. Throws Error: invalid_argument, for what does not fit together.
LoaderOptions resolved(const Dataset& dataset, LoaderOptions options);

/// The chains, compiled against the first value of each field that can be read: a broken first sample is for the error
/// policy to deal with, not for the constructor. Throws what Program throws.
Program compiled(const Dataset& dataset, const LoaderOptions& options);

/// What the workers run, and what the reader gets. They differ where the last steps are a device's.
struct Programs {
  Program workers;
  std::optional<Program> whole;  ///< nothing: the workers do it all
  std::vector<DeviceOutput> outputs;
};
/// Throws what compiled() throws; Error: invalid_argument, where all that Where::device asks for is nothing.
Programs programs_of(const Dataset& dataset, const LoaderOptions& options);

/// What the options say of reading; with a program, also what its chains mean to the engine.
EngineOptions engine_options(const LoaderOptions& options);
EngineOptions engine_options(const LoaderOptions& options, const Program& program);
PlanOptions plan_options(const LoaderOptions& options, const Selection& selection);
std::vector<FailureShare> failure_shares(const Selection& selection);

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
