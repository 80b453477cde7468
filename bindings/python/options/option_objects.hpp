// Loader options that a program gives in an object: ReadOptions(engine="pread").
#pragma once

#include <string_view>

#include <nanobind/nanobind.h>

namespace penstock::python {

/// The options that the program gave, by keyword. Each value fits its option.
struct OptionObject {
  std::string_view keyword;  ///< of Loader: "read_options"
  nanobind::dict given;
};

/// Converts a Python value to its option object; null if it is not one.
const OptionObject* option_object(nanobind::handle value);

/// Binds CacheOptions, DiskCacheOptions, ReadOptions, MemoryOptions and DeviceOptions from the table of options.
void bind_option_objects(nanobind::module_& module);

}  // namespace penstock::python
