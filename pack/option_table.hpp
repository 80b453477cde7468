// The table of packing options. The Python keywords (types, defaults, checks, help), the flags of `penstock pack` and
// docs/reference/options.md are generated from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <base/options/option_entry.hpp>
#include <penstock/pack.hpp>

namespace penstock {

/// The APIs that can have an option, as bits: ps.pack(), ps.Writer, pack() of penstock.dask and penstock.ray, and the
/// command.
enum PackApi : unsigned { kOfPack = 1, kOfWriter = 2, kOfClusters = 4, kOfCommand = 8 };

/// One option. Its name is Python's keyword. Two entries may have the same name if they belong to different APIs.
struct PackOption : OptionEntry<ConvertOptions> {
  unsigned apis;                              ///< some of PackApi
  ByHand python = {.type = {}, .value = {}};  ///< Python's annotation and default, if they differ from the member's
};

std::span<const PackOption> pack_options();
/// Returns the options of an API in table order.
std::vector<const PackOption*> pack_options_of(PackApi api);
PythonValue python_value(const PackOption& option);
/// Returns Python help text: an entry "align: ..." for each option of an API, in lines of at most 92 characters.
std::string pack_options_for_python(PackApi api);

std::string_view name(PackOnError policy);

}  // namespace penstock
