// Finds the values of an LMDB file that are not samples but contain the number of samples, or list their names.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <formats/lmdb/listing.hpp>

namespace penstock {

struct LmdbMetadata {
  std::map<std::string, std::string> left_out;  ///< name -> reason
  bool counts_samples = false;  ///< true if a number counts the samples, each of which has several values
};

/// Removes these values from the listing:
///
///   A value equal to the number of the other values, if these are not numbers. Its name does not matter.
///   A value under a name that programs use for counts (length, num_samples, ...), if one of these is true:
///     - It is the number of the other values.
///     - It divides that number: each sample has several values.
///     - It is a number or a pickle, and the other values are neither.
///     - It lists the names of the other values.
///
/// Names and values are compared with at most 8 of the others. Throws Error: io.
LmdbMetadata drop_metadata(LmdbListing& listing, const std::filesystem::path& file);

}  // namespace penstock
