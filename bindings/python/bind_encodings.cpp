#include <nanobind/nanobind.h>

#include <formats/encodings.hpp>
#include <transforms/first_bytes.hpp>

#include "bind.hpp"

namespace penstock::python {
namespace {

nb::list table() {
  nb::list rows;
  for (const Encoding& encoding : encodings()) {
    nb::list extensions;
    for (const std::string_view extension : encoding.extensions) {
      if (!extension.empty()) extensions.append(text(extension));
    }
    rows.append(nb::make_tuple(text(encoding.codec), text(name(encoding.kind)), nb::tuple(extensions),
                               encoding.traits.label, encoding.traits.members, encoding.traits.in_place,
                               encoding.traits.tokens));
  }
  return rows;
}

}  // namespace

void bind_encodings(nb::module_& module) {
  module.def("encodings", table,
             nb::sig("def encodings() -> list[tuple[str, str, tuple[str, ...], bool, bool, bool, bool]]"),
             "Codec (\"\" if there is none), kind (\"image\", \"cloud\", \"array\", \"text\" or \"other\"),\n"
             "extensions and traits of every encoding that penstock knows; the first extension names its fields.");
  module.def(
      "extension_of",
      [](const nb::bytes& first_bytes) {
        return text(extension_of({reinterpret_cast<const std::byte*>(first_bytes.c_str()), first_bytes.size()}));
      },
      nb::arg("first_bytes"), nb::sig("def extension_of(first_bytes: bytes) -> str"),
      "The extension for a value, from its first 4 KiB; \"\" if they do not determine it.");
}

}  // namespace penstock::python
