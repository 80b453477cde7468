#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/sigbus_guard.hpp>
#include <penstock/error.hpp>
#include <storage/disk_cache/published_plan.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kPlanMagic = 0x316E616C'506E6450;  // "PdnPlan1"
constexpr std::uint64_t kPageBytes = 4096;

struct PlanPage {
  std::uint64_t magic;
  std::int64_t pid;
  std::uint64_t start, pid_space;  // of the process: start in ticks, and namespace of its pid
  std::uint64_t pace, in_flight;
  std::uint64_t objects, entries;
  std::uint64_t shift;
  std::uint64_t now;   // step
  std::uint64_t rate;  // bits of a double
};

struct PlanObject {
  std::uint64_t high, low, first, blocks;
};

// Start time of a process that this one may not inspect because of how /proc is mounted (hidepid).
constexpr std::uint64_t kHidden = ~std::uint64_t{0};

// Returns field 22 of proc(5)'s stat; 0 if there is no such process. A zombie counts as ended.
std::uint64_t start_of(std::int64_t pid) noexcept {
  std::array<char, 512> text{};
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "/proc/%lld/stat", static_cast<long long>(pid));
  const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH ? kHidden : 0;
  const ssize_t got = ::read(fd, text.data(), text.size() - 1);
  ::close(fd);
  if (got <= 0) return 0;
  const char* at = std::strrchr(text.data(), ')');
  if (at == nullptr || at[1] == '\0' || at[2] == 'Z' || at[2] == 'X') return 0;
  for (int field = 2; field < 22 && at != nullptr; ++field) at = std::strchr(at + 1, ' ');
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

std::uint64_t pid_space() noexcept {
  struct stat found {};
  return ::stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

std::uint64_t page_rounded(std::uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

template <typename T>
T relaxed(const T* place) noexcept {
  return std::atomic_ref(*const_cast<T*>(place)).load(std::memory_order_relaxed);
}

PlanPage* page_of(const SharedMap& map) {
  return reinterpret_cast<PlanPage*>(map.data());
}

}  // namespace

PublishedPlan::PublishedPlan(CacheFolder& folder, std::span<const Object> objects, const PublishedPlanOptions& options)
    : folder_(folder), owner_(::getpid()), first_(objects.size()), blocks_(objects.size()) {
  std::vector<std::size_t> order(objects.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return objects[i].id; });
  std::uint64_t entries = 0;
  for (const std::size_t i : order) {
    first_[i] = entries;
    blocks_[i] = objects[i].blocks;
    entries += objects[i].blocks;
  }
  entries_at_ = page_rounded(kPageBytes + objects.size() * sizeof(PlanObject));
  const std::uint64_t bytes = page_rounded(entries_at_ + entries * sizeof(std::uint32_t));
  while (options.longest >> shift_ >= std::uint64_t{1} << 30) ++shift_;

  static std::atomic<unsigned> number{0};
  const std::string name = std::to_string(owner_) + "-" + std::to_string(start_of(owner_)) + "-" +
                           std::to_string(pid_space()) + "-" + std::to_string(number++);
  if (bytes > folder.limit() / 8 || !folder.reserve_first(charged(bytes)))
    throw Error::resource("no room for a plan of " + std::to_string(bytes) + " bytes in the cache in " +
                          folder.path().string());
  try {
    const std::string temporary = name + ".tmp";
    ::unlinkat(folder.plans().get(), temporary.c_str(), 0);
    const int fd = folder.open_file(folder.plans(), temporary.c_str(), O_RDWR | O_CREAT | O_EXCL);
    if (fd < 0) throw Error::io(errno, "cannot write to the cache in " + folder.path().string());
    file_ = Descriptor(fd);
    name_ = temporary;
    if (const int failed = allocate_file(fd, bytes); failed != 0)
      throw Error::io(failed, "cannot write to the cache in " + folder.path().string());
    // Locked before it gets its final name: other processes remove a plan that is not locked.
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) throw Error::io(errno, "cannot lock a plan in " + folder.path().string());
    map_ = SharedMap(fd, bytes, true);
    const bool written = guarded([&] {
      *page_of(map_) = {.magic = kPlanMagic,
                        .pid = owner_,
                        .start = start_of(owner_),
                        .pid_space = pid_space(),
                        .pace = options.pace,
                        .in_flight = options.in_flight,
                        .objects = objects.size(),
                        .entries = entries,
                        .shift = shift_,
                        .now = 0,
                        .rate = 0};
      auto* listed = reinterpret_cast<PlanObject*>(map_.data() + kPageBytes);
      for (const std::size_t i : order) *listed++ = {objects[i].id.high, objects[i].id.low, first_[i], blocks_[i]};
    });
    if (!written) throw Error::io(EIO, "cannot write to the cache in " + folder.path().string());
    if (::renameat(folder.plans().get(), temporary.c_str(), folder.plans().get(), name.c_str()) != 0)
      throw Error::io(errno, "cannot write to the cache in " + folder.path().string());
    name_ = name;
  } catch (...) {
    if (!name_.empty()) ::unlinkat(folder.plans().get(), name_.c_str(), 0);
    folder.release(charged(bytes));
    throw;
  }
}

