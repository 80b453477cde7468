// Prepares a loader before its threads start: checks and resolves options, compiles chains, and derives the options
// of order and engine.
#pragma once

#include <optional>
#include <vector>

#include <loader/device/device_slab.hpp>
#include <loader/work/failures.hpp>
#include <order/order_options.hpp>
#include <order/selection.hpp>
#include <penstock/dataset.hpp>
#include <penstock/options.hpp>
#include <storage/read/read_engine.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// Returns the options with every default resolved. Throws Error: invalid_argument, for options that contradict each
/// other.
LoaderOptions resolved(const Dataset& dataset, LoaderOptions options);

/// Compiles the chains against the first readable value of each field. A broken first sample must not fail the
/// constructor, because the error policy handles it later. Throws what Program throws.
Program compiled(const Dataset& dataset, const LoaderOptions& options);

/// The chains that the workers run, and those that the reader's batches have. They differ if a device runs the last
/// steps.
struct Programs {
  Program workers;
  std::vector<FieldChain> chains;  ///< of the workers
  std::optional<Program> whole;  ///< empty: the workers run all steps
  std::vector<DeviceOutput> outputs;
};
/// Throws what compiled() throws; Error: invalid_argument, if FinishOn::device leaves nothing for the device to do.
Programs programs_of(const Dataset& dataset, const LoaderOptions& options);

/// Returns the options for reading. With a program, they also contain what its chains require of the engine.
EngineOptions engine_options(const LoaderOptions& options);
EngineOptions engine_options(const LoaderOptions& options, const Program& program);
/// Returns the options of the order.
OrderOptions order_options(const LoaderOptions& options);
std::vector<FailureShare> failure_shares(const Selection& selection);

}  // namespace penstock
