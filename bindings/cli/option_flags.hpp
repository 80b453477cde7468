// Declares flags of the command from the tables of options.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>

#include <penstock/options.hpp>
#include <penstock/pack.hpp>

namespace penstock::cli {

/// "--cache-limit" for "cache.limit": its value goes into `options`, which must live until the command has run. Its
/// help is the first sentence of the table, with `note` behind it.
CLI::Option* add_loader_flag(CLI::App& command, LoaderOptions& options, std::string_view option,
                             std::string_view note = {});

/// Every option of `penstock pack` in the table. `by_hand` has a text for each of those that the command reads itself.
void add_pack_flags(CLI::App& command, ConvertOptions& options, std::map<std::string_view, std::string>& by_hand);

}  // namespace penstock::cli
