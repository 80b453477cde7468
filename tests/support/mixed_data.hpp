// Samples of many kinds in a folder, options that load some of them, and the digests of their batches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <penstock/image.hpp>
#include <penstock/loader.hpp>

#include "support/loading.hpp"
#include "support/picture_files.hpp"

namespace penstock::test {

/// Pictures, labels, texts of different lengths, and a field that some samples lack.
struct MixedData {
  explicit MixedData(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string key = number_key(i);
      write_file(folder / "data" / (key + ".jpg"), jpeg_picture(40 + i % 7, 44 + i % 5, i % 4 == 0 ? 1 : 3, i));
      write_file(folder / "data" / (key + ".cls"), std::to_string(i % 3));
      write_file(folder / "data" / (key + ".txt"), std::string(i * 7 % 23, static_cast<char>('a' + i % 26)));
      std::string numbers;
      for (std::uint32_t k = 0; k < i % 9; ++k) numbers += std::to_string(i + k) + "\n";
      write_file(folder / "data" / (key + ".num.txt"), numbers);
      if (i % 5 != 1) write_file(folder / "data" / (key + ".id"), std::to_string(i));
    }
  }
  Dataset dataset() const { return open(folder / "data"); }
  TemporaryFolder folder;
};

inline LoaderOptions mixed_options() {
  LoaderOptions options;
  options.batch_size = 4;
  options.shuffle = true;
  options.seed = 5;
  options.workers = 2;
  options.publish = false;
  options.memory_options.max_live_batches = 8;
  options.transforms = {{"jpg", image::random_resized_crop(24)}, {"cls", label()}, {"txt", field("txt") | raw()}};
  return options;
}

inline std::vector<std::uint64_t> epochs(Loader& loader, int count) {
  std::vector<std::uint64_t> all;
  for (int epoch = 0; epoch < count; ++epoch)
    for (const std::uint64_t batch : batch_digests(loader)) all.push_back(batch);
  return all;
}

/// The digests of a loader without servers or sharing.
inline std::vector<std::uint64_t> expected(const MixedData& data, int count,
                                           const LoaderOptions& options = mixed_options()) {
  Loader loader(data.dataset(), options);
  return epochs(loader, count);
}

}  // namespace penstock::test
