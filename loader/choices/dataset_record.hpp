// Writes what a dataset is made of, so that another process can have the same one: views too.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include <penstock/dataset.hpp>
#include <penstock/open_options.hpp>

namespace penstock {

/// Opens one of the datasets that a record names, as penstock::open().
using OpenRecorded = std::function<Dataset(const std::filesystem::path& path, const OpenOptions& options)>;

/// Absolute paths and options of the datasets that were opened, how they were put together, which samples were chosen,
/// and fingerprints of keys; no values. About 2 bytes for each run of neighbouring samples of a view, up to 10 where
/// they lie far apart.
std::string to_record(const Dataset& dataset);

/// The dataset of a record. Opens what it is made of; `open` is called once for each path and its options. Throws
/// Error: invalid_argument, naming a dataset whose keys or their order changed; corrupt, if the bytes are not a record;
/// unsupported, for another version of records. Throws all Errors of `open` and token_blocks().
Dataset from_record(std::string_view record, const OpenRecorded& open);

/// True for a file that begins as a record does.
bool is_record_file(const std::filesystem::path& path);

}  // namespace penstock
