#include <nanobind/nanobind.h>

#include <base/printable.hpp>

#include "bind.hpp"

namespace penstock::python {

nb::str text(std::string_view bytes) {
  PyObject* decoded = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(decoded);
}

std::string bytes_of(const nb::str& text) {
  const nb::object encoded = text.attr("encode")("utf-8", "surrogateescape");
  return {PyBytes_AsString(encoded.ptr()), static_cast<std::size_t>(PyBytes_Size(encoded.ptr()))};
}

std::string shown(nb::handle value) {
  constexpr std::size_t kShown = 60;
  return one_line(bytes_of(nb::str(nb::repr(value))).substr(0, kShown));
}

void add_members(nb::dict& dict, std::initializer_list<Member> members) {
  for (const Member& member : members) dict[member.name] = member.value;
}

nb::dict dict_of(std::initializer_list<Member> members) {
  nb::dict dict;
  add_members(dict, members);
  return dict;
}

void raise_type_error(const std::string& message) {
  throw nb::type_error(message.c_str());
}

void warn(const std::string& message, PyObject* category) {
  nb::module_::import_("penstock._warn").attr("warn")(text(message), nb::handle(category));
}

}  // namespace penstock::python

NB_MODULE(_penstock, module) {
  namespace python = penstock::python;
  nanobind::set_leak_warnings(false);  // a program may still hold objects at exit, which is not an error
  module.doc() = "The compiled part of penstock; use the package penstock.";
  module.attr("version") = PENSTOCK_VERSION;  // the stubs omit names with underscores
  python::bind_error(module);
  python::bind_dataset(module);
  python::bind_encodings(module);
  python::bind_chain(module);
  python::bind_tensor(module);
  python::bind_decode(module);
  python::bind_mix(module);
  python::bind_mixture(module);
  python::bind_rows(module);
  python::bind_loader(module);
  python::bind_processes(module);
  python::bind_overview(module);
  python::bind_profile(module);
  python::bind_collections(module);
  python::bind_live(module);
  python::bind_signals(module);
  python::bind_ledger(module);
  python::bind_convert(module);
  python::bind_stage(module);
  python::bind_writer(module);
}
