// Finds the values of an LMDB file that are no samples, but say how many there are, or list their names.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <penstock/formats/lmdb/listing.hpp>

namespace penstock {

struct LmdbMetadata {
  std::map<std::string, std::string> left_out;  ///< name -> reason
  bool counts_samples = false;                  ///< a number says how many samples there are, each of several values
};

/// Removes from the listing, on the evidence of names and values:
///
///   the number of the other values, whatever its name, if these are no numbers
///   under a name that programs use for it (length, num_samples, ...): also that number among numbers, a part of it by
///   a
///     whole number of values per sample, or any number or pickle if the other values are neither
///   a list of the other values' names, under such a name
///
/// Names and values are compared with at most 8 of the others. Throws Error: io.
LmdbMetadata drop_metadata(LmdbListing& listing, const std::filesystem::path& file);

}  // namespace penstock
