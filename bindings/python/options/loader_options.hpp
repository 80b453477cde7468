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

/// The keywords of a call of Loader(), including those of option objects among their values. Throws TypeError for a
/// value of another type; penstock._words replaces its text by a sentence. Throws Error: invalid_argument, for an
/// unknown word.
class Keywords {
 public:
  /// Throws TypeError for a keyword that is not an option.
  explicit Keywords(const nanobind::kwargs& given);
  /// Sets the options that are members of LoaderOptions.
  void set(LoaderOptions& options) const;
  /// An option that needs custom code, by its name in the table. Returns `value` for None, or if it is absent.
  template <typename Value>
  Value get(std::string_view name, Value value = {}) const {
    const nanobind::object found = object(name);
    if (!found.is_none() && !nanobind::try_cast(found, value)) misfit();
    return value;
  }
  nanobind::object object(std::string_view name) const;  ///< None if absent

 private:
  std::vector<std::pair<const LoaderOption*, nanobind::object>> given_;
};

/// The option `keyword` of the Python class `object` ("" for Loader); null if there is none.
const LoaderOption* option_of_python(std::string_view object, std::string_view keyword);

/// Each throws Error: invalid_argument, naming the option.
Last last_of(Last last, bool drop_last);
/// A program's Python functions, and the chains that remain for the loader's workers.
struct OwnFunctions {
  std::vector<FieldChain> fields;
  std::shared_ptr<PythonStep> step;  ///< wraps a penstock._own.step.OwnStep; null without functions
  std::vector<std::string> filled;   ///< outputs in which the step fills the rows of samples without the field
};
OwnFunctions own_functions(const nanobind::object& fields, const nanobind::object& on_sample,
                           const nanobind::object& on_batch, unsigned python_workers, const nanobind::object& missing);
/// Wraps a Python function, called with the interpreter held; empty for None. During the call, no loader may be used.
std::function<std::uint64_t(std::uint64_t)> sum_of(const nanobind::object& function);
bool in_sum_over_ranks();  ///< whether this thread is inside such a call
std::chrono::milliseconds timeout_of(std::optional<double> seconds);
/// Sets rank and world. Returns their source, or "" if they were given.
std::string set_rank(LoaderOptions& options, const std::variant<std::uint32_t, std::string>& rank,
                     std::optional<std::uint32_t> world);
/// Converts a penstock.batching.Batching; null for None. Throws what bucket_by() throws.
std::shared_ptr<const LengthBuckets> buckets_of(const Dataset& dataset, nanobind::handle batching);
/// Does nothing if `wanted` is absent or equals the dataset's classes in their order; throws otherwise.
void require_classes(const Dataset& dataset, const std::optional<std::vector<std::string>>& wanted);

/// Applies a penstock.sampler.Sampler, or None. Throws errors of reading a field; Error: invalid_argument, for a
/// mixture.
void set_sampler(LoaderOptions& options, const Dataset& dataset, nanobind::handle sampler);
/// Applies a policy, a number, or a dict of these by output.
void set_missing(LoaderOptions& options, nanobind::handle missing);
/// Gives samples without the field of one of these outputs a row of zeros or no items, which functions of the program
/// replace later. Throws what Loader's constructor throws for the chains.
void set_missing_inputs(LoaderOptions& options, const Dataset& dataset, const std::vector<std::string>& outputs);
/// Applies True, False or a penstock.shuffle.Shuffle.
void set_shuffle(LoaderOptions& options, nanobind::handle shuffle);
/// Applies a limit: a float is a share, an int a count.
void set_max_errors(LoaderOptions& options, nanobind::handle limit);

}  // namespace penstock::python
