// Declares flags of the command from the table of a loader's options.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

#include <penstock/options.hpp>

namespace penstock::cli {

/// "--cache-limit" for "cache.limit": its value goes into `options`, which must live until the command has run. Its
/// help is the first sentence of the table, with `note` behind it.
CLI::Option* add_loader_flag(CLI::App& command, LoaderOptions& options, std::string_view option,
                             std::string_view note = {});

}  // namespace penstock::cli