PublishedPlan::~PublishedPlan() {
  if (::getpid() != owner_) return;
  if (::unlinkat(folder_.plans().get(), name_.c_str(), 0) == 0) folder_.release(charged(map_.size()));
}

std::uint32_t PublishedPlan::told(std::uint64_t step) const {
  if (step == kNever) return 0;
  // An entry of 0 means "unknown", so the first unit is stored as 1.
  const auto units = static_cast<std::uint32_t>(step >> shift_);
  return units == 0 ? 1 : units;
}

std::uint32_t* PublishedPlan::place(std::size_t object, std::uint64_t block) const {
  if (object >= blocks_.size() || block >= blocks_[object]) return nullptr;
  return reinterpret_cast<std::uint32_t*>(map_.data() + entries_at_) + first_[object] + block;
}

void PublishedPlan::set(std::size_t object, std::uint64_t block, std::uint64_t step) noexcept {
  std::uint32_t* const entry = place(object, block);
  if (entry == nullptr) return;
  guarded_since([&] { std::atomic_ref(*entry).store(told(step), std::memory_order_relaxed); });
}

void PublishedPlan::set_earlier(std::size_t object, std::uint64_t block, std::uint64_t step) noexcept {
  std::uint32_t* const entry = place(object, block);
  const std::uint32_t sooner = told(step);
  if (entry == nullptr || sooner == 0) return;
  guarded_since([&] {
    const auto now = static_cast<std::uint32_t>(relaxed(&page_of(map_)->now) >> shift_);
    std::uint32_t found = relaxed(entry);
    // Another thread may publish at the same moment. Both values are correct, and the earliest one is kept.
    while (found == 0 || static_cast<std::int32_t>(found - now) < 0 || static_cast<std::int32_t>(sooner - found) < 0)
      if (std::atomic_ref(*entry).compare_exchange_weak(found, sooner, std::memory_order_relaxed)) break;
  });
}

void PublishedPlan::now(std::uint64_t step, double steps_per_second) noexcept {
  guarded_since([&] {
    std::atomic_ref(page_of(map_)->now).store(step, std::memory_order_relaxed);
    std::atomic_ref(page_of(map_)->rate)
        .store(std::bit_cast<std::uint64_t>(steps_per_second), std::memory_order_relaxed);
  });
}

void PublishedPlan::forget() noexcept {
  const std::uint64_t entries = first_.empty() ? 0 : (map_.size() - entries_at_) / sizeof(std::uint32_t);
  auto* const all = reinterpret_cast<std::uint32_t*>(map_.data() + entries_at_);
  guarded_since([&] {
    for (std::uint64_t i = 0; i < entries; ++i) std::atomic_ref(all[i]).store(0, std::memory_order_relaxed);
  });
}

PlanView::PlanView(CacheFolder& folder, std::string name, Descriptor file, SharedMap map)
    : folder_(folder), name_(std::move(name)), file_(std::move(file)), map_(std::move(map)) {}

