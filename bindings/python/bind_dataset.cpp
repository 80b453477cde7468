#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <nanobind/nanobind.h>

#include <base/printable.hpp>
#include <formats/absent_fields.hpp>
#include <formats/labels/emptiness.hpp>
#include <formats/layout_line.hpp>
#include <formats/places/address.hpp>
#include <loader/choices/dataset_record.hpp>
#include <penstock/dataset.hpp>
#include <penstock/mixture.hpp>
#include <penstock/open_options.hpp>

#include "bind.hpp"
#include "dataset_views.hpp"
#include "interpreter.hpp"
#include "open_dataset.hpp"
#include "sample.hpp"

namespace penstock::python {
namespace {

std::string no_field(const Sample& self, const std::string& name) {
  const std::string there = joined_text(self.names(), ", ");
  const std::string sample = "sample " + std::string(self.dataset.key(self.number));
  return sample + " has no field \"" + name + "\", it has " + (there.empty() ? "none" : there) +
         and_why_no_field(self.dataset, name, self.dataset.shard_of(self.number));
}

nb::bytes stored_bytes(const Sample& self, const std::string& name) {
  const std::optional<std::uint32_t> field = self.dataset.field(name);
  if (!field || !self.has(*field)) throw nb::key_error(no_field(self, name).c_str());
  if (self.ahead != nullptr) {
    if (const auto value = self.ahead->value(*field)) return nb::bytes(value->data(), value->size());
  }
  const auto bytes = without_interpreter([&] { return read_field(self.dataset, self.number, *field); });
  return nb::bytes(bytes.data(), bytes.size());
}

nb::list names_of(const Sample& self) {
  nb::list names;
  for (const std::string_view name : self.names()) names.append(text(name));
  return names;
}

Sample sample_at(const Dataset& self, nb::handle index) {
  if (PySlice_Check(index.ptr()) != 0)
    throw nb::type_error(
        "a penstock.Dataset cannot be sliced: use [dataset[i] for i in range(5)] for a list of samples, or "
        "select(range(5)) for a view");
  if (nb::isinstance<nb::str>(index))
    throw nb::type_error(
        "an index of a penstock.Dataset is a number: dataset.find(key) returns the number of a key, and "
        "dataset[0][\"jpg\"] the bytes of a field");
  if (PyIndex_Check(index.ptr()) == 0) throw nb::type_error("an index of a penstock.Dataset must be a whole number");
  const Py_ssize_t number = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
  if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  const auto size = static_cast<std::int64_t>(self.size());
  const std::int64_t wanted = number < 0 ? number + size : number;
  if (wanted < 0 || wanted >= size)
    throw nb::index_error(
        ("sample " + std::to_string(number) + " is out of range for a dataset of " + std::to_string(size)).c_str());
  return {self, static_cast<std::uint64_t>(wanted), nullptr};
}

nb::list texts(std::span<const std::string> strings) {
  nb::list list;
  for (const std::string& string : strings) list.append(text(string));
  return list;
}

nb::list schemas(const Dataset& self) {
  nb::list list;
  for (const FieldSchema& field : self.fields()) list.append(nb::cast(field));
  return list;
}

nb::object shape_of(const FieldSchema& self) {
  if (!self.fixed) return nb::none();
  nb::list sizes;
  for (const std::int64_t size : self.shape) sizes.append(size);
  return nb::tuple(sizes);
}

void bind_schema(nb::module_& module) {
  nb::class_<FieldSchema>(module, "FieldSchema", "A field as the dataset stores it.")
      .def_ro("name", &FieldSchema::name, "The name of the field, such as \"jpg\".")
      .def_ro("codec", &FieldSchema::codec,
              "\"jpeg\", \"png\", \"npy\", \"cls\", \"raw\", ...; empty if the first bytes of each value determine it.")
      .def_prop_ro(
          "dtype",
          [](const FieldSchema& self) -> std::optional<std::string> {
            if (!self.fixed) return std::nullopt;
            return std::string(name(self.dtype));
          },
          "Element type of a sample; None unless all samples have the same dtype and shape.")
      .def_prop_ro("shape", shape_of, nb::sig("def shape(self) -> tuple[int, ...] | None"),
                   "Shape of a sample; None unless all samples have the same dtype and shape.")
      .def_prop_ro(
          "differs",
          [](const FieldSchema& self) -> std::optional<nb::str> {
            if (self.differences.text.empty()) return std::nullopt;
            return text(self.differences.text);
          },
          "Two files and their types, if the files of the dataset disagree on this field; otherwise None.")
      .def("__repr__", [](const FieldSchema& self) {
        std::string text = "penstock.FieldSchema(" + self.name + ", codec=" + self.codec;
        if (self.fixed) text += ", dtype=" + std::string(name(self.dtype)) + ", shape=" + to_string(self.shape);
        if (!self.differences.text.empty()) text += ", differs=\"" + one_line(self.differences.text) + "\"";
        return text + ")";
      });
}

void bind_sample(nb::module_& module) {
  nb::class_<Sample>(module, "Sample", "One sample: s[\"jpg\"] reads the stored bytes of that field.")
      .def_prop_ro(
          "key", [](const Sample& self) { return text(self.dataset.key(self.number)); },
          "The key, unique in its dataset.")
      .def_ro("number", &Sample::number, "The position in the dataset, from 0.")
      .def("keys", names_of, nb::sig("def keys(self) -> list[str]"), "Names of the fields that this sample has.")
      .def("__getitem__", stored_bytes, nb::arg("field"),
           "The field's stored bytes, decompressed. Raises KeyError, or Error: io, corrupt.")
      .def(
          "__contains__",
          [](const Sample& self, const std::string& name) {
            const auto field = self.dataset.field(name);
            return field && self.has(*field);
          },
          nb::arg("field"), "Whether the sample has the field.")
      .def(
          "__len__", [](const Sample& self) { return self.names().size(); }, "The number of its fields.")
      .def(
          "__iter__", [](const Sample& self) { return nb::iter(names_of(self)); },
          "Iterates over the names of its fields.")
      .def("__repr__", [](const Sample& self) {
        return text("penstock.Sample(" + std::to_string(self.number) + ", " +
                    std::string(self.dataset.key(self.number)) + ")");
      });
}

nb::bytes record_of(const Dataset& self) {
  const std::string record = without_interpreter([&] { return to_record(self); });
  return nb::bytes(record.data(), record.size());
}

Dataset dataset_of(const nb::bytes& record) {
  const std::string_view bytes(record.c_str(), record.size());
  return open_telling(
      [bytes](const OpenProgress& told) {
        return from_record(bytes, [&](const std::filesystem::path& path, const OpenOptions& options) {
          return open(path, options, told);
        });
      },
      nb::none());
}

[[noreturn]] void refuse_source(nb::handle given) {
  std::string refusal = "expected a path or a penstock.Dataset, not a value of type ";
  refusal += nb::type_name(given.type()).c_str();
  if (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given))
    refusal += ": give the folder of the files, or a pattern that names them, such as \"train-{000..127}.tar\"";
  if (nb::isinstance<nb::dict>(given)) refusal += ": ps.mixture() combines several datasets for a Loader";
  if (nb::isinstance<Mixture>(given))
    refusal += ": only a Loader accepts a mixture; its .dataset has the samples of all sources";
  throw nb::type_error(refusal.c_str());
}

// Converts the keywords of open(); None is the default. _words.py turns this TypeError into a message.
OpenOptions open_options(const nb::kwargs& keywords) {
  OpenOptions options;
  for (const auto& [key, value] : keywords) {
    const auto name = nb::cast<std::string>(key);
    const auto* option = std::ranges::find(kOpenOptions, name, &OpenOption::name);
    const bool known = option != kOpenOptions.end(), is_switch = known && option->flag_value != nullptr;
    if (known && value.is_none()) continue;
    if (known && option->list != nullptr && !nb::isinstance<nb::str>(value)) {
      if (nb::try_cast(value, options.*option->list)) continue;
    }
    std::filesystem::path path;
    if (known && option->text == &OpenOptions::root && nb::try_cast(value, path)) {
      options.root = path.string();
      continue;
    }
    if (!known || (is_switch ? !nb::isinstance<nb::bool_>(value) : !nb::isinstance<nb::str>(value)))
      throw nb::type_error("open(): incompatible function arguments");
    set_open_option(options, name,
                    !is_switch              ? nb::cast<std::string>(value)
                    : nb::cast<bool>(value) ? "true"
                                            : "false");
  }
  return options;
}

}  // namespace

