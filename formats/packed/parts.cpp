#include <algorithm>
#include <charconv>
#include <cstdio>
#include <tuple>

#include <formats/io/atomic_file.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/io/ownership.hpp>
#include <formats/packed/commit.hpp>
#include <formats/packed/journal.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/packed/parts.hpp>
#include <formats/places/address.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Removes `text` from the front of `rest`.
bool take(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

bool take_number(std::string_view& rest, std::uint32_t& number) {
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (failure != std::errc()) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return true;
}

}  // namespace

std::string PartName::text() const {
  char digits[64];
  std::snprintf(digits, sizeof(digits), "part-%05u-of-%05u", rank, world);
  return finished ? digits : std::string(digits) + ".partial";
}

std::optional<PartName> PartName::parse(std::string_view name) {
  PartName part;
  std::string_view rest = name;
  if (!take(rest, "part-") || !take_number(rest, part.rank)) return std::nullopt;
  if (!take(rest, "-of-") || !take_number(rest, part.world)) return std::nullopt;
  part.finished = rest.empty();
  if (part.text() != name || part.rank >= part.world) return std::nullopt;
  return part;
}

std::vector<PartName> parts_in(const fs::path& folder) {
  std::vector<PartName> parts;
  std::error_code failure;
  if (!fs::is_directory(folder, failure)) return parts;
  visit_names(folder, [&](const char* name) {
    if (const auto part = PartName::parse(name)) parts.push_back(*part);
    return true;
  });
  std::sort(parts.begin(), parts.end(), [](const PartName& a, const PartName& b) {
    return std::tie(a.world, a.rank, a.finished) < std::tie(b.world, b.rank, b.finished);
  });
  return parts;
}

bool holds_parts(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kJoining, ignored) || !parts_in(folder).empty();
}

fs::path place_of_part(const fs::path& destination, std::uint32_t rank, std::uint32_t world) {
  require_writable_place(destination);
  const fs::path partial = partial_path(destination);
  const auto refuse = [&](const std::string& why) {
    throw Error::invalid_argument(why, {.dataset = partial.string()});
  };
  require_own_folder(partial);
  if (fs::exists(partial / kJoining)) refuse("its parts are being joined: pack-join (ps.finish_pack) finishes it");
  if (fs::exists(partial / Journal::kFileName) || fs::exists(partial / Manifest::kFileName)) {
    refuse(
        "is left from a run of one process; remove it, or finish that run with --resume (resume=True) and without a "
        "rank");
  }
  for (const PartName& part : parts_in(partial)) {
    if (part.world == world) continue;
    refuse("contains " + part.text() + ", of a run of " + std::to_string(part.world) + " processes, not " +
           std::to_string(world) + ": remove that folder, or use the same number");
  }
  fs::create_directories(partial);
  sync_folder(partial.has_parent_path() ? partial.parent_path() : fs::path("."));
  return partial / PartName{.rank = rank, .world = world}.text();
}

}  // namespace penstock