std::shared_ptr<PlanView> PlanView::open(CacheFolder& folder, const std::string& name) {
  const int fd = folder.open_file(folder.plans(), name.c_str(), O_RDONLY);
  if (fd < 0) return nullptr;
  Descriptor file(fd);
  struct stat found {};
  if (::fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return nullptr;
  const auto bytes = static_cast<std::uint64_t>(found.st_size);
  if (bytes < kPageBytes) return nullptr;
  SharedMap map(fd, bytes, false);
  std::shared_ptr<PlanView> view(new PlanView(folder, name, std::move(file), std::move(map)));
  if (!view->read_page(bytes) || !view->lives()) return nullptr;
  return view;
}

bool PlanView::read_page(std::uint64_t file_bytes) {
  PlanPage page{};
  if (!copy_from_mapping(&page, map_.data(), sizeof(page)) || page.magic != kPlanMagic) return false;
  const bool fits =
      page.objects <= file_bytes / sizeof(PlanObject) && page.entries <= file_bytes / 4 && page.shift < 40;
  if (!fits) return false;
  entries_at_ = page_rounded(kPageBytes + page.objects * sizeof(PlanObject));
  if (entries_at_ + page.entries * sizeof(std::uint32_t) > file_bytes) return false;
  pid_ = page.pid;
  start_ = page.start;
  pid_space_ = page.pid_space;
  pace_ = page.pace;
  in_flight_ = page.in_flight;
  objects_ = page.objects;
  entries_ = page.entries;
  shift_ = static_cast<unsigned>(page.shift);
  return true;
}

bool PlanView::lives() noexcept {
  // The owner holds a lock on the file. A child that it left behind holds the same lock, so /proc is checked first if
  // both processes share a pid namespace.
  const std::uint64_t start = pid_space_ != 0 && pid_space_ == pid_space() ? start_of(pid_) : kHidden;
  const bool gone = (start != kHidden && start != start_) || ::flock(file_.get(), LOCK_SH | LOCK_NB) == 0;
  if (!gone) return true;
  if (::unlinkat(folder_.plans().get(), name_.c_str(), 0) == 0) folder_.release(charged(map_.size()));
  return false;
}

double PlanView::rate() const noexcept {
  volatile double rate = 0;
  guarded_since([&] { rate = std::bit_cast<double>(relaxed(&page_of(map_)->rate)); });
  const double told = rate;
  return told > 0 && told < 1e12 ? told : 0;
}

double PlanView::now() const noexcept {
  volatile std::uint64_t now = 0;
  guarded_since([&] { now = relaxed(&page_of(map_)->now); });
  return static_cast<double>(now);
}

std::uint32_t PlanView::now_told() const noexcept {
  volatile std::uint64_t now = 0;
  guarded_since([&] { now = relaxed(&page_of(map_)->now); });
  return static_cast<std::uint32_t>(now >> shift_);
}

const std::uint32_t* PlanView::entries(const CachedObjectId& id, std::uint64_t blocks) const noexcept {
  const auto* listed = reinterpret_cast<const PlanObject*>(map_.data() + kPageBytes);
  volatile std::uint64_t first = entries_;
  guarded_since([&] {
    const auto* const end = listed + objects_;
    const auto* const found = std::lower_bound(listed, end, id, [](const PlanObject& object, const CachedObjectId& of) {
      return CachedObjectId{object.high, object.low} < of;
    });
    if (found != end && found->high == id.high && found->low == id.low && found->blocks == blocks) first = found->first;
  });
  const std::uint64_t begin = first;
  if (begin >= entries_ || blocks > entries_ - begin) return nullptr;
  return reinterpret_cast<const std::uint32_t*>(map_.data() + entries_at_) + begin;
}

double PlanView::away(std::uint32_t entry, std::uint32_t now) const noexcept {
  if (entry == 0) return kFar;
  const auto units = static_cast<std::int64_t>(static_cast<std::int32_t>(entry - now));
  if (units >= 0) return static_cast<double>(units << shift_);
  return static_cast<std::uint64_t>(-units) << shift_ <= in_flight_ ? 0 : kFar;
}

}  // namespace penstock
