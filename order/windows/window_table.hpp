// The steps of a window: the samples before and after a sample in its group.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <formats/lists/number_table.hpp>
#include <formats/lists/shared_numbers.hpp>
#include <penstock/steps.hpp>

namespace penstock {

/// A step of a row.
struct WindowStep {
  std::uint64_t sample;
  bool inside;  ///< false: the group has no such step, and this is its nearest one
};

/// The facts about the samples from which a table is made.
struct WindowSamples {
  std::uint64_t count = 0;
  std::unique_ptr<NumberTable> groups = {};  ///< by sample; null: all are in one group
  std::uint64_t group_count = 1;
  /// values of order_by or at, as bits of doubles; null: the samples are in order
  std::unique_ptr<NumberTable> numbers = {};
  std::vector<bool> lacking = {};  ///< samples that cannot be steps because they lack a field; empty: none
};

/// Constant; any number of threads may use it. Takes 12 bytes per sample, or 16 if offsets refer to a number, and 4 per
/// group (twice that from 4 billion samples on). From some millions of samples on, the tables are in files. Processes
/// with the same groups and numbers share them (shared_numbers()), whatever their offsets.
class WindowTable {
 public:
  WindowTable(const WindowSpec& spec, WindowSamples samples);

  /// Replaces `steps` by those of the sample's row. serves() must be true.
  void steps(std::uint64_t sample, std::vector<WindowStep>& steps) const;
  /// Whether the sample can have a row: its group must have a step and, with Edge::drop, all steps of the offsets.
  bool serves(std::uint64_t sample) const;
  bool serves_all() const { return spec_.edge == Edge::pad && samples_.lacking.empty(); }
  std::uint64_t groups() const { return samples_.group_count; }
  std::uint64_t longest() const { return longest_; }  ///< steps of the largest group
  const WindowSpec& spec() const { return spec_; }

 private:
  struct Group {
    std::uint64_t begin, size;
  };
  std::uint64_t group_number(std::uint64_t sample) const;
  Group group_of(std::uint64_t sample) const;
  double number(std::uint64_t sample) const;
  bool is_step(std::uint64_t sample) const;
  std::uint64_t mark() const;
  void count_steps(SharedNumbers& starts) const;
  void lay_out(SharedNumbers& steps) const;
  void sort_groups(SharedNumbers& steps) const;
  void rank(SharedNumbers& before) const;
  /// The place of the step at an offset. If it is negative, or not below the group's size, there is no such step.
  std::int64_t place(std::uint64_t sample, const Group& group, double offset) const;

  WindowSpec spec_;
  WindowSamples samples_;
  std::shared_ptr<const SharedNumbers> groups_, numbers_;  // those of WindowSamples; the second only with `at`
  std::shared_ptr<const SharedNumbers> starts_;            // first step of each group in steps_, and the end
  std::shared_ptr<const SharedNumbers> steps_;             // samples, group by group
  // by sample: number of steps of its group up to it, including it; null with `at`
  std::shared_ptr<const SharedNumbers> before_;
  std::uint64_t longest_ = 0;
};

}  // namespace penstock
