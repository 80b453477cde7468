#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include <fnmatch.h>

#include <formats/io/folder_entries.hpp>
#include <formats/io/path_pattern.hpp>
#include <formats/places/places.hpp>
#include <formats/places/seen_places.hpp>
#include <formats/places/stored_source.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongestWhole = std::uint64_t{4} << 30;  // for a description or an index
constexpr std::string_view kWildcardsOfPlaces = "*?[";

// Calls `ask` with the SeenPlaces of this thread, or with a temporary one for this call.
template <typename Ask>
auto asking(const Ask& ask) {
  if (SeenPlaces* const seen = SeenPlaces::current(); seen != nullptr) return ask(*seen);
  SeenPlaces own;
  return ask(own);
}

std::shared_ptr<const StoredObject> found_at(const fs::path& address) {
  return asking([&](SeenPlaces& seen) { return seen.find(address.native()); });
}

[[noreturn]] void absent(const fs::path& place) {
  throw Error::io(ENOENT, "cannot open " + place.string());
}

bool has_wildcard(std::string_view text) {
  return text.find_first_of(kWildcardsOfPlaces) != std::string_view::npos;
}

// Expands the wildcards of an address whose bucket has none, with one listing per folder.
void match_below(const std::string& folder, std::string_view rest, SeenPlaces& seen, std::vector<fs::path>& found) {
  const std::size_t end = std::min(rest.find('/'), rest.size());
  const std::string part(rest.substr(0, end));
  const bool last = end == rest.size();
  const auto go_on = [&](const std::string& name) {
    const std::string below = folder + "/" + name;
    last ? static_cast<void>(found.emplace_back(below)) : match_below(below, rest.substr(end + 1), seen, found);
  };
  if (!has_wildcard(rest)) {
    if (const std::string whole = folder + "/" + std::string(rest); seen.find(whole) != nullptr)
      found.emplace_back(whole);
    return;
  }
  if (!has_wildcard(part)) return go_on(part);
  const std::vector<ListedObject> names = seen.list(folder);
  for (const ListedObject& one : names) {
    const bool fits = ::fnmatch(part.c_str(), one.name.c_str(), FNM_PERIOD) == 0;
    if (fits && (last || one.is_folder)) go_on(one.name);
  }
}

std::vector<fs::path> matching_objects(const std::string& word, SeenPlaces& seen) {
  const std::size_t host = word.find("://") + 3;
  const std::size_t end = std::min(word.find('/', host), word.size());
  if (has_wildcard(std::string_view(word).substr(0, end)))
    throw Error::invalid_argument("has a wildcard in the name of its bucket");
  std::vector<fs::path> found;
  if (end < word.size()) match_below(word.substr(0, end), std::string_view(word).substr(end + 1), seen, found);
  return found;
}

}  // namespace

bool is_file(const fs::path& place) {
  if (is_address(place)) return found_at(place) != nullptr;
  std::error_code ignored;
  return fs::is_regular_file(place, ignored);
}

bool is_folder(const fs::path& place) {
  if (is_address(place)) {
    return asking([&](SeenPlaces& seen) {
      if (const auto known = seen.is_folder(place.native())) return *known;
      return !lists_nothing(place) && !seen.list(place.native()).empty();
    });
  }
  std::error_code ignored;
  return fs::is_directory(place, ignored);
}

namespace {

// If a store does not respond here, the expansion of the pattern reports the error.
bool lies_there(const fs::path& place) {
  std::error_code ignored;
  if (!penstock::is_address(place)) return fs::exists(place, ignored);
  try {
    return !lists_nothing(place) && (is_file(place) || is_folder(place));
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::uint64_t size_of_file(const fs::path& place) {
  if (const auto object = object_at(place)) return object->info.size;
  std::error_code failure;
  const std::uint64_t size = fs::file_size(place, failure);
  if (failure) throw Error::io(failure.value(), "cannot read " + place.string());
  return size;
}

void visit_place(const fs::path& folder, const std::function<bool(const char* name)>& visit) {
  if (!is_address(folder)) return visit_names(folder, visit);
  asking([&](SeenPlaces& seen) {
    std::ranges::all_of(seen.list(folder.native()), [&](const ListedObject& one) { return visit(one.name.c_str()); });
  });
}

void expect_places(std::span<const fs::path> places) {
  SeenPlaces* const seen = SeenPlaces::current();
  if (seen == nullptr) return;
  std::vector<std::string> addresses;
  for (const fs::path& place : places) {
    if (is_address(place)) addresses.push_back(place.native());
  }
  seen->find_all(addresses);
}

std::shared_ptr<const StoredObject> object_at(const fs::path& place) {
  if (!is_address(place)) return nullptr;
  auto object = found_at(place);
  if (object == nullptr) absent(place);
  return object;
}

std::shared_ptr<const ByteSource> open_byte_source(const fs::path& place, Access access) {
  const auto object = object_at(place);
  if (object == nullptr) return open_file_source(place, access);
  if (SeenPlaces* const seen = SeenPlaces::current(); seen != nullptr) return seen->source(object);
  return open_stored_source(object, access);
}

std::shared_ptr<const ByteSource> open_byte_source(const fs::path& path,
                                                   const std::shared_ptr<const StoredObject>& object, Access access) {
  return object != nullptr ? open_stored_source(object, access) : open_file_source(path, access);
}

std::vector<std::byte> first_bytes(const fs::path& place, std::size_t length) {
  const auto source = open_byte_source(place);
  std::vector<std::byte> bytes(length);
  bytes.resize(source->read(0, bytes));
  return bytes;
}

FileBytes read_place(const fs::path& place) {
  if (!is_address(place)) return FileBytes(place);
  auto bytes = asking([&](SeenPlaces& seen) { return seen.read_whole(place.native(), kLongestWhole); });
  if (!bytes) absent(place);
  return FileBytes(std::move(*bytes), place);
}

bool is_pattern_of_places(const fs::path& place) {
  return is_pattern(place.native()) && !lies_there(place);
}

std::vector<fs::path> expand_places(const fs::path& pattern) {
  if (!address_of(pattern)) return expand_pattern(pattern.native());
  std::vector<fs::path> places;
  // Each file has its own query, which is removed before the search for wildcards.
  for (const std::string& spelled : expand_braces(pattern.native())) {
    const std::string word = address_of(spelled).value().native();
    if (!has_wildcard(word) || lies_there(word)) {
      places.emplace_back(word);
      continue;
    }
    if (lists_nothing(word)) {
      throw Error::unsupported(
          "web servers cannot list files, so wildcards (*, ?, [) require an object store; pass names, or numbers in "
          "braces ({000..146})");
    }
    for (fs::path& found : asking([&](SeenPlaces& seen) { return matching_objects(word, seen); }))
      places.push_back(std::move(found));
  }
  return places;
}

}  // namespace penstock
