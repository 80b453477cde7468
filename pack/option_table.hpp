// The table of the options of packing. The keywords of Python with their types, defaults, checks and help, the flags of
// `penstock pack`, and docs/reference/options.md are made from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <base/options/option_entry.hpp>
#include <penstock/pack.hpp>

namespace penstock {

/// The APIs that may have an option, as bits: ps.pack(), ps.Writer, pack() of penstock.dask and penstock.ray, and the
/// command.
enum PackApi : unsigned { kOfPack = 1, kOfWriter = 2, kOfClusters = 4, kOfCommand = 8 };

/// One option. Its name is Python's keyword. Two entries may have the same name if they belong to different APIs.
struct PackOption : OptionEntry<ConvertOptions> {
  unsigned apis;                              ///< some of PackApi
  ByHand python = {.type = {}, .value = {}};  ///< Python's annotation and default, if they are not the member's
};

std::span<const PackOption> pack_options();
/// The options of an API, in the order of the table.
std::vector<const PackOption*> pack_options_of(PackApi api);
PythonValue python_value(const PackOption& option);
/// Help for Python: an entry for each option of an API, "align: ...", in lines of at most 92 characters.
std::string pack_options_for_python(PackApi api);

std::string_view name(PackOnError policy);

}  // namespace penstock
