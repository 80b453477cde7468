// Options of a loader that a program gives in an object: ReadOptions(engine="pread").
#pragma once

#include <string_view>

#include <nanobind/nanobind.h>

#include <loader/options/option_table.hpp>
#include <penstock/options.hpp>

namespace penstock::python {

/// What the program gave, by keyword; each value fits its option.
struct OptionObject {
  std::string_view keyword;  ///< of Loader: "read_options"
  nanobind::dict given;
};

/// The object that a value of Python's is; null: it is another value.
const OptionObject* option_object(nanobind::handle value);

/// Sets an option to a value that is not None. Throws TypeError for a value of another type; Error: invalid_argument,
/// for an unknown word or size. Options that are read by hand are left alone.
void set_option(LoaderOptions& options, const OptionEntry& option, nanobind::handle given);

/// CacheOptions, DiskCacheOptions, ReadOptions, MemoryOptions and DeviceOptions, by the table of options.
void bind_option_objects(nanobind::module_& module);

}  // namespace penstock::python
