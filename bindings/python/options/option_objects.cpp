#include "option_objects.hpp"

#include <deque>
#include <iterator>
#include <string>
#include <utility>

#include "../bind.hpp"
#include "loader_options.hpp"
#include "set_option.hpp"

namespace penstock::python {
namespace {

// A Python class of options, and the keyword of Loader() that takes it.
struct Class {
  const char* name;
  const char* keyword;
  bool by_place;  // its first option is positional
  const char* text;
};

constexpr Class kClasses[] = {
    {"CacheOptions", "cache", true,
     "Selects the samples that stay in memory for later epochs: Loader(cache=ps.CacheOptions(\"decoded\", "
     "limit=\"8GiB\"))."},
    {"DiskCacheOptions", "disk_cache", true,
     "Caches bytes of datasets in object stores on a disk: Loader(disk_cache=ps.DiskCacheOptions(\"/scratch/c\", "
     "limit=\"1TiB\"))."},
    {"SharingOptions", "sharing", true,
     "Shares batches with other loaders: Loader(sharing=ps.SharingOptions(\"search\", consumers=8))."},
    {"ServersOptions", "servers", true,
     "Servers that fill batches: Loader(servers=ps.ServersOptions([\"node7:7710\"], patience=30))."},
    {"ReadOptions", "read_options", false,
     "Sets how a loader reads bytes: Loader(read_options=ps.ReadOptions(engine=\"pread\"))."},
    {"MemoryOptions", "memory_options", false,
     "Sets how much memory a loader uses: Loader(memory_options=ps.MemoryOptions(reserved_batches=8))."},
    {"DeviceOptions", "device_options", false,
     "Sets the work of a loader's device: Loader(device=\"cuda:0\", device_options=ps.DeviceOptions(gpu_jpeg=0.5))."},
};

template <int N>
struct Object : OptionObject {};

nb::object words() {
  return nb::module_::import_("penstock._words");
}

nb::dict checked(const Class& of, nb::handle type, const nb::args& places, const nb::kwargs& keywords) {
  const std::string name = std::string("penstock.") + of.name;
  const nb::object made = type.attr("__init__");
  words().attr("require_no_bools")(name, made, places, keywords);
  const auto misuse = [&] {
    return nb::type_error(nb::str(words().attr("misuse")(name, made, places, keywords)).c_str());
  };
  const auto options = options_of_python(of.keyword);
  nb::dict given;
  if (places.size() > (of.by_place ? 1 : 0)) throw misuse();
  const char* const first = options.front()->keyword().data();
  if (places.size() == 1) given[first] = places[0];
  for (const auto& [keyword, value] : keywords) {
    if (given.contains(keyword)) throw misuse();
    given[keyword] = value;
  }
  if (of.by_place && (!given.contains(first) || nb::object(given[first]).is_none())) throw misuse();
  LoaderOptions scratch;
  for (const auto& [keyword, value] : given) {
    const LoaderOption* const option = option_of_python(of.keyword, nb::cast<std::string>(keyword));
    if (option == nullptr || (value.is_none() && !takes_none(python_value(*option)))) throw misuse();
    try {
      if (!value.is_none()) set_option(scratch, *option, value);
    } catch (const nb::builtin_exception&) {
      throw misuse();
    }
  }
  return given;
}

std::string signature_of(const Class& of) {
  const std::string keywords = keywords_for_python(options_of_python(of.keyword));
  if (!of.by_place) return "def __init__(self, *, " + keywords + ") -> None";
  // The positional option has no default.
  const std::size_t end = keywords.find(" = ");
  std::string first = keywords.substr(0, end);
  if (first.ends_with(" | None")) first.resize(first.size() - std::string_view(" | None").size());
  return "def __init__(self, " + first + ", *" + keywords.substr(keywords.find(", ", end)) + ") -> None";
}

nb::object value_of(const OptionObject& object, const LoaderOption& option) {
  const char* const keyword = option.keyword().data();
  if (object.given.contains(keyword)) return nb::object(object.given[keyword]);
  return nb::module_::import_("ast").attr("literal_eval")(python_value(option).value);
}

std::string shown_object(const Class& of, const OptionObject& object) {
  std::string text;
  for (const auto& [keyword, value] : object.given) {
    const std::string name = bytes_of(nb::str(keyword));
    text += (text.empty() ? "" : ", ") + name + "=" + (name == "token" ? "..." : bytes_of(nb::repr(value)));
  }
  return std::string("penstock.") + of.name + "(" + text + ")";
}

template <int N>
void bind_class(nb::module_& module) {
  static constexpr const Class& kOf = kClasses[N];
  static std::deque<std::string> texts;  // nanobind keeps pointers to these texts
  const auto kept = [](std::string text) { return texts.emplace_back(std::move(text)).c_str(); };
  nb::class_<Object<N>> made(module, kOf.name, kOf.text);
  made.def(
          "__init__",
          [](Object<N>* self, const nb::args& places, const nb::kwargs& keywords) {
            new (self) Object<N>{{kOf.keyword, checked(kOf, nb::type<Object<N>>(), places, keywords)}};
          },
          nb::sig(kept(signature_of(kOf))),
          kept(options_for_python(kOf.keyword) + "\nRaises TypeError or Error, which names the option."))
      .def(
          "__repr__", [](const Object<N>& self) { return text(shown_object(kOf, self)); },
          nb::sig("def __repr__(self) -> str"))
      .def(
          "__eq__",
          [](const Object<N>& self, nb::handle other) {
            return nb::isinstance<Object<N>>(other) && self.given.equal(nb::cast<Object<N>&>(other).given);
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__getstate__", [](const Object<N>& self) { return nb::object(self.given.attr("copy")()); })
      .def("__setstate__", [](Object<N>& self, const nb::dict& given) {
        const nb::args none = nb::borrow<nb::args>(nb::make_tuple());
        new (&self) Object<N>{{kOf.keyword, checked(kOf, nb::type<Object<N>>(), none, nb::borrow<nb::kwargs>(given))}};
      });
  for (const LoaderOption* option : options_of_python(kOf.keyword)) {
    const std::string_view keyword = option->keyword();
    made.def_prop_ro(
        keyword.data(), [option](const Object<N>& self) { return value_of(self, *option); },
        nb::sig(kept("def " + std::string(keyword) + "(self, /) -> " + python_value(*option).type)),
        kept(std::string(option->meaning)));
  }
}

using Classes = std::make_integer_sequence<int, static_cast<int>(std::size(kClasses))>;

}  // namespace

const OptionObject* option_object(nb::handle value) {
  const OptionObject* found = nullptr;
  [&]<int... N>(std::integer_sequence<int, N...>) {
    ((nb::isinstance<Object<N>>(value) && (found = nb::inst_ptr<Object<N>>(value), true)) || ...);
  }
  (Classes());
  return found;
}

void bind_option_objects(nb::module_& module) {
  [&]<int... N>(std::integer_sequence<int, N...>) {
    (bind_class<N>(module), ...);
  }
  (Classes());
}

}  // namespace penstock::python
