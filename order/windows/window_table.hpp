// The steps of a window: which samples stand before and behind a sample in its group.
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
  bool inside;  ///< false: the group has no such step, and its nearest stands here
};

/// What is known of the samples, from which a table is made.
struct WindowSamples {
  std::uint64_t count = 0;
  std::unique_ptr<NumberTable> groups = {};  ///< by sample; null: all are of one
  std::uint64_t group_count = 1;
  std::unique_ptr<NumberTable> numbers = {};  ///< of order_by or at, as bits of doubles; null: they come as they are
  std::vector<bool> lacking = {};             ///< samples that are no steps: they lack a field; empty: none
};

/// Constant; any number of threads may ask. It takes 12 bytes for each sample, or 16 where offsets are of a number, and
/// 4 for each group (twice that from 4 billion samples on); from some millions on in files that processes share which
/// have the same groups and numbers (shared_numbers()), whatever the offsets are.
class WindowTable {
 public:
  WindowTable(const WindowSpec& spec, WindowSamples samples);

  /// Replaces `steps`: those of the row of a sample that is served().
  void steps(std::uint64_t sample, std::vector<WindowStep>& steps) const;
  /// Whether a row can be made for the sample: its group has a step, and with Edge::drop all that the offsets name.
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
  /// The step at an offset; below 0 or not below the group's size: there is none.
  std::int64_t place(std::uint64_t sample, const Group& group, double offset) const;

  WindowSpec spec_;
  WindowSamples samples_;
  std::shared_ptr<const SharedNumbers> groups_, numbers_;  // WindowSamples' own; of `at` alone
  std::shared_ptr<const SharedNumbers> starts_;            // of each group in steps_, and the end
  std::shared_ptr<const SharedNumbers> steps_;             // samples, group by group
  std::shared_ptr<const SharedNumbers> before_;  // by sample: steps of its group up to and with it; null with `at`
  std::uint64_t longest_ = 0;
};

}  // namespace penstock
