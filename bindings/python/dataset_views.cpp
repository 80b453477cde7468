#include "dataset_views.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <formats/column.hpp>
#include <formats/encodings.hpp>
#include <formats/lists/sample_list.hpp>
#include <loader/choices/values.hpp>
#include <penstock/error.hpp>
#include <penstock/select.hpp>
#include <penstock/views.hpp>

#include "bind.hpp"
#include "interpreter.hpp"
#include "open_dataset.hpp"
#include "options/loader_options.hpp"
#include "sample.hpp"

namespace penstock::python {
namespace {

std::uint64_t count_of(std::int64_t count, const char* name) {
  if (count < 0)
    throw Error::invalid_argument(std::string(name) + " requires a number of samples of 0 or more, not " +
                                  std::to_string(count));
  return static_cast<std::uint64_t>(count);
}

Dataset concatenated_all(nb::handle datasets) {
  std::vector<Dataset> all;
  if (nb::isinstance<Dataset>(datasets) || nb::isinstance<nb::str>(datasets))
    throw nb::type_error("concat requires a list of datasets: concat([a, b])");
  for (const nb::handle each : nb::iter(datasets)) all.push_back(open_dataset(each));
  const WithoutInterpreter released;
  return concatenated(all);
}

nb::object one_behind_the_other(const Dataset& self, nb::handle other) {
  if (!nb::isinstance<Dataset>(other)) return nb::borrow(Py_NotImplemented);
  const std::array both{self, nb::cast<Dataset>(other)};
  return nb::cast(concatenated(both));
}

bool given(nb::handle value) {
  return value.is_valid() && !value.is_none();
}

// A text, or several.
std::vector<std::string> texts_of(nb::handle value, const char* name, bool numbers = false) {
  std::vector<std::string> all;
  const auto add = [&](nb::handle each) {
    if (nb::isinstance<nb::str>(each)) {
      all.push_back(bytes_of(nb::borrow<nb::str>(each)));
    } else if (numbers && PyIndex_Check(each.ptr()) != 0 && PyBool_Check(each.ptr()) == 0) {
      all.push_back(bytes_of(nb::str(nb::steal(PyNumber_Index(each.ptr())))));
    } else {
      raise_type_error(std::string(name) + " requires strings" + (numbers ? " or whole numbers" : "") +
                       ", not a value of type " + nb::type_name(each.type()).c_str());
    }
  };
  if (nb::isinstance<nb::str>(value) || (numbers && PyIndex_Check(value.ptr()) != 0)) {
    add(value);
  } else {
    for (const nb::handle each : nb::iter(value)) add(each);
  }
  if (all.empty()) throw Error::invalid_argument(std::string(name) + " is empty, so it selects nothing");
  return all;
}

// (least, most); None in either position means no limit.
template <typename Number>
std::pair<Number, Number> range_of(nb::handle value, const std::string& name) {
  constexpr Number kMost = std::numeric_limits<Number>::max();
  std::pair<Number, Number> range{0, kMost};
  const bool two = (nb::isinstance<nb::tuple>(value) || nb::isinstance<nb::list>(value)) && nb::len(value) == 2;
  if (!two) raise_type_error(name + " requires (least, most), with None for no limit");
  const auto number = [&](nb::handle end, Number& place) {
    if (end.is_none()) return;
    if (!nb::try_cast(end, place) || place < 0)
      raise_type_error(name + " requires whole numbers of 0 or more, or None");
  };
  const nb::object low = value[0], high = value[1];
  number(low, range.first);
  number(high, range.second);
  if (range.first > range.second) {
    throw Error::invalid_argument(name + ": the minimum " + std::to_string(range.first) + " exceeds the maximum " +
                                  std::to_string(range.second));
  }
  return range;
}

// Calls take(name, value) for each entry of a dict. `example` is such a dict, for the error.
template <typename Take>
void for_each_named(nb::handle dict, const char* option, const char* example, const Take& take) {
  if (!nb::isinstance<nb::dict>(dict)) raise_type_error(std::string(option) + " must be a dict, such as " + example);
  for (const auto& [name, value] : nb::borrow<nb::dict>(dict)) {
    if (!nb::isinstance<nb::str>(name)) raise_type_error(std::string(option) + " requires strings as keys");
    take(bytes_of(nb::borrow<nb::str>(name)), value);
  }
}

// Passes samples to a user function, one by one. The first samples show which fields it reads. These fields of the
// remaining samples are read ahead on all cores.
class Visitor {
 public:
  explicit Visitor(const Dataset& dataset) : dataset_(dataset) {}

