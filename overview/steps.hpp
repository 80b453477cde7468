// The steps of a trace, and the time of each by category.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <overview/ranges.hpp>
#include <overview/trace/trace.hpp>

namespace penstock::overview {

/// A moment that several categories cover counts for the first of them.
///
/// Source: the overview of torch-tb-profiler 0.4.3 (event_parser.py, overall_parser.py).
enum class Category : std::uint8_t {
  kernel,         ///< A kernel runs, other than those of communication.
  memcpy,         ///< A copy from, to or between devices.
  memset,         ///< A device fills memory.
  communication,  ///< A collective of NCCL, RCCL or Gloo.
  runtime,        ///< A thread calls the runtime or driver of a device.
  dataloader,     ///< A thread waits in the __next__() of a DataLoader.
  cpu,            ///< An operator runs on the host.
  other,          ///< No other category applies.
};
inline constexpr std::size_t kCategories = 8;
std::string_view name(Category category);  ///< "Kernel", "Memcpy", ... "CPU Exec", "Other", as the plug-in spells them

/// Nanoseconds for each category.
struct CategoryTimes {
  std::array<double, kCategories> of{};
  double operator[](Category category) const { return of[static_cast<std::size_t>(category)]; }
  double sum() const;
};

struct Step {
  std::string name;  ///< number of the ProfilerStep; "0" for a trace without steps
  Range range;
  CategoryTimes times;  ///< sums to the length of the range
};

/// A step begins when its ProfilerStep begins on the host, but not before the device work of the step before ends. Its
/// end is the end of its ProfilerStep, or of the device work that it launched, whichever is later. A trace often ends
/// before the device has finished. Steps after the last one with device work are therefore left out. The last one
/// with device work is left out if it launched less than 0.8 of the device events of the step before. A trace without
/// ProfilerStep is one step: from the first to the end of the last operator.
///
/// Source: torch-tb-profiler 0.4.3, StepParser in event_parser.py.
struct StepTimes {
  std::vector<Step> steps;
  std::size_t left_out = 0;  ///< steps at the end without all of their device work
  bool marked = false;       ///< the trace has ProfilerStep events
  /// The time of each category in the whole trace, also outside of steps and where others overlap it. Without `other`.
  std::array<Ranges, kCategories> ranges;

  Range range() const { return {steps.front().range.begin, steps.back().range.end}; }
  CategoryTimes mean() const;         ///< of a step
  double mean_step() const;           ///< nanoseconds; 0 without steps
  double standard_deviation() const;  ///< of the steps' lengths, in nanoseconds; 0 for a single step
};

/// Throws Error: unsupported, if the trace has neither steps nor operators.
StepTimes find_steps(const Trace& trace);

/// Returns whether the name is that of an operator of torch.distributed, as record_function() shows it.
bool is_collective(std::string_view name);
/// Returns whether the name is that of a kernel of NCCL or RCCL.
bool is_collective_kernel(std::string_view name);

}  // namespace penstock::overview
