#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/index/sidecar_file.hpp>
#include <formats/io/descriptor.hpp>
#include <formats/io/ownership.hpp>
#include <formats/io/path_inside.hpp>
#include <formats/places/places.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

milliseconds patience() {
  constexpr std::int64_t kSeconds = 60, kMostSeconds = 1'000'000;
  std::int64_t seconds = kSeconds;
  if (const char* asked = std::getenv("PENSTOCK_INDEX_WAIT"); asked != nullptr) {
    const char* const end = asked + std::strlen(asked);
    std::int64_t number = 0;
    const auto [rest, failure] = std::from_chars(asked, end, number);
    if (failure == std::errc() && rest == end && number >= 0 && number <= kMostSeconds) seconds = number;
  }
  return std::chrono::seconds(seconds);
}

}  // namespace

std::optional<FileBytes> read_believed(const fs::path& place, const fs::path& shard) {
  const Descriptor file(::open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {
  }, data{};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || ::stat(shard.c_str(), &data) != 0) return std::nullopt;
  if (!is_believable(status, data)) return std::nullopt;
  return FileBytes(file, place);
}

bool belongs_to_another(const fs::path& place) {
  struct stat status {};
  return ::lstat(place.c_str(), &status) == 0 && status.st_uid != ::geteuid();
}

bool names_only(const Index& index, const fs::path& shard) {
  const bool folder = is_folder(shard);
  if (!folder && index.file_count() > 1) return false;
  for (std::uint32_t i = 0; i < index.file_count(); ++i) {
    const std::string path = index.file(i).path;
    if (folder ? !is_inside_and_visible(path) : path != shard.filename()) return false;
  }
  return true;
}

SidecarTurn::SidecarTurn(const OpenProgress& progress) : progress_(progress), left_(patience()) {}

std::optional<FileLock> SidecarTurn::wait(const fs::path& lock) {
  const auto begin = std::chrono::steady_clock::now();
  const auto waited = [&] {
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
  };
  auto held = FileLock::wait_while(lock, [&] {
    if (waited() >= left_) return false;
    progress_.wait(lock, waited());
    return true;
  });
  left_ -= std::min(left_, waited());
  return held;
}

}  // namespace penstock
