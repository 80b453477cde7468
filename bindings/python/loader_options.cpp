#include "loader_options.hpp"

#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>

#include <nanobind/ndarray.h>

#include <base/printable.hpp>
#include <loader/options/distributed_env.hpp>
#include <loader/options/option_table.hpp>
#include <penstock/base/error.hpp>
#include <penstock/loader/choices/draws.hpp>
#include <penstock/loader/choices/lengths.hpp>

#include "bind.hpp"
#include "door.hpp"
#include "interpreter.hpp"

namespace penstock::python {
namespace {

nb::object own_step_module() {
  return nb::module_::import_("penstock._own.step");
}

nb::object steps_module() {
  return nb::module_::import_("penstock._steps");
}

void require_names(const nb::dict& fields) {
  for (const auto& [key, value] : fields) {
    const std::string output = nb::str(key).c_str();
    if (output == "__key__" || output == "__valid__" || output == "__source__")
      throw Error::invalid_argument("fields: " + output + " is a batch's own and cannot be an output's name");
  }
}

// None stands for what the field's codec gives.
std::vector<FieldChain> chains_of(const nb::dict& fields) {
  std::vector<FieldChain> chains;
  for (const auto& [key, value] : fields) {
    const std::string output = nb::str(key).c_str();
    Chain chain;
    if (!value.is_none() && !nb::try_cast(value, chain))
      throw Error::invalid_argument("fields[\"" + output + "\"] is no chain such as image.decode() or label(): " +
                                    nb::cast<std::string>(steps_module().attr("no_step")(value)));
    chains.emplace_back(output, std::move(chain));
  }
  return chains;
}

thread_local bool summing = false;

constexpr double kLongestTimeout = 1e9;  // seconds: 31 years

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::map<std::string, double> numbers_by_value(nb::handle dict) {
  std::map<std::string, double> numbers;
  for (const auto& [value, number] : nb::borrow<nb::dict>(dict))
    numbers[bytes_of(nb::borrow<nb::str>(value))] = nb::cast<double>(number);
  return numbers;
}

// A text names a field. Where it is none, but looks like the name of a file, that is told.
void require_no_file(const Dataset& dataset, const char* option, const std::string& column) {
  const std::filesystem::path path(column);
  std::error_code failure;
  const bool file = path.extension() == ".npy" || std::filesystem::is_regular_file(path, failure);
  if (!file || dataset.field(column)) return;
  const std::string quoted = double_quoted(column);
  throw Error::invalid_argument(std::string(option) + "=" + quoted +
                                    " is a text, which names a field, and there is no " +
                                    "such one: a file of numbers is pathlib.Path(" + quoted + ")" +
                                    (path.extension() == ".npy" ? " or numpy.load(" + quoted + ")" : ""),
                                {.dataset = dataset.path().string()});
}

Draws drawn(Draws::Kind kind, const Dataset& dataset, nb::handle given, std::uint64_t samples) {
  const auto tick = [] { check_signals(); };
  if (nb::isinstance<nb::str>(given)) {
    const std::string column = bytes_of(nb::borrow<nb::str>(given));
    require_no_file(dataset, kind == Draws::Kind::repeated ? "repeats" : "weights", column);
    const WithoutInterpreter released;
    return drawn_by(kind, dataset, column, samples, tick);
  }
  if (nb::isinstance<nb::tuple>(given)) {  // a field, and numbers by its values
    const std::string column = bytes_of(nb::borrow<nb::str>(given[0]));
    const std::map<std::string, double> numbers = numbers_by_value(given[1]);
    const WithoutInterpreter released;
    return drawn_by(kind, dataset, column, numbers, samples, tick);
  }
  const auto numbers = nb::cast<Doubles>(given);
  return drawn_by(kind, std::span(numbers.data(), numbers.size()), samples);
}

}  // namespace

void refuse_word(const std::string& option, const std::string& given, const std::string& known) {
  throw Error::invalid_argument(option + " is " + known + ", not \"" + given + "\"");
}

Last last_of(Last last, bool drop_last) {
  if (drop_last && last == Last::pad) refuse_word("drop_last=True with last", "pad", "\"drop\"");
  return drop_last ? Last::drop : last;
}

namespace {

const OptionEntry* python_option(std::string_view name) {
  for (const OptionEntry& option : loader_options())
    if (option.name == name && option.door != Door::cpp) return &option;
  return nullptr;
}

// Sets one option to a value that is not None.
struct Setter {
  LoaderOptions& options;
  const OptionEntry& option;
  nb::handle given;

