#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/index/index_folder.hpp>
#include <formats/io/atomic_file.hpp>
#include <formats/io/descriptor.hpp>
#include <formats/io/hash.hpp>
#include <formats/io/ownership.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kKeptMode = 0600;

}  // namespace

fs::path index_folder() {
  if (const char* folder = std::getenv("PENSTOCK_INDEX_DIR"); folder != nullptr && *folder != '\0') return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return fs::path(cache) / "penstock";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return fs::path(home) / ".cache" / "penstock";
  }
  return {};
}

fs::path place_in_index_folder(const fs::path& address, std::string_view ending) {
  const fs::path folder = index_folder();
  if (folder.empty()) return {};
  constexpr std::size_t kLongestName = 100;  // names may have 255 bytes
  const std::string name = address.filename().string().substr(0, kLongestName);
  return folder / (name + "-" + hexadecimal(hash64(address.native())).append(ending));
}

std::optional<FileBytes> read_kept(const fs::path& place) {
  const Descriptor file(::open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat status {
  }, own{};
  own.st_uid = ::geteuid();
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !is_believable(status, own)) return std::nullopt;
  return FileBytes(file, place);
}

bool keep_at(const fs::path& place, std::initializer_list<std::span<const std::byte>> parts) {
  if (place.empty()) return false;
  std::error_code ignored;
  fs::create_directories(place.parent_path(), ignored);
  struct stat status {};
  if (::lstat(place.c_str(), &status) == 0 && status.st_uid != ::geteuid()) return false;
  try {
    write_atomically(place, parts, kKeptMode);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace penstock
