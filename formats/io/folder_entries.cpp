#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <formats/io/folder_entries.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

struct CloseListing {
  void operator()(DIR* listing) const { ::closedir(listing); }
};
using Listing = std::unique_ptr<DIR, CloseListing>;

// Takes ownership of the descriptor.
Listing listing_of(int fd, const fs::path& folder) {
  Listing listing(fd < 0 ? nullptr : ::fdopendir(fd));
  if (listing != nullptr) return listing;
  const int failure = errno;
  if (fd >= 0) ::close(fd);
  throw Error::io(failure, "cannot list " + folder.string());
}

template <class Visit>
void visit_entries(DIR* listing, const fs::path& folder, const Visit& visit) {
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(listing);
    if (entry == nullptr && errno != 0) throw Error::io(errno, "cannot list " + folder.string());
    if (entry == nullptr) return;
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !visit(entry->d_name)) return;
  }
}

// Removes the entry `name` of `folder`; `path` is for messages. Links are not followed, even if another process creates
// one meanwhile.
void remove_at(int folder, const char* name, const fs::path& path) {
  if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) return;
  const int failure = errno;
  const int fd = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) throw Error::io(failure, "cannot remove " + path.string());
  const Listing listing = listing_of(fd, path);
  std::vector<std::string> names;  // collected first, because removing entries changes the listing
  visit_entries(listing.get(), path, [&](const char* inside) { return names.emplace_back(inside), true; });
  for (const std::string& inside : names) remove_at(::dirfd(listing.get()), inside.c_str(), path / inside);
  if (::unlinkat(folder, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
    throw Error::io(errno, "cannot remove " + path.string());
}

}  // namespace

void visit_names(const fs::path& folder, const std::function<bool(const char*)>& visit) {
  const Listing listing = listing_of(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder);
  visit_entries(listing.get(), folder, visit);
}

void visit_names(const Descriptor& folder, const fs::path& path, const std::function<bool(const char*)>& visit) {
  const Listing listing = listing_of(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), path);
  visit_entries(listing.get(), path, visit);
}

bool is_empty_folder(const fs::path& folder) {
  bool empty = true;
  visit_names(folder, [&](const char*) { return empty = false; });
  return empty;
}

void remove_tree(const fs::path& path) {
  remove_at(AT_FDCWD, path.c_str(), path);
}

}  // namespace penstock