Dataset open_telling(const std::function<Dataset(const OpenProgress&)>& opening, const nb::object& progress) {
  const auto indexing = [&progress](std::uint64_t done, std::uint64_t total) {
    check_signals();
    if (progress.is_none()) return;
    const nb::gil_scoped_acquire held;
    progress(done, total);
  };
  bool told = false;
  const auto waiting = [&told](const std::filesystem::path& lock, std::chrono::milliseconds waited) {
    constexpr std::chrono::milliseconds kTellAfter{1000};
    check_signals();
    if (told || waited < kTellAfter) return;
    told = true;
    const nb::gil_scoped_acquire held;
    const std::string message = "waiting for another process, which makes the index (it holds " + lock.string() + ")";
    warn(message, PyExc_RuntimeWarning);
  };
  return without_interpreter([&] { return opening(OpenProgress(indexing, waiting)); });
}

Dataset open_dataset(nb::handle path_or_dataset, const nb::object& progress, const OpenOptions& options) {
  if (nb::isinstance<Dataset>(path_or_dataset)) {
    if (options != OpenOptions())
      raise_type_error("a penstock.Dataset is already open: leave out " + options_text(options).substr(2));
    return nb::cast<Dataset>(path_or_dataset);
  }
  std::filesystem::path path;
  if (!nb::try_cast(path_or_dataset, path)) refuse_source(path_or_dataset);
  Dataset dataset = open_telling([&](const OpenProgress& told) { return open(path, options, told); }, progress);
  for (const std::string& warning : warnings_of(dataset)) warn(shown_place(path) + ": " + warning);
  return dataset;
}