  // Calls visit(sample) with the interpreter held.
  template <typename Visit>
  void run(const Visit& visit) {
    constexpr std::uint64_t kToLearn = 64;
    const std::uint64_t first = std::min(kToLearn, dataset_.size());
    for (std::uint64_t sample = 0; sample < first; ++sample) visit(nb::cast(Sample{dataset_, sample, ahead_}));
    if (first == dataset_.size()) return;
    ahead_->fields = ahead_->asked;
    const Dataset rest = skip(dataset_, first);
    const WithoutInterpreter released;
    for_each_sample(
        rest, ahead_->fields,
        [&](const SampleValues& sample) {
          const nb::gil_scoped_acquire held;
          ahead_->values = sample.values;
          const Forget after{*ahead_};
          visit(nb::cast(Sample{dataset_, first + sample.sample, ahead_}));
        },
        [] { check_signals(); });
  }

 private:
  struct Forget {  // the values are valid only during the call
    ReadAhead& ahead;
    ~Forget() { ahead.values = {}; }
  };

  const Dataset& dataset_;
  std::shared_ptr<ReadAhead> ahead_ = std::make_shared<ReadAhead>();
};

bool is_true(const nb::object& value) {
  const int answer = PyObject_IsTrue(value.ptr());
  if (answer < 0) throw nb::python_error();
  return answer != 0;
}

std::string name_of_function(nb::handle function) {
  const nb::object name = nb::getattr(function, "__name__", nb::none());
  if (!nb::isinstance<nb::str>(name)) return "a function";
  std::string text = bytes_of(nb::borrow<nb::str>(name));
  return text == "<lambda>" ? "a function" : text + "()";
}

nb::object checked_function(nb::handle function, const char* option) {
  if (PyCallable_Check(function.ptr()) == 0) raise_type_error(std::string(option) + " requires a function of a Sample");
  return nb::borrow(function);
}

void take_keys(FilterOptions& options, nb::handle keys) {
  if (!given(keys)) return;
  if (nb::isinstance<nb::str>(keys)) {
    options.patterns = texts_of(keys, "keys");
  } else if (nb::hasattr(keys, "__fspath__")) {
    options.key_file = nb::cast<std::filesystem::path>(keys);
  } else {
    options.keys = texts_of(keys, "keys");
  }
}

// The only field that holds images.
std::string image_field(const Dataset& dataset) {
  std::string found, all;
  int count = 0;
  for (const FieldSchema& field : dataset.fields()) {
    if (kind_of_codec(field.codec) != ValueKind::image) continue;
    found = field.name;
    all += (count++ == 0 ? "" : ", ") + field.name;
  }
  if (count == 1) return found;
  throw Error::invalid_argument(count == 0 ? "sizes: no field holds images"
                                           : "sizes: several fields hold images (" + all + "); name one: sizes={\"" +
                                                 found + "\": (least, most)}",
                                {.dataset = dataset.path().string()});
}

void take_sizes(FilterOptions& options, const Dataset& dataset, nb::handle sizes) {
  if (!given(sizes)) return;
  const auto take = [&](const std::string& field, nb::handle range) {
    const auto [least, most] = range_of<std::int64_t>(range, "sizes of " + field);
    options.sizes.emplace_back(field, Sides{least, most});
  };
  if (nb::isinstance<nb::dict>(sizes)) {
    for_each_named(sizes, "sizes", "{\"jpg\": (224, None)}", take);
  } else {
    take(image_field(dataset), sizes);
  }
}

Dataset filtered(const Dataset& self, nb::handle predicate, nb::handle keys, nb::handle labels,
                 const std::string& label_field, nb::handle has, nb::handle lengths, nb::handle sizes) {
  FilterOptions options{.label_field = label_field};
  const std::array all{predicate, keys, labels, has, lengths, sizes};
  if (nb::isinstance<nb::str>(predicate))
    throw nb::type_error("predicate must be a function of a Sample; to select by key, use filter(keys=\"cat/*\")");
  if (std::ranges::none_of(all, given))
    throw nb::type_error("filter() requires a condition: predicate, keys, labels, has, lengths or sizes");
  take_keys(options, keys);
  if (!given(labels) && label_field != FilterOptions{}.label_field)
    throw Error::invalid_argument("label_field requires labels");
  if (given(labels)) options.labels = texts_of(labels, "labels", true);
  if (given(has)) options.has = texts_of(has, "has");
  if (given(lengths)) {
    for_each_named(lengths, "lengths", "{\"npy\": (1, 512)}", [&](const std::string& field, nb::handle range) {
      const auto [least, most] = range_of<std::uint64_t>(range, "lengths of " + field);
      options.lengths.emplace_back(field, LengthRange{least, most});
    });
  }
  take_sizes(options, self, sizes);
  const Dataset view = without_interpreter([&] { return filter(self, options, [] { check_signals(); }); });
  if (!given(predicate)) return view;
  const nb::object function = checked_function(predicate, "predicate");
  SampleListBuilder chosen;
  Visitor(view).run([&](const nb::object& sample) {
    if (is_true(function(sample))) chosen.add(nb::cast<Sample&>(sample).number);
  });
  return choose(view, std::move(chosen).finish(), "only where " + name_of_function(function));
}

Dataset selected(const Dataset& self, nb::handle indices) {
  const nb::object numbers = nb::module_::import_("penstock._draws").attr("sample_numbers")(indices, "Dataset.select");
  SampleListBuilder chosen;
  for (const nb::handle each : numbers) {
    std::uint64_t sample = 0;
    if (!nb::try_cast(each, sample) || sample >= self.size()) {
      throw Error::invalid_argument("select(): sample " + bytes_of(nb::str(each)) +
                                        " is out of range for a dataset of " + std::to_string(self.size()),
                                    {.dataset = self.path().string()});
    }
    chosen.add(sample);
  }
  const std::size_t count = nb::len(numbers);
  if (count == 0)
    throw Error::invalid_argument("select() got no numbers, so the view would be empty",
                                  {.dataset = self.path().string()});
  return choose(self, std::move(chosen).finish(), "select " + std::to_string(count) + " samples");
}

// The part of a key that a Python regular expression selects: its first group, or the whole match if it has no group.
std::string group_in(const Dataset& dataset, const nb::object& pattern, bool groups, std::string_view key) {
  const nb::object match = pattern.attr("search")(text(key));
  const nb::object group = match.is_none() ? nb::none() : match.attr("group")(groups ? 1 : 0);
  if (group.is_none()) {
    throw Error::invalid_argument(
        "the key does not match " + bytes_of(nb::repr(pattern.attr("pattern"))) +
            ", so the sample has no group; to group by a field, pass one of the dataset's fields: " +
            names_of_fields(dataset),
        {.dataset = dataset.path().string(), .key = std::string(key)});
  }
  return bytes_of(nb::borrow<nb::str>(group));
}

// Converts a seed. Refuses True, which Python counts as an integer.
std::uint64_t seed_of(nb::handle given, const char* name) {
  std::uint64_t seed = 0;
  if (PyBool_Check(given.ptr()) == 0 && nb::try_cast(given, seed)) return seed;
  raise_type_error(std::string(name) + " must be a whole number of 0 or more, such as " + name + "=1, not " +
                   shown(given));
}

// Converts `by` to a regular expression: a text that neither is a field's name nor looks like one.
nb::object pattern_of(const Dataset& dataset, nb::handle by) {
  const nb::module_ re = nb::module_::import_("re");
  if (nb::isinstance(by, re.attr("Pattern"))) return nb::borrow(by);
  if (!nb::isinstance<nb::str>(by)) throw nb::type_error("by must be \"key\", a field, or a regular expression");
  const std::string name = bytes_of(nb::borrow<nb::str>(by));
  if (!is_key_expression(dataset, name)) return nb::none();
  return re.attr("compile")(by);
}

nb::dict split_into(const Dataset& self, nb::handle parts, nb::handle by, nb::handle stratify, nb::handle seed) {
  std::vector<SplitPart> shares;
  const auto take = [&](const std::string& name, nb::handle share) {
    double number = 0;
    if (!nb::try_cast(share, number)) raise_type_error("the share of \"" + name + "\" must be a number");
    shares.push_back({name, number});
  };
  for_each_named(parts, "the parts of split()", "{\"train\": 0.8, \"val\": 0.2}", take);
  SplitOptions options{.seed = seed_of(seed, "seed")};
  const nb::object pattern = pattern_of(self, by);
  std::string expression;
  if (pattern.is_none()) {
    options.by = bytes_of(nb::borrow<nb::str>(by));
  } else {
    const bool groups = nb::cast<int>(pattern.attr("groups")) != 0;
    options.group = [&self, &pattern, groups](std::uint64_t, std::string_view key) {
      const nb::gil_scoped_acquire held;
      return group_in(self, pattern, groups, key);
    };
  }
  if (given(stratify)) {
    if (!nb::isinstance<nb::str>(stratify)) throw nb::type_error("stratify must be the name of a field");
    options.stratify = bytes_of(nb::borrow<nb::str>(stratify));
  }
  auto views = without_interpreter([&] { return split(self, shares, options, [] { check_signals(); }); });
  nb::dict named;
  for (auto& [name, view] : views) named[text(name)] = nb::cast(std::move(view));
  return named;
}

Dataset sorted_by_function(const Dataset& self, nb::handle function, bool reverse) {
  const nb::object ranked = checked_function(function, "sort");
  nb::list values;
  Visitor(self).run([&](const nb::object& sample) { values.append(ranked(sample)); });
  const nb::module_ builtins = nb::module_::import_("builtins");
  const nb::object order = builtins.attr("sorted")(
      builtins.attr("range")(self.size()), nb::arg("key") = values.attr("__getitem__"), nb::arg("reverse") = reverse);
  SampleListBuilder positions;
  for (const nb::handle each : order) positions.add(nb::cast<std::uint64_t>(each));
  return choose(self, std::move(positions).finish(),
                "sort by " + name_of_function(ranked) + (reverse ? ", falling" : ""));
}

Dataset sorted_by(const Dataset& self, nb::handle by, nb::handle length, bool reverse) {
  if (given(length)) {
    if (!nb::isinstance<nb::str>(length)) throw nb::type_error("length must be the name of a field");
    if (given(by)) throw nb::type_error("sort(): by cannot be combined with length");
    return sorted_by_length(self, bytes_of(nb::borrow<nb::str>(length)), reverse);
  }
  if (given(by) && !nb::isinstance<nb::str>(by)) return sorted_by_function(self, by, reverse);
  const std::string name = given(by) ? bytes_of(nb::borrow<nb::str>(by)) : "key";
  const WithoutInterpreter released;
  if (name == "key") return sorted_by_key(self, reverse);
  return sorted_by_column(self, name, reverse, [] { check_signals(); });
}

Dataset joined_with(const Dataset& self, nb::handle other, nb::handle fields, const std::string& missing) {
  JoinOptions options;
  if (missing != "raise" && missing != "exclude")
    throw Error::invalid_argument("missing must be \"raise\" or \"exclude\", not \"" + one_line(missing) + "\"");
  options.leave_out = missing == "exclude";
  if (nb::isinstance<nb::dict>(fields)) {
    for_each_named(fields, "fields", "{\"NAME THERE\": \"NAME HERE\"}", [&](const std::string& name, nb::handle here) {
      if (!nb::isinstance<nb::str>(here)) throw nb::type_error("fields must be a dict {\"name there\": \"name here\"}");
      options.fields.emplace_back(name, bytes_of(nb::borrow<nb::str>(here)));
    });
  } else if (given(fields)) {
    for (const std::string& name : texts_of(fields, "fields")) options.fields.emplace_back(name, name);
  }
  const Dataset partner = open_dataset(other);
  const WithoutInterpreter released;
  return joined(self, partner, options);
}

// A count option of token_blocks().
std::uint64_t token_count(std::int64_t count, const char* name) {
  if (count >= 0) return static_cast<std::uint64_t>(count);
  throw Error::invalid_argument(std::string(name) + " must be 0 or more, not " + std::to_string(count));
}

// The name of a dtype: a text, or the NumPy or torch object of that name ("torch.uint16", numpy.uint16).
DType dtype_of(nb::handle value) {
  nb::object named = nb::borrow(value);
  if (!nb::isinstance<nb::str>(named)) named = nb::getattr(named, "__name__", nb::str(named));
  std::string word = nb::cast<std::string>(nb::str(named));
  if (const std::size_t dot = word.rfind('.'); dot != std::string::npos) word = word.substr(dot + 1);
  if (const auto known = dtype_named(word)) return *known;
  throw Error::invalid_argument("unknown dtype \"" + one_line(word) + "\"; expected uint8 to uint64 or int8 to int64");
}

void add_fields(TokenOptions& options, const std::optional<std::vector<std::string>>& add) {
  if (!add) options.positions = options.segment_ids = options.packing == TokenPacking::best_fit;
  for (const std::string& name : add.value_or(std::vector<std::string>())) {
    bool* const wanted = name == "positions"     ? &options.positions
                         : name == "segment_ids" ? &options.segment_ids
                         : name == "cu_lengths"  ? &options.cu_lengths
                                                 : nullptr;
    if (wanted == nullptr) refuse_word("add", name, "some of \"positions\", \"segment_ids\" and \"cu_lengths\"");
    *wanted = true;
  }
}

Dataset blocks_of(nb::handle documents, std::int64_t length, const std::string& field, const std::string& packing,
                  nb::handle dtype, std::optional<std::int64_t> end, std::int64_t pad, const std::string& last,
                  const std::string& long_documents, std::int64_t window, nb::handle shuffle_documents,
                  nb::handle add) {
  TokenOptions options{.field = field, .end = end, .pad = pad, .window = token_count(window, "window")};
  options.packing = packing == "best_fit" ? TokenPacking::best_fit : TokenPacking::cut;
  if (packing != "cut" && packing != "best_fit") refuse_word("packing", packing, "\"cut\" or \"best_fit\"");
  if (!dtype.is_none()) options.dtype = dtype_of(dtype);
  options.pad_last = last == "pad";
  if (last != "pad" && last != "drop") refuse_word("last", last, "\"drop\" or \"pad\"");
  options.whole = long_documents == "whole";
  if (long_documents != "whole" && long_documents != "cut")
    refuse_word("documents", long_documents, "\"cut\" or \"whole\"");
  if (given(shuffle_documents)) options.shuffle = seed_of(shuffle_documents, "shuffle_documents");
  if (nb::isinstance<nb::str>(add)) throw nb::type_error("add must be a list of names: add=[\"positions\"]");
  std::optional<std::vector<std::string>> names;
  if (!add.is_none()) {
    names.emplace();
    for (const nb::handle each : nb::iter(add)) names->push_back(nb::cast<std::string>(each));
  }
  add_fields(options, names);
  const Dataset opened = open_dataset(documents);
  const std::uint64_t tokens = token_count(length, "length");
  const WithoutInterpreter released;
  return token_blocks(opened, tokens, options, [] { check_signals(); });
}

}  // namespace

std::string described(const Dataset& dataset) {
  if (dataset.is_view()) return "view of " + dataset.path().string() + ": " + dataset.about();
  return dataset.path().string() + ", " + std::string(dataset.format()) + ", " + std::to_string(dataset.size()) +
         " samples";
}

void define_views(nb::module_& module, nb::class_<Dataset>& dataset) {
  dataset
      .def(
          "take", [](const Dataset& self, std::int64_t count) { return take(self, count_of(count, "take")); },
          nb::arg("count"), "A view of the first `count` samples, or of all if there are fewer.")
      .def(
          "skip", [](const Dataset& self, std::int64_t count) { return skip(self, count_of(count, "skip")); },
          nb::arg("count"), "A view of all samples except the first `count`. Raises Error if none is left.")
      .def("select", selected, nb::arg("indices"),
           nb::sig("def select(self, indices: collections.abc.Sequence[int]) -> Dataset"),
           "A view of the samples with these numbers, in this order: a list, a range, an array or a tensor.\n"
           "Numbers may repeat. Raises Error for a number that no sample has, and TypeError for a mask.")
      .def("filter", filtered, nb::arg("predicate") = nb::none(), nb::kw_only(), nb::arg("keys") = nb::none(),
           nb::arg("labels") = nb::none(), nb::arg("label_field") = "cls", nb::arg("has") = nb::none(),
           nb::arg("lengths") = nb::none(), nb::arg("sizes") = nb::none(),
           nb::sig("def filter(self, predicate: collections.abc.Callable[[Sample], object] | None = None, *, "
                   "keys: str | os.PathLike | collections.abc.Iterable[str] | None = None, "
                   "labels: str | int | collections.abc.Iterable[str | int] | None = None, label_field: str = \"cls\", "
                   "has: str | collections.abc.Iterable[str] | None = None, "
                   "lengths: dict[str, tuple[int | None, int | None]] | None = None, "
                   "sizes: tuple[int | None, int | None] | dict[str, tuple[int | None, int | None]] | None = None) "
                   "-> Dataset"),
           "A view of the samples that meet every condition given, in the dataset's order.\n"
           "\n"
           "predicate: a function of a Sample. Called once, in order, for each sample that meets the other\n"
           "    conditions. The view has the samples for which it returns true.\n"
           "keys: a pattern (\"cat/*\"; `*` also matches `/`), a list of keys, or a pathlib.Path of a file with one "
           "key a\n"
           "    line. Every listed key must exist.\n"
           "labels: names or numbers of classes, or values of `label_field`.\n"
           "label_field: a field, or a member of a JSON field (\"json:weather\").\n"
           "has: fields that a sample must have.\n"
           "lengths: bytes of values, {\"jpg\": (least, most)}. None means no limit.\n"
           "sizes: limits of both sides of images in pixels, in the same form. (least, most) is enough if only one\n"
           "    field contains images. Only the headers of the images are read.\n"
           "Raises Error if no sample is left; it names the condition.")
      .def("split", split_into, nb::arg("parts"), nb::kw_only(), nb::arg("by") = "key",
           nb::arg("stratify") = nb::none(), nb::arg("seed") = 0,
           nb::sig("def split(self, parts: dict[str, float], *, by: str | re.Pattern[str] = \"key\", "
                   "stratify: str | None = None, seed: int = 0) -> dict[str, Dataset]"),
           "Views by part: split({\"train\": 0.9, \"val\": 0.1}). Shares add up to 1, or are whole numbers.\n"
           "\n"
           "by: the group of a sample; a group is never divided. \"key\" (each sample is a group), a field\n"
           "(\"patient\", \"json:patient\"), or a regular expression that is searched in the keys. Its first group\n"
           "(or whole match) names the sample's group. The part of a group depends only on the group and\n"
           "`seed`, so new samples do not move other groups.\n"
           "stratify: a field. Each of its values gets the shares in every part. New samples may then move\n"
           "others of the same value.\n"
           "Raises Error if a part gets no sample; it names the part. docs/spec/views.md defines the\n"
           "computation.")
      .def("sort", sorted_by, nb::arg("by") = nb::none(), nb::kw_only(), nb::arg("length") = nb::none(),
           nb::arg("reverse") = false,
           nb::sig("def sort(self, by: str | collections.abc.Callable[[Sample], typing.Any] | None = None, *, "
                   "length: str | None = None, reverse: bool = False) -> Dataset"),
           "A view of all samples in another order. Equal samples keep their order.\n"
           "\n"
           "by: \"key\" (the default), a field that contains a number (\"score\", \"json:score\"), or a function of a\n"
           "Sample. The function is called once for each sample, and its results are compared.\n"
           "length: a field; sorts by the number of its bytes instead.")
      .def("join", joined_with, nb::arg("other"), nb::kw_only(), nb::arg("fields") = nb::none(),
           nb::arg("missing") = "raise",
           nb::sig("def join(self, other: Dataset | str | os.PathLike, *, "
                   "fields: str | collections.abc.Iterable[str] | dict[str, str] | None = None, "
                   "missing: str = \"raise\") -> Dataset"),
           "A view of these samples, with fields of the samples of `other` that have the same key (images here,\n"
           "masks there).\n"
           "\n"
           "fields: names of fields to add, or {name there: name here}. By default, all fields that this dataset\n"
           "lacks.\n"
           "missing: for samples whose key `other` lacks, \"raise\" or \"exclude\".\n"
           "Raises Error.")
      .def("__add__", one_behind_the_other, nb::arg("other").none(),
           nb::sig("def __add__(self, other: Dataset, /) -> Dataset"), "concat([self, other])");
  module.def("concat", concatenated_all, nb::arg("datasets"),
             nb::sig("def concat(datasets: collections.abc.Iterable[Dataset | str | os.PathLike]) -> Dataset"),
             "A view of the samples of all datasets (or paths of datasets, of any formats), one dataset after the\n"
             "other.\n"
             "\n"
             "Fields with the same name become one, and a sample keeps the fields that it had. Datasets and keys\n"
             "may repeat. Raises Error if class names differ: all datasets that have class names must have the\n"
             "same.");
  module.def(
      "token_blocks", blocks_of, nb::arg("dataset"), nb::arg("length"), nb::kw_only(), nb::arg("field") = "tokens",
      nb::arg("packing") = "cut", nb::arg("dtype") = nb::none(), nb::arg("end") = nb::none(), nb::arg("pad") = 0,
      nb::arg("last") = "drop", nb::arg("documents") = "cut", nb::arg("window") = 100'000,
      nb::arg("shuffle_documents") = nb::none(), nb::arg("add") = nb::none(),
      nb::sig("def token_blocks(dataset: Dataset | str | os.PathLike, length: int, *, field: str = 'tokens', "
              "packing: str = 'cut', dtype: typing.Any = None, end: int | None = None, pad: int = 0, "
              "last: str = 'drop', documents: str = 'cut', window: int = 100000, "
              "shuffle_documents: int | None = None, "
              "add: collections.abc.Iterable[str] | None = None) -> Dataset"),
      "A view of blocks of `length` tokens, made of documents. A document is a sample whose `field` is an\n"
      "array of integers of any length (raw elements, .npy, Megatron's .bin and .idx). Copies nothing.\n"
      "Tokens are delivered as int64.\n"
      "\n"
      "packing: \"cut\": joins all documents and cuts them every `length` tokens. \"best_fit\": whole documents\n"
      "in blocks with little padding.\n"
      "dtype: of the stored integers, if the field does not define it.\n"
      "end: a token that is appended to each document.\n"
      "pad: the token that fills blocks which are not full.\n"
      "last: for \"cut\". \"drop\" leaves out the last tokens if they do not fill a block; \"pad\" fills up their\n"
      "block.\n"
      "documents: for \"best_fit\". Documents longer than a block are cut (\"cut\") or an error (\"whole\").\n"
      "window: for \"best_fit\". Number of documents that are packed together.\n"
      "shuffle_documents: a seed. Documents then come in an order drawn from it.\n"
      "add: additional fields: \"positions\" and \"segment_ids\" (the default for \"best_fit\"), \"cu_lengths\".\n"
      "Raises Error. docs/spec/tokens.md defines the computation.");
}

}  // namespace penstock::python
