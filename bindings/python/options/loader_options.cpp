#include "loader_options.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>

#include <nanobind/ndarray.h>

#include <base/printable.hpp>
#include <loader/options/distributed_env.hpp>
#include <loader/prepare.hpp>
#include <penstock/error.hpp>
#include <penstock/sampling.hpp>

#include "../bind.hpp"
#include "../door.hpp"
#include "../interpreter.hpp"
#include "option_objects.hpp"

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
    if (output == "__key__" || output == "__valid__" || output == "__source__" || output == "__present__")
      throw Error::invalid_argument("transforms: " + output + " is reserved and cannot be the name of an output");
  }
}

// For None, the field's codec decides.
std::vector<FieldChain> chains_of(const nb::dict& fields) {
  std::vector<FieldChain> chains;
  for (const auto& [key, value] : fields) {
    const std::string output = nb::str(key).c_str();
    Chain chain;
    if (!value.is_none() && !nb::try_cast(value, chain))
      throw Error::invalid_argument("transforms[\"" + output +
                                    "\"] is not a chain such as image.decode() or label(): " +
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

// Checks a text that names a field. If it looks like a file name instead, the error says so.
void require_no_file(const Dataset& dataset, const char* option, const std::string& column) {
  const std::filesystem::path path(column);
  std::error_code failure;
  const bool file = path.extension() == ".npy" || std::filesystem::is_regular_file(path, failure);
  if (!file || dataset.field(column)) return;
  const std::string quoted = double_quoted(column);
  throw Error::invalid_argument(std::string(option) + "=" + quoted +
                                    " names a field that does not exist; for a file of " +
                                    "numbers pass pathlib.Path(" + quoted + ")" +
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
  if (nb::isinstance<nb::tuple>(given)) {  // a field, and a number for each of its values
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
  throw Error::invalid_argument(option + " must be " + known + ", not \"" + given + "\"");
}

Last last_of(Last last, bool drop_last) {
  if (drop_last && last == Last::pad) refuse_word("last_batch with drop_last=True", "pad", "\"drop\"");
  return drop_last ? Last::drop : last;
}

const LoaderOption* option_of_python(std::string_view object, std::string_view keyword) {
  for (const LoaderOption* option : options_of_python(object))
    if (option->keyword() == keyword) return option;
  return nullptr;
}

Keywords::Keywords(const nb::kwargs& given) {
  for (const auto& [name, value] : given) {
    const std::string keyword = nb::cast<std::string>(name);
    const LoaderOption* option = option_of_python("", keyword);
    if (option == nullptr || (value.is_none() && !takes_none(python_value(*option)))) misfit();
    if (const OptionObject* const object = option_object(value)) {
      if (object->keyword != keyword) misfit();
      for (const auto& [own, each] : object->given)
        given_.emplace_back(option_of_python(keyword, nb::cast<std::string>(own)), nb::borrow(each));
      continue;
    }
    // The first option of some objects can be given without the object: cache="decoded".
    if (const auto of_object = options_of_python(keyword); !of_object.empty() && !value.is_none()) {
      const std::string first = python_value(*of_object.front()).type;
      if (!python_value(*option).type.starts_with(first.substr(0, first.find(" | None")))) misfit();
      option = of_object.front();
    }
    given_.emplace_back(option, nb::borrow(value));
  }
}

void Keywords::set(LoaderOptions& options) const {
  for (const auto& [option, value] : given_)
    if (!value.is_none()) set_option(options, *option, value);
}

nb::object Keywords::object(std::string_view name) const {
  for (const auto& [option, value] : given_)
    if (option->name == name) return value;
  return nb::none();
}

void misfit() {
  throw nb::type_error("__init__(): incompatible function arguments");
}

OwnFunctions own_functions(const nb::object& fields, const nb::object& on_sample, const nb::object& on_batch,
                           unsigned python_workers, const nb::object& missing) {
  if (!fields.is_none() && !nb::isinstance<nb::dict>(fields)) misfit();
  if (!fields.is_none()) require_names(nb::borrow<nb::dict>(fields));
  const nb::tuple made =
      nb::cast<nb::tuple>(own_step_module().attr("own_step")(fields, on_sample, on_batch, python_workers, missing));
  OwnFunctions functions;
  if (!nb::object(made[0]).is_none()) functions.fields = chains_of(nb::cast<nb::dict>(made[0]));
  const nb::object step(made[1]);
  if (step.is_none()) return functions;
  functions.step = std::make_shared<PythonStep>(step);
  functions.filled = nb::cast<std::vector<std::string>>(step.attr("filled"));
  return functions;
}

std::function<std::uint64_t(std::uint64_t)> sum_of(const nb::object& function) {
  if (function.is_none()) return {};
  if (PyCallable_Check(function.ptr()) == 0)
    throw Error::invalid_argument("all_reduce must be a function of one number, or None");
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
    throw Error::invalid_argument("timeout must be between 0 and 1e9 seconds, or None to wait without a limit");
  return std::chrono::milliseconds{static_cast<std::int64_t>(std::ceil(*seconds * 1e3))};
}

std::string set_rank(LoaderOptions& options, const std::variant<std::uint32_t, std::string>& rank,
                     std::optional<std::uint32_t> world) {
  if (const auto* number = std::get_if<std::uint32_t>(&rank)) {
    options.rank = *number;
    options.world_size = world.value_or(1);
    return {};
  }
  const std::string& given = std::get<std::string>(rank);
  if (given != "env") refuse_word("rank", given, "a number or \"env\"");
  if (world)
    throw Error::invalid_argument(
        "rank=\"env\" cannot be combined with world_size, which it reads from the environment");
  const RankAndWorld found = rank_from_environment();
  options.rank = found.rank;
  options.world_size = found.world;
  return "rank " + std::to_string(found.rank) + " of " + std::to_string(found.world) + " from " + found.source;
}

std::shared_ptr<const LengthBuckets> buckets_of(const Dataset& dataset, nb::handle batching) {
  if (batching.is_none()) return nullptr;
  const nb::object by = batching.attr("lengths");
  const auto budget = nb::cast<std::optional<double>>(batching.attr("budget"));
  const BucketOptions options{.window = nb::cast<std::uint64_t>(batching.attr("pool")), .budget = budget.value_or(0)};
  if (nb::isinstance<nb::str>(by)) {
    const std::string field = bytes_of(nb::borrow<nb::str>(by));
    require_no_file(dataset, "lengths", field);
    const WithoutInterpreter released;
    return through_door({.dataset = dataset.path().string()},
                        [&] { return bucket_by(dataset, field, options, [] { check_signals(); }); });
  }
  const auto lengths = nb::cast<Doubles>(by);
  return bucket_by(std::span(lengths.data(), lengths.size()), options);
}

void require_classes(const Dataset& dataset, const std::optional<std::vector<std::string>>& wanted) {
  if (!wanted) return;
  const auto known = dataset.classes();
  const auto fail = [&](const std::string& cause) {
    throw Error::invalid_argument("expect_classes: " + cause, {.dataset = dataset.path().string()});
  };
  if (known.empty()) fail("the dataset has no class names");
  for (std::size_t i = 0; i < std::min(known.size(), wanted->size()); ++i) {
    if (known[i] != (*wanted)[i])
      fail("class " + std::to_string(i) + " is " + known[i] + " in the dataset, not " + (*wanted)[i]);
  }
  if (known.size() != wanted->size())
    fail("the dataset has " + std::to_string(known.size()) + " classes, not " + std::to_string(wanted->size()));
}

namespace {

std::shared_ptr<const Draws> draws_of(const Dataset& dataset, std::string_view kind, nb::handle sampler) {
  const auto samples = nb::cast<std::optional<std::uint64_t>>(sampler.attr("num_samples")).value_or(0);
  const nb::object by = sampler.attr("by");
  if (kind == "balanced") {
    const std::string field = bytes_of(nb::borrow<nb::str>(by));
    const WithoutInterpreter released;
    return std::make_shared<const Draws>(balanced_by(dataset, field, samples, [] { check_signals(); }));
  }
  if (kind == "repeated") return std::make_shared<const Draws>(drawn(Draws::Kind::repeated, dataset, by, samples));
  const bool replacement = nb::cast<bool>(sampler.attr("replacement"));
  return std::make_shared<const Draws>(
      drawn(replacement ? Draws::Kind::weighted : Draws::Kind::once, dataset, by, samples));
}

}  // namespace

void set_sampler(LoaderOptions& options, const Dataset& dataset, nb::handle sampler) {
  if (sampler.is_none()) return;
  const std::string kind = nb::cast<std::string>(sampler.attr("kind"));
  if (kind == "subset") {
    options.subset = nb::cast<std::vector<std::uint64_t>>(sampler.attr("by"));
  } else if (options.mixture != nullptr) {
    throw Error::invalid_argument(
        "this sampler cannot be combined with a mixture; pass a weight for each source of the mixture instead: "
        "ps.mixture(datasets, weights={source: weight, ...})");
  } else {
    options.sampler = draws_of(dataset, kind, sampler);
  }
}

namespace {

// `where`: "missing", or "missing[\"mask\"]". Accepts NumPy's numbers too.
MissingRows missing_rows_of(const std::string& where, nb::handle given) {
  if (nb::isinstance<nb::str>(given)) {
    const std::string word = bytes_of(nb::borrow<nb::str>(given));
    for (const Missing policy : {Missing::raise, Missing::exclude, Missing::empty})
      if (name(policy) == word) return policy;
    refuse_word(where, word, "\"raise\", \"exclude\", \"empty\" or a number");
  }
  if (PyIndex_Check(given.ptr()) != 0) {
    const nb::object number = nb::steal(PyNumber_Index(given.ptr()));
    int overflow = 0;
    const std::int64_t whole = number.is_valid() ? PyLong_AsLongLongAndOverflow(number.ptr(), &overflow) : 0;
    if (!number.is_valid()) throw nb::python_error();
    if (overflow != 0)
      throw Error::invalid_argument(where + " = " + nb::str(number).c_str() + " has more than 64 bits");
    return whole;
  }
  const bool is_number = PyFloat_Check(given.ptr()) || nb::hasattr(given, "__float__");
  if (!is_number)
    raise_type_error("penstock.Loader(): " + where + " must be \"raise\", \"exclude\", \"empty\" or a number, not " +
                     shown(given));
  const double number = PyFloat_AsDouble(given.ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return number;
}

}  // namespace

void set_missing(LoaderOptions& options, nb::handle missing) {
  if (missing.is_none()) return;
  if (!nb::hasattr(missing, "items")) {
    options.missing = missing_rows_of("missing", missing);
    return;
  }
  for (const nb::handle entry : missing.attr("items")()) {
    const auto [key, value] = nb::cast<std::pair<nb::object, nb::object>>(entry);
    if (!nb::isinstance<nb::str>(key))
      raise_type_error("penstock.Loader(): the keys of missing must be names of outputs, or \"*\", not " + shown(key));
    const std::string output = bytes_of(nb::borrow<nb::str>(key));
    const MissingRows rows = missing_rows_of("missing[" + double_quoted(output) + "]", value);
    if (output == "*")
      options.missing = rows;
    else
      options.missing_by_output.emplace_back(output, rows);
  }
}

void set_missing_inputs(LoaderOptions& options, const Dataset& dataset, const std::vector<std::string>& outputs) {
  if (outputs.empty()) return;
  LoaderOptions plain;
  plain.transforms = options.transforms;
  plain.on_error = options.on_error;
  const WithoutInterpreter released;
  const Program program = compiled(dataset, plain);
  for (const std::string& name : outputs) {
    const auto output = std::ranges::find(program.outputs(), name, &Output::name);
    if (output == program.outputs().end() || output->window != 0) continue;
    if (output->ragged && !output->may_be_missing) continue;
    std::erase_if(options.missing_by_output, [&](const MissingRowsOf& rows) { return rows.first == name; });
    options.missing_by_output.emplace_back(name,
                                           output->ragged ? MissingRows(Missing::empty) : MissingRows(std::int64_t{0}));
  }
}

void set_shuffle(LoaderOptions& options, nb::handle shuffle) {
  if (shuffle.is_none()) return;
  if (nb::try_cast(shuffle, options.shuffle)) return;
  if (!nb::hasattr(shuffle, "block")) misfit();
  options.shuffle = true;
  options.shuffle_block = nb::cast<std::optional<std::uint64_t>>(shuffle.attr("block"));
  options.shuffle_window = nb::cast<std::optional<std::uint64_t>>(shuffle.attr("window")).value_or(0);
}

void set_max_errors(LoaderOptions& options, nb::handle limit) {
  if (limit.is_none()) return;
  std::uint64_t count = 0;
  if (nb::try_cast(limit, count)) {
    options.max_error_count = count;
  } else if (PyIndex_Check(limit.ptr()) != 0 || !nb::try_cast(limit, options.max_error_rate)) {
    misfit();
  }
}

}  // namespace penstock::python