void bind_dataset(nb::module_& module) {
  bind_schema(module);
  bind_sample(module);
  nb::class_<Dataset> dataset(
      module, "Dataset",
      "The numbered samples of a packed dataset or of a folder of files. Made by penstock.open().\n"
      "Immutable.\n"
      "\n"
      "take() and similar methods return views: datasets of some of the samples, in an order of the view. A\n"
      "view is a Dataset that shares the indexes and copies no sample.");
  define_hints(dataset, "no_member_of_dataset");
  dataset
      .def("__init__", [](nb::handle, const nb::args&,
                          const nb::kwargs&) { throw nb::type_error("penstock.open(path) opens a dataset"); })
      .def("__len__", &Dataset::size, "The number of samples.")
      .def("__getitem__", sample_at, nb::arg("sample").none(),
           nb::sig("def __getitem__(self, sample: int, /) -> Sample"), "Raises IndexError.")
      .def(
          "find", [](const Dataset& self, const nb::str& key) { return self.find(bytes_of(key)); }, nb::arg("key"),
          "Number of the sample with that key, or None.")
      .def_prop_ro(
          "keys",
          [](const Dataset& self) {
            nb::list keys;
            for (std::uint64_t sample = 0; sample < self.size(); ++sample) keys.append(text(self.key(sample)));
            return keys;
          },
          nb::sig("def keys(self) -> list[str]"), "Keys of all samples, in their order; a new list.")
      .def_prop_ro("fields", schemas, nb::sig("def fields(self) -> list[FieldSchema]"),
                   "The fields that its samples have; a sample may lack some.")
      .def_prop_ro(
          "classes", [](const Dataset& self) { return texts(self.classes()); },
          nb::sig("def classes(self) -> list[str]"), "Names of the classes, by class number; empty if not known.")
      .def_prop_ro("path", &Dataset::path, "The path as the program opened it.")
      .def_prop_ro("format", &Dataset::format, "Name of the format: \"folder\", \"tar\", \"lmdb\", \"hdf5\", ...")
      .def_prop_ro("packed", &Dataset::packed, "Whether penstock made the dataset (it has a penstock.json).")
      .def_prop_ro("is_view", &Dataset::is_view,
                   "Whether take(), concat() or the like made it of other datasets. No folder or file contains exactly "
                   "its samples.")
      .def("__repr__", [](const Dataset& self) {
        const std::string layout = self.is_view() ? "" : "; " + layout_line(self);
        return text("penstock.Dataset(" + described(self) + layout + ")");
      });
  dataset.def("__getstate__", record_of).def("__setstate__", [](Dataset& self, const nb::bytes& record) {
    new (&self) Dataset(dataset_of(record));
  });
  define_views(module, dataset);
  module.def(
      "shown_place", [](const std::filesystem::path& place) { return text(shown_place(place)); }, nb::arg("place"),
      "The place in a form for messages: an address without user, password and query.");
  module.def(
      "is_address", [](const std::filesystem::path& place) { return address_of(place).has_value(); }, nb::arg("place"),
      "Whether the place is the address of a store or a web server. Raises Error: unsupported, for stores that are not "
      "read.");
  module.def(
      "open",
      [](nb::handle path, const nb::object& progress, const nb::kwargs& options) {
        return open_dataset(path, progress, open_options(options));
      },
      nb::arg("path"), nb::kw_only(), nb::arg("progress") = nb::none(), nb::arg("options"),
      nb::sig("def open(path: str | os.PathLike | Dataset, *, progress: "
              "collections.abc.Callable[[int, int], object] | None = None, format: str | None = None, "
              "split: str | None = None, split_names: bool = True, key: str | None = None, "
              "classes: collections.abc.Sequence[str] | None = None, rows: str | None = None, "
              "path_column: str | None = None, label_column: str | None = None, "
              "root: str | os.PathLike | None = None, missing_files: str | None = None) -> Dataset"),
      "Opens a packed dataset, an existing dataset (tar, LMDB, HDF5), a folder of files, or a table (csv, json,\n"
      "pkl) of paths and labels.\n"
      "\n"
      "The result's repr() shows how the path was read. If names allow two readings, an Error gives both and\n"
      "the option that decides.\n"
      "format: name of a format (\"tar\", ..., \"folder\").\n"
      "split: the sub-folder of that split (\"train\", \"val\", \"test\").\n"
      "split_names: False: folders named like splits are ordinary folders, or classes.\n"
      "key: where the key in the name of a file ends, \"last_dot\" or \"first_dot\".\n"
      "classes: names of the classes in their order. Class folders have these numbers. Some may be missing.\n"
      "rows: the field with a row for each sample, in HDF5 and NPZ files whose columns differ.\n"
      "path_column, label_column: columns of a table. By default, those with usual names (path, file; label, class).\n"
      "root: the folder of the relative paths in a table. By default, the folder of the table.\n"
      "missing_files: \"skip\" leaves out the rows of a table whose files are missing, \"raise\" (default) does not.\n"
      "\n"
      "Without an index, open() builds one and stores it next to the data. Meanwhile it calls `progress`\n"
      "with (done, total). Raises Error: io, if the path cannot be read; invalid_argument, if it contains no\n"
      "dataset; corrupt, unsupported.");
}

}  // namespace penstock::python