  void operator()(std::monostate) const {}
  void operator()(const OptionEntry::ByHand&) const {}
  void operator()(OptionEntry::Bytes bytes) const { (*this)(bytes.member); }
  void operator()(const OptionEntry::Words& words) const {
    std::string word;
    if (!nb::try_cast(given, word)) Keywords::misfit();
    if (!words.set(options, word)) refuse_word(std::string(option.name), word, words_text(words));
  }
  template <typename Value>
  void operator()(Value LoaderOptions::*member) const {
    if (!nb::try_cast(given, options.*member)) Keywords::misfit();
  }
};

}  // namespace

Keywords::Keywords(const nb::kwargs& given) : given_(given) {
  for (const auto& [name, value] : given) {
    const OptionEntry* option = python_option(nb::cast<std::string>(name));
    if (option == nullptr || (value.is_none() && !python_value(*option).type.ends_with("None"))) misfit();
  }
}

void Keywords::set(LoaderOptions& options) const {
  for (const auto& [name, value] : given_) {
    const OptionEntry& option = *python_option(nb::cast<std::string>(name));
    if (!value.is_none()) std::visit(Setter{options, option, value}, option.member);
  }
}

nb::object Keywords::object(const char* name) const {
  return given_.contains(name) ? nb::object(given_[name]) : nb::none();
}

void Keywords::misfit() {
  throw nb::type_error("__init__(): incompatible function arguments");
}

OwnFunctions own_functions(const nb::object& fields, const nb::object& on_sample, const nb::object& on_batch,
                           bool marks, unsigned python_workers) {
  if (!fields.is_none() && !nb::isinstance<nb::dict>(fields)) Keywords::misfit();
  if (!fields.is_none()) require_names(nb::borrow<nb::dict>(fields));
  const nb::tuple made =
      nb::cast<nb::tuple>(own_step_module().attr("own_step")(fields, on_sample, on_batch, marks, python_workers));
  OwnFunctions functions;
  if (!nb::object(made[0]).is_none()) functions.fields = chains_of(nb::cast<nb::dict>(made[0]));
  if (!nb::object(made[1]).is_none()) functions.step = std::make_shared<PythonStep>(nb::object(made[1]));
  return functions;
}

std::function<std::uint64_t(std::uint64_t)> sum_of(const nb::object& function) {
  if (function.is_none()) return {};
  if (PyCallable_Check(function.ptr()) == 0)
    throw Error::invalid_argument("sum_over_ranks is a function of a number, or None");
  const std::shared_ptr<PyObject> kept(nb::object(function).release().ptr(), [](PyObject* held) {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire interpreter;
    Py_DECREF(held);
  });
  return [kept](std::uint64_t number) {
    const nb::gil_scoped_acquire interpreter;
    summing = true;
    try {
      const nb::object sum = nb::borrow(kept.get())(number);
      summing = false;
      return nb::cast<std::uint64_t>(nb::int_(sum));
    } catch (...) {
      summing = false;
      throw;
    }
  };
}

bool in_sum_over_ranks() {
  return summing;
}

std::chrono::milliseconds timeout_of(std::optional<double> seconds) {
  if (!seconds) return std::chrono::milliseconds{0};
  if (!(*seconds >= 0 && *seconds <= kLongestTimeout))
    throw Error::invalid_argument("timeout is a number of seconds, or None to wait for ever");
  return std::chrono::milliseconds{static_cast<std::int64_t>(std::ceil(*seconds * 1e3))};
}

std::string set_rank(LoaderOptions& options, const std::variant<std::uint32_t, std::string>& rank,
                     std::optional<std::uint32_t> world) {
  if (const auto* number = std::get_if<std::uint32_t>(&rank)) {
    options.rank = *number;
    options.world = world.value_or(1);
    return {};
  }
  const std::string& given = std::get<std::string>(rank);
  if (given != "env") refuse_word("rank", given, "a number or \"env\"");
  if (world) throw Error::invalid_argument("rank=\"env\" takes world from the environment too: leave world out");
  const RankAndWorld found = rank_from_environment();
  options.rank = found.rank;
  options.world = found.world;
  return "rank " + std::to_string(found.rank) + " of " + std::to_string(found.world) + " from " + found.source;
}

std::shared_ptr<const LengthBuckets> buckets_of(const Dataset& dataset, const SampleNumbers& bucket_by,
                                                std::uint64_t bucket_window, std::optional<double> batch_budget) {
  if (bucket_by.is_none()) {
    if (batch_budget) throw Error::invalid_argument("batch_budget takes bucket_by, which says what it counts");
    if (bucket_window != LengthBuckets{}.window)
      throw Error::invalid_argument("bucket_window takes bucket_by, which says by what lengths samples are sorted");
    return nullptr;
  }
  if (batch_budget && !(*batch_budget > 0 && std::isfinite(*batch_budget)))
    throw Error::invalid_argument("batch_budget must be a number above 0, or None");
  const BucketOptions options{.window = bucket_window, .budget = batch_budget.value_or(0)};
  if (nb::isinstance<nb::str>(bucket_by)) {
    const std::string by = bytes_of(nb::borrow<nb::str>(bucket_by));
    require_no_file(dataset, "bucket_by", by);
    const WithoutInterpreter released;
    return through_door({.dataset = dataset.path().string()},
                        [&] { return penstock::bucket_by(dataset, by, options, [] { check_signals(); }); });
  }
  if (nb::isinstance<nb::tuple>(bucket_by))
    throw Error::invalid_argument(
        "bucket_by takes a field, or one length for each sample, not a number for each class");
  const auto lengths = nb::cast<Doubles>(bucket_by);
  return penstock::bucket_by(std::span(lengths.data(), lengths.size()), options);
}

void require_classes(const Dataset& dataset, const std::optional<std::vector<std::string>>& wanted) {
  if (!wanted) return;
  const auto known = dataset.classes();
  const auto fail = [&](const std::string& cause) {
    throw Error::invalid_argument("classes: " + cause, {.dataset = dataset.path().string()});
  };
  if (known.empty()) fail("the dataset has no names of classes");
  for (std::size_t i = 0; i < std::min(known.size(), wanted->size()); ++i) {
    if (known[i] != (*wanted)[i])
      fail("number " + std::to_string(i) + " is " + known[i] + " in the dataset, not " + (*wanted)[i]);
  }
  if (known.size() != wanted->size())
    fail("the dataset has " + std::to_string(known.size()) + ", not " + std::to_string(wanted->size()));
}

void require_no_draws(const SampleNumbers& weights, const SampleNumbers& repeats,
                      const std::optional<std::string>& balance) {
  const char* const given = !weights.is_none()   ? "weights"
                            : !repeats.is_none() ? "repeats"
                            : balance            ? "balance"
                                                 : nullptr;
  if (given == nullptr) return;
  throw Error::invalid_argument(std::string(given) +
                                " is of the samples of one dataset; a mixture has weights of its own, for each source: "
                                "ps.mixture(datasets, weights={source: weight, ...})");
}

std::shared_ptr<const Draws> draws_of(const Dataset& dataset, const SampleNumbers& weights, bool replacement,
                                      const SampleNumbers& repeats, const std::optional<std::string>& balance,
                                      std::optional<std::uint64_t> epoch_samples) {
  const int ways = int{!weights.is_none()} + int{!repeats.is_none()} + int{balance.has_value()};
  if (ways > 1) throw Error::invalid_argument("weights, repeats and balance are three orders: give one of them");
  if (!replacement && weights.is_none()) throw Error::invalid_argument("replacement=False takes weights");
  if (epoch_samples && ways == 0)
    throw Error::invalid_argument(
        "epoch_samples takes weights, repeats or balance: without them an epoch has each "
        "sample once");
  if (epoch_samples && *epoch_samples == 0) throw Error::invalid_argument("epoch_samples must be at least 1");
  if (ways == 0) return nullptr;
  const std::uint64_t samples = epoch_samples.value_or(0);
  if (balance) {
    const WithoutInterpreter released;
    return std::make_shared<const Draws>(balanced_by(dataset, *balance, samples, [] { check_signals(); }));
  }
  if (!repeats.is_none()) return std::make_shared<const Draws>(drawn(Draws::Kind::repeated, dataset, repeats, samples));
  const auto kind = replacement ? Draws::Kind::weighted : Draws::Kind::once;
  return std::make_shared<const Draws>(drawn(kind, dataset, weights, samples));
}

}  // namespace penstock::python
