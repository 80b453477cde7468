// Opens a dataset for a command, with progress while an index is built.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include <penstock/base/error.hpp>
#include <penstock/formats/dataset.hpp>
#include <penstock/loader/mixture.hpp>

namespace penstock::cli {

/// What is at the path cannot be opened: a failure of the data (exit code 1), whatever its kind.
struct OpenFailure : Error {
  explicit OpenFailure(const Error& error) : Error(error) {}
};

/// As penstock::open(). Throws OpenFailure.
Dataset open_quietly(const std::filesystem::path& path);
/// What `opening` opens. Throws OpenFailure.
Dataset open_quietly(const std::function<Dataset(const OpenProgress&)>& opening);
/// The same, and says on stderr where there is nothing to load.
Dataset open_with_progress(const std::filesystem::path& path);

/// What bench, tune and show are of: a dataset, or a mixture's.
struct Source {
  Dataset dataset;
  std::shared_ptr<const Mixture> mixture = {};  ///< null: none
};
/// Also of the file of a mixture (penstock/loader/mixture_file.hpp). Throws OpenFailure.
Source open_source(const std::filesystem::path& path);

}  // namespace penstock::cli
