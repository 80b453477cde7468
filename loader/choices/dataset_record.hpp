// Describes how a dataset, or a view, was made, so that another process can open the same one.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include <penstock/dataset.hpp>
#include <penstock/open_options.hpp>

namespace penstock {

/// Opens a dataset that a record names, like penstock::open().
using OpenRecorded = std::function<Dataset(const std::filesystem::path& path, const OpenOptions& options)>;

/// Returns a record of the dataset: absolute paths and options of the opened datasets, how they were combined, the
/// chosen samples, and fingerprints of keys. The record contains no values. A view needs about 2 bytes for each run
/// of neighbouring samples, and up to 10 if the runs are far apart.
std::string to_record(const Dataset& dataset);

/// Makes the dataset of a record. Calls `open` once for each path with its options. Throws Error: invalid_argument,
/// naming a dataset whose keys or their order changed; corrupt, if the bytes are not a record; unsupported, for
/// another version of records. Throws all Errors of `open` and token_blocks().
Dataset from_record(std::string_view record, const OpenRecorded& open);

/// Returns true if the file begins like a record.
bool is_record_file(const std::filesystem::path& path);

}  // namespace penstock
