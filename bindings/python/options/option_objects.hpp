// Options of a loader that a program gives in an object: ReadOptions(engine="pread").
#pragma once

#include <string_view>

#include <nanobind/nanobind.h>

namespace penstock::python {

/// What the program gave, by keyword; each value fits its option.
struct OptionObject {
  std::string_view keyword;  ///< of Loader: "read_options"
  nanobind::dict given;
};

/// The object that a value of Python's is; null: it is another value.
const OptionObject* option_object(nanobind::handle value);

/// CacheOptions, DiskCacheOptions, ReadOptions, MemoryOptions and DeviceOptions, by the table of options.
void bind_option_objects(nanobind::module_& module);

}  // namespace penstock::python
