// A loader's position, small enough for every checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

/// Any rank's state serves all ranks. With another world or batch size the rest of the epoch begins at the first
/// position not delivered.
struct LoaderState {
  std::uint64_t dataset = 0;  ///< fingerprint
  std::uint64_t samples = 0;  ///< that the epoch delivers
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t start = 0;  ///< position of batch 0
  std::uint64_t batch = 0;  ///< batches delivered since `start`, by every rank
  std::uint32_t world = 1, batch_size = 1;
  std::string transforms;  ///< Program::version()
  friend bool operator==(const LoaderState&, const LoaderState&) = default;

  std::string to_json() const;
  /// Throws Error: invalid_argument, when the text is no loader state or of a version not read here.
  static LoaderState from_json(std::string_view text);
};

}  // namespace penstock
