// Declares what the files that bind chains share.
#pragma once

#include <string>

#include <penstock/formats/schema.hpp>

#include "bind.hpp"

namespace penstock::python {

/// Throws Error: invalid_argument, for a name that no dtype has.
DType dtype_of(const std::string& spelled);
void bind_image_chain(nb::module_ module);

}  // namespace penstock::python
