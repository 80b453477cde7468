// Declares the list of fuzz targets for libFuzzer's entry point and for the replayer.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace penstock::fuzz {

using Input = std::span<const std::byte>;

struct Target {
  std::string_view name;
  void (*parse)(Input input);
};
std::span<const Target> file_targets();    ///< of what formats/ reads
std::span<const Target> remote_targets();  ///< of what remote/ reads
std::span<const Target> value_targets();   ///< of what transforms/ and loader/ read
/// Null when there is none.
const Target* target_named(std::span<const Target> targets, std::string_view name);

/// Parses the input. An Error of one line is a good end; any other exception leaves this function.
void run(const Target& target, Input input);

/// Ends the process, with the text on stderr, unless `holds`: a wrong answer is a finding like a crash.
void require(bool holds, const char* what);

}  // namespace penstock::fuzz
