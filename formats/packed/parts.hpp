// Lets several processes pack one dataset. Each makes a part: a packed dataset in the partial folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The file in the partial folder that describes a join in progress; see join.hpp.
inline constexpr std::string_view kJoining = "joining.json";

/// The name of a part's folder: "part-00003-of-00008". Unfinished parts have the suffix ".partial".
struct PartName {
  std::uint32_t rank = 0, world = 1;
  bool finished = true;
  friend bool operator==(const PartName&, const PartName&) = default;

  std::string text() const;
  /// Returns nothing if `name` is not the name of a part.
  static std::optional<PartName> parse(std::string_view name);
};

/// Returns all parts in `folder`, by world, then rank. Empty if there is no such folder.
std::vector<PartName> parts_in(const std::filesystem::path& folder);

/// Returns whether several processes pack in `folder`, or their parts are being joined there.
bool holds_parts(const std::filesystem::path& folder);

/// Returns the folder in which this process packs its part of `destination`, inside the partial folder. Creates the
/// partial folder. Throws Error: io; invalid_argument, if the partial folder is in use for something else: an
/// unfinished dataset of one process, parts of another number of processes, or parts that are being joined.
std::filesystem::path place_of_part(const std::filesystem::path& destination, std::uint32_t rank, std::uint32_t world);

}  // namespace penstock
