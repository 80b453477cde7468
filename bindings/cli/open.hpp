// Opens a dataset for a command, with progress while an index is built.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>

#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <penstock/mixture.hpp>
#include <penstock/open_options.hpp>

namespace penstock::cli {

/// What is at the path cannot be opened: a failure of the data (exit code 1), whatever its kind.
struct OpenFailure : Error {
  explicit OpenFailure(const Error& error) : Error(error) {}
};

/// Declares the options of penstock::open() where a command takes a dataset.
void add_open_options(CLI::App& command, OpenOptions& options);

/// As penstock::open(). Throws OpenFailure.
Dataset open_quietly(const std::filesystem::path& path, const OpenOptions& options = {});
/// What `opening` opens. Throws OpenFailure.
Dataset open_quietly(const std::function<Dataset(const OpenProgress&)>& opening);
/// The same, and says on stderr where there is nothing to load.
Dataset open_with_progress(const std::filesystem::path& path, const OpenOptions& options = {});

/// What bench, tune and show are of: a dataset, or a mixture's.
struct Source {
  Dataset dataset;
  std::shared_ptr<const Mixture> mixture = {};  ///< null: none
};
/// Also of the file of a mixture (penstock/sampling.hpp), which holds the options of its sources.
/// Throws OpenFailure; Error: invalid_argument, for options beside such a file or a record.
Source open_source(const std::filesystem::path& path, const OpenOptions& options = {});

}  // namespace penstock::cli
