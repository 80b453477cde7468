// Reads the attributes of an index, which are JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <formats/index/index.hpp>

namespace penstock {

/// The "layout" of an HDF5 file with a dataset per sample instead of columns.
inline constexpr const char* kDatasetForEachSample = "a dataset for each sample";

/// Returns the attributes as an object. Returns an empty object for any other content, because files on disk are not
/// trusted.
inline nlohmann::json attributes_of(const Index& index) {
  nlohmann::json json = nlohmann::json::parse(index.attributes(), nullptr, false);
  return json.is_object() ? json : nlohmann::json::object();
}

}  // namespace penstock
