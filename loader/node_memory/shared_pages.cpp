#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <loader/node_memory/shared_pages.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr unsigned kNoExecution = 8;  // MFD_NOEXEC_SEAL, which kernel headers before Linux 6.3 lack

Error refused(std::uint64_t bytes, int number) {
  return Error::resource("cannot reserve " + std::to_string(bytes) +
                         " bytes of memory to share with other processes: " + std::generic_category().message(number));
}

}  // namespace

// Some systems refuse memory files without MFD_NOEXEC_SEAL. Older ones do not know the flag and return EINVAL.
UnforkedDescriptor file_in_memory(const char* name) {
  return UnforkedDescriptor([name] {
    const int sealed = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExecution);
    return sealed >= 0 || errno != EINVAL ? sealed : ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  });
}

int provide_bytes(int file, std::uint64_t begin, std::uint64_t end) {
  while (::fallocate(file, 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

SharedRegions::Region::Region(Region&& other) noexcept {
  *this = std::move(other);
}

SharedRegions::Region& SharedRegions::Region::operator=(Region&& other) noexcept {
  std::swap(all_, other.all_);
  std::swap(number_, other.number_);
  std::swap(file_, other.file_);
  std::swap(mapping_, other.mapping_);
  return *this;
}

SharedRegions::Region::~Region() {
  if (all_ != nullptr) all_->remove(mapping_.data());
}

SharedRegions::Region SharedRegions::add(const std::shared_ptr<SharedRegions>& all, std::uint64_t bytes) {
  if (bytes == 0) return {};
  Region region;
  region.file_ = file_in_memory("penstock-batches");
  if (!region.file_ || ::ftruncate(region.file_.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(region.file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw refused(bytes, errno);
  region.mapping_ = UnforkedMapping(region.file_.get(), bytes);
  const std::scoped_lock lock(all->mutex_);
  region.number_ = ++all->last_;
  all->regions_.emplace(region.data(), Entry{region.number_, bytes, region.file_.get()});
  region.all_ = all;
  return region;
}

void SharedRegions::remove(const std::byte* begin) {
  const std::scoped_lock lock(mutex_);
  regions_.erase(begin);
  ++ended_;
}

std::optional<SharedRegions::Place> SharedRegions::find(const std::byte* address) const {
  const std::scoped_lock lock(mutex_);
  auto after = regions_.upper_bound(address);
  if (after == regions_.begin()) return std::nullopt;
  const auto& [begin, entry] = *--after;
  const auto offset = static_cast<std::uint64_t>(address - begin);
  if (offset >= entry.bytes) return std::nullopt;
  return Place{.region = entry.number, .offset = offset, .bytes = entry.bytes, .file = entry.file};
}

std::uint64_t SharedRegions::ended() const {
  const std::scoped_lock lock(mutex_);
  return ended_;
}

bool SharedRegions::has(std::uint64_t region) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(regions_, [region](const auto& each) { return each.second.number == region; });
}

void SharedRegions::provide(const std::byte* address, std::uint64_t bytes) const {
  if (bytes == 0) return;
  const auto place = find(address);
  const int refusal = place ? provide_bytes(place->file, place->offset, place->offset + bytes) : EFAULT;
  if (refusal != 0) throw refused(bytes, refusal);
}

}  // namespace penstock
