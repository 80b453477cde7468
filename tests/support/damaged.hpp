// A dataset of which two samples cannot be decoded, and the options of loaders that get over them.
#pragma once

#include <cstdint>
#include <filesystem>

#include "support/loading.hpp"

namespace penstock::test {

/// 40 samples of write_arrays(), good but for numbers 7 and 23, whose arrays are cut in their header.
inline Dataset damaged(const std::filesystem::path& folder) {
  write_arrays(folder, 40);
  for (const std::uint64_t bad : {7U, 23U}) write_file(folder / (number_key(bad) + ".npy"), "\x93NUMPY");
  return open(folder);
}

/// Batches of 8, shuffled, and half of the samples may be bad.
inline LoaderOptions shuffled(OnError policy) {
  LoaderOptions options;
  options.batch_size = 8;
  options.shuffle = true;
  options.workers = 3;
  options.on_error = policy;
  options.max_error_rate = 0.5;
  return options;
}

}  // namespace penstock::test
