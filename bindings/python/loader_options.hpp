// Translates options from Python's spelling.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>

#include <penstock/formats/dataset.hpp>
#include <penstock/loader/options/options.hpp>
#include <penstock/order/buckets/length_buckets.hpp>
#include <penstock/order/draws/draws.hpp>

#include "python_step.hpp"

namespace penstock::python {

/// What `fields` maps names to.
class FieldValue : public nanobind::object {
  NB_OBJECT_DEFAULT(FieldValue, nanobind::object, "penstock.Chain | penstock.Transform", is_any)
  static bool is_any(PyObject* object) { return object != nullptr; }
};
using FieldsDict = nanobind::typed<nanobind::dict, nanobind::str, FieldValue>;

/// Whose lengths, as a text ("tokens", "pixels:jpg"), or one for each sample: a buffer of float64, which
/// penstock._draws makes of whatever a program gives.
class BucketBy : public nanobind::object {
  NB_OBJECT_DEFAULT(BucketBy, nanobind::object, "str | os.PathLike | collections.abc.Iterable[float]", is_any)
  static bool is_any(PyObject* object) { return object != nullptr; }
};

/// Throws Error: invalid_argument, for a word that an option does not know; `known` lists those that it does.
[[noreturn]] void refuse_word(const std::string& option, const std::string& given, const std::string& known);
/// Each throws Error: invalid_argument, naming the option.
Last last_named(const std::string& name, bool drop_last);
OnError on_error_named(const std::string& name);
Missing missing_named(const std::string& name);
Where where_named(const std::string& given);
/// The functions that a program adds, and what remains for the loader's workers.
struct OwnFunctions {
  std::vector<FieldChain> fields;
  std::shared_ptr<PythonStep> step;  ///< of a penstock._own.step.OwnStep; null without functions
};
OwnFunctions own_functions(const std::optional<FieldsDict>& fields, const nanobind::object& on_sample,
                           const nanobind::object& on_batch, bool marks, unsigned python_workers);
/// What calls a function of Python's with the interpreter held; empty for None. While it runs, no loader may be used.
std::function<std::uint64_t(std::uint64_t)> sum_of(const nanobind::object& function);
bool in_sum_over_ranks();  ///< this thread is inside such a call
std::chrono::milliseconds timeout_of(std::optional<double> seconds);
/// Sets rank and world, and returns where they came from (empty when they were given).
std::string set_rank(LoaderOptions& options, const std::variant<std::uint32_t, std::string>& rank,
                     std::optional<std::uint32_t> world);
/// Null where nothing is given. Throws Error: invalid_argument, for options that do not go together; what bucket_by()
/// throws.
std::shared_ptr<const LengthBuckets> buckets_of(const Dataset& dataset, const std::optional<BucketBy>& bucket_by,
                                                std::uint64_t bucket_window, std::optional<double> batch_budget);
/// Nothing when `wanted` is not given, or are the dataset's classes, in that order.
void require_classes(const Dataset& dataset, const std::optional<std::vector<std::string>>& wanted);

/// A number for each sample: a text that names a field, (field, {its value: number}), or a buffer of float64;
/// penstock._draws makes one of these of whatever a program gives.
class SampleNumbers : public nanobind::object {
  NB_OBJECT_DEFAULT(SampleNumbers, nanobind::object,
                    "str | os.PathLike | collections.abc.Mapping[typing.Any, typing.Any] | "
                    "collections.abc.Iterable[float]",
                    is_any)
  static bool is_any(PyObject* object) { return object != nullptr; }
};

/// For a mixture. Throws Error: invalid_argument, where one of them is given.
void require_no_draws(const std::optional<SampleNumbers>& weights, const std::optional<SampleNumbers>& repeats,
                      const std::optional<std::string>& balance);
/// Null where nothing is given. Throws Error: invalid_argument, for options that do not go together; what reading a
/// field throws.
std::shared_ptr<const Draws> draws_of(const Dataset& dataset, const std::optional<SampleNumbers>& weights,
                                      bool replacement, const std::optional<SampleNumbers>& repeats,
                                      const std::optional<std::string>& balance,
                                      std::optional<std::uint64_t> epoch_samples);

}  // namespace penstock::python
