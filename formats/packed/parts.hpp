// Lets several processes pack one dataset: each makes a part, a packed dataset of its own in the partial folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The file in the partial folder that says what is being joined; see join.hpp.
inline constexpr std::string_view kJoining = "joining.json";

/// What the folder of a part is called: "part-00003-of-00008". Unfinished it has ".partial" behind it.
struct PartName {
  std::uint32_t rank = 0, world = 1;
  bool finished = true;
  friend bool operator==(const PartName&, const PartName&) = default;

  std::string text() const;
  /// Nothing when `name` is not the name of a part.
  static std::optional<PartName> parse(std::string_view name);
};

/// All parts in `folder`, by world, then rank; empty when there is no such folder.
std::vector<PartName> parts_in(const std::filesystem::path& folder);

/// Whether `folder` is where several processes pack, or where their parts are being joined.
bool holds_parts(const std::filesystem::path& folder);

/// The folder in which this process packs its part of `destination`, inside the partial folder; makes the latter.
/// Throws Error: io; invalid_argument, when something else lies there: an unfinished dataset of one process, parts of
/// another number of processes, or parts that are being joined.
std::filesystem::path place_of_part(const std::filesystem::path& destination, std::uint32_t rank, std::uint32_t world);

}  // namespace penstock
