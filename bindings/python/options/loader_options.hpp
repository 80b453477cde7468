// Translates options from Python's spelling.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>

#include <loader/options/option_table.hpp>
#include <penstock/dataset.hpp>
#include <penstock/options.hpp>
#include <penstock/order.hpp>

#include "../python_step.hpp"
#include "set_option.hpp"

namespace penstock::python {

/// The keywords of a call of Loader(), and of the objects among their values. Throws TypeError, which penstock._words
/// replaces by a sentence, for a value of another type; Error: invalid_argument, for an unknown word.
class Keywords {
 public:
  /// Throws TypeError for a keyword that is no option.
  explicit Keywords(const nanobind::kwargs& given);
  /// Sets the options whose place is in LoaderOptions.
  void set(LoaderOptions& options) const;
  /// An option that is read by hand, by its name in the table; `value` for None, or where it is not given.
  template <typename Value>
  Value get(std::string_view name, Value value = {}) const {
    const nanobind::object found = object(name);
    if (!found.is_none() && !nanobind::try_cast(found, value)) misfit();
    return value;
  }
  nanobind::object object(std::string_view name) const;  ///< None where it is not given

 private:
  std::vector<std::pair<const LoaderOption*, nanobind::object>> given_;
};

/// The option that `object` of Python has as `keyword` ("" stands for Loader); null: none.
const LoaderOption* option_of_python(std::string_view object, std::string_view keyword);

/// Each throws Error: invalid_argument, naming the option.
Last last_of(Last last, bool drop_last);
/// The functions that a program adds, and what remains for the loader's workers.
struct OwnFunctions {
  std::vector<FieldChain> fields;
  std::shared_ptr<PythonStep> step;  ///< of a penstock._own.step.OwnStep; null without functions
};
OwnFunctions own_functions(const nanobind::object& fields, const nanobind::object& on_sample,
                           const nanobind::object& on_batch, bool marks, unsigned python_workers);
/// What calls a function of Python's with the interpreter held; empty for None. While it runs, no loader may be used.
std::function<std::uint64_t(std::uint64_t)> sum_of(const nanobind::object& function);
bool in_sum_over_ranks();  ///< this thread is inside such a call
std::chrono::milliseconds timeout_of(std::optional<double> seconds);
/// Sets rank and world, and returns where they came from (empty when they were given).
std::string set_rank(LoaderOptions& options, const std::variant<std::uint32_t, std::string>& rank,
                     std::optional<std::uint32_t> world);
/// By a penstock.batching.Batching; null for None. Throws what bucket_by() throws.
std::shared_ptr<const LengthBuckets> buckets_of(const Dataset& dataset, nanobind::handle batching);
/// Nothing when `wanted` is not given, or are the dataset's classes, in that order.
void require_classes(const Dataset& dataset, const std::optional<std::vector<std::string>>& wanted);

/// By a penstock.sampler.Sampler, or None. Throws what reading a field throws; Error: invalid_argument, for a mixture.
void set_sampler(LoaderOptions& options, const Dataset& dataset, nanobind::handle sampler);
/// By True, False or a penstock.shuffle.Shuffle.
void set_shuffle(LoaderOptions& options, nanobind::handle shuffle);
/// By a float, the share, or an int, the count.
void set_max_errors(LoaderOptions& options, nanobind::handle limit);

}  // namespace penstock::python
