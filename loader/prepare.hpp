// Settles everything before threads start: it checks and resolves options, compiles chains, and makes the plan's terms.
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
/// Throws what compiled() throws; Error: invalid_argument, where all that FinishOn::device asks for is nothing.
Programs programs_of(const Dataset& dataset, const LoaderOptions& options);

/// What the options say of reading; with a program, also what its chains mean to the engine.
EngineOptions engine_options(const LoaderOptions& options);
EngineOptions engine_options(const LoaderOptions& options, const Program& program);
/// What the options say of the order.
OrderOptions order_options(const LoaderOptions& options);
std::vector<FailureShare> failure_shares(const Selection& selection);

}  // namespace penstock
