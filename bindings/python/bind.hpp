// Declares the functions that bind the parts of the module, one for each concept.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

// Includes all casters, because every file of the module must see the same ones. A file without one of them would
// compile a different function of the same name, and the linker may take either.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

namespace penstock::python {

namespace nb = nanobind;

void bind_collections(nb::module_& module);
void bind_error(nb::module_& module);
void bind_dataset(nb::module_& module);
void bind_chain(nb::module_& module);
void bind_encodings(nb::module_& module);
void bind_decode(nb::module_& module);
void bind_tensor(nb::module_& module);
void bind_live(nb::module_& module);
void bind_loader(nb::module_& module);
void bind_ledger(nb::module_& module);
void bind_mix(nb::module_& module);
void bind_mixture(nb::module_& module);
void bind_rows(nb::module_& module);
void bind_signals(nb::module_& module);
void bind_convert(nb::module_& module);
void bind_processes(nb::module_& module);
void bind_overview(nb::module_& module);
void bind_profile(nb::module_& module);
void bind_stage(nb::module_& module);
void bind_writer(nb::module_& module);

/// Converts bytes of keys, paths and messages, which need not be UTF-8. Invalid bytes become surrogates, as in
/// os.fsdecode.
nb::str text(std::string_view bytes);
/// The inverse of text().
std::string bytes_of(const nb::str& text);
/// A short repr() of the value on one line, for messages.
std::string shown(nb::handle value);

/// A member of a dict. Strings are converted by text(), other values by nanobind.
struct Member {
  template <typename Value>
  Member(const char* its_name, const Value& of) : name(its_name) {
    if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
      value = text(of);
    } else {
      value = nb::cast(of);
    }
  }
  const char* name;
  nb::object value;
};
void add_members(nb::dict& dict, std::initializer_list<Member> members);  ///< appends to the dict
nb::dict dict_of(std::initializer_list<Member> members);

/// Makes unknown members raise AttributeError; `function` of penstock._habits names the replacement.
template <typename Kind>
void define_hints(nb::class_<Kind>& kind, const char* function) {
  kind.def("__getattr__", [function](const nb::handle& self, const nb::str& name) {
    return nb::module_::import_("penstock._habits").attr(function)(self, name);
  });
}

[[noreturn]] void raise_type_error(const std::string& message);
/// Warns at the line of the program that led here. Throws if the program's warning filter raises.
void warn(const std::string& message, PyObject* category = PyExc_UserWarning);

}  // namespace penstock::python
