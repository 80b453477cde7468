#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/io/boot_id.hpp>
#include <formats/io/descriptor.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/io/hash.hpp>
#include <formats/io/ownership.hpp>
#include <formats/io/temporary_place.hpp>
#include <formats/lists/shared_numbers.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::string_view kSharedSuffix = ".numbers";
constexpr std::chrono::milliseconds kLockAgain{5};
// Limit for waiting until another process has filled the table. After that this process fills its own.
constexpr std::chrono::seconds kLongestWait{120};
constexpr std::uint64_t kFilled = 0x64656c6c69667370;

std::filesystem::path shared_folder() {
  return temporary_place() + "/penstock-" + std::to_string(::geteuid());
}

// Returns nothing if other users can write to the folder.
std::optional<Descriptor> open_shared_folder() {
  const std::filesystem::path path = shared_folder();
  ::mkdir(path.c_str(), 0700);
  try {
    return open_private_folder(path, ::geteuid());
  } catch (const Error&) {  // each process then has its own tables
    return std::nullopt;
  }
}

bool lock(const Descriptor& file, int how) {
  while (::flock(file.get(), how | LOCK_NB) != 0)
    if (errno != EINTR) return false;
  return true;
}

bool is_named(const Descriptor& file) {
  struct stat found {};
  return ::fstat(file.get(), &found) == 0 && found.st_nlink > 0;
}

// Removes files without a lock, which killed processes left.
void remove_unused(const Descriptor& folder) {
  const auto remove = [&](const char* name) {
    if (!std::string_view(name).ends_with(kSharedSuffix)) return true;
    const Descriptor file(::openat(folder.get(), name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (file.get() >= 0 && lock(file, LOCK_EX) && is_named(file)) ::unlinkat(folder.get(), name, 0);
    return true;
  };
  try {
    visit_names(folder, shared_folder(), remove);
  } catch (const Error&) {  // unused files remain and do no harm
  }
}

// A mapped file with a shared lock. The last process that holds it removes it.
class HeldFile {
 public:
  HeldFile(Descriptor folder, std::string name, Descriptor file)
      : folder_(std::move(folder)), name_(std::move(name)), file_(std::move(file)) {}
  HeldFile(HeldFile&&) = delete;
  ~HeldFile() {
    if (mapped_ != nullptr) ::munmap(mapped_, bytes_);
    if (lock(file_, LOCK_EX) && is_named(file_)) ::unlinkat(folder_.get(), name_.c_str(), 0);
  }

  int descriptor() const { return file_.get(); }
  char* map(std::uint64_t bytes, int protection) {  // null on failure
    void* mapped = ::mmap(nullptr, bytes, protection, MAP_SHARED, file_.get(), 0);
    if (mapped == MAP_FAILED) return nullptr;
    mapped_ = mapped;
    bytes_ = bytes;
    return static_cast<char*>(mapped);
  }

 private:
  Descriptor folder_;
  std::string name_;
  Descriptor file_;
  void* mapped_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace

/// Opens or creates the file of a shared table.
class SharedFile {
 public:
  /// After a power failure a file may have its mark but not its data. Therefore the name depends on the boot: files of
  /// earlier boots have other names.
  SharedFile(std::string_view name, std::uint64_t count, bool wide)
      : name_(hexadecimal(hash64(std::string(name) + boot_id())) + std::string(kSharedSuffix)),
        count_(count),
        wide_(wide) {}

  /// Returns null if no shared table is possible.
  std::shared_ptr<const SharedNumbers> numbers(const std::function<void(SharedNumbers&)>& fill) {
    const auto give_up = std::chrono::steady_clock::now() + kLongestWait;
    for (; std::chrono::steady_clock::now() < give_up; std::this_thread::sleep_for(kLockAgain)) {
      std::optional<Descriptor> folder = open_shared_folder();
      if (!folder) return nullptr;
      Descriptor file(::openat(folder->get(), name_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
      if (file.get() < 0 && errno != ENOENT) return nullptr;
      if (file.get() < 0) {
        remove_unused(*folder);
        file = Descriptor(
            ::openat(folder->get(), name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (file.get() < 0 && errno != EEXIST) return nullptr;
        const bool first = file.get() >= 0 && lock(file, LOCK_EX) && is_named(file);
        if (first) return filled(held(*std::move(folder), std::move(file)), fill);
      } else if (lock(file, LOCK_SH) && is_named(file)) {
        if (auto table = found(held(*std::move(folder), std::move(file)))) return table;
      }
    }
    return nullptr;
  }

 private:
  std::uint64_t mark_at() const { return (count_ * (wide_ ? 8 : 4) + 7) / 8 * 8; }
  std::uint64_t file_bytes() const { return mark_at() + sizeof kFilled; }

  std::shared_ptr<HeldFile> held(Descriptor folder, Descriptor file) const {
    return std::make_shared<HeldFile>(std::move(folder), name_, std::move(file));
  }

  std::shared_ptr<SharedNumbers> over(char* mapped, std::shared_ptr<HeldFile> file) const {
    std::shared_ptr<SharedNumbers> table(new SharedNumbers(count_, wide_));
    table->data_ = mapped;
    table->mapping_ = std::move(file);
    return table;
  }

  // Returns null if there is not enough space.
  std::shared_ptr<const SharedNumbers> filled(const std::shared_ptr<HeldFile>& file,
                                              const std::function<void(SharedNumbers&)>& fill) const {
    if (::posix_fallocate(file->descriptor(), 0, static_cast<off_t>(file_bytes())) != 0) return nullptr;
    char* const mapped = file->map(file_bytes(), PROT_READ | PROT_WRITE);
    if (mapped == nullptr) return nullptr;
    auto table = over(mapped, file);
    fill(*table);  // if this throws, the file is removed before another process can use it
    std::memcpy(mapped + mark_at(), &kFilled, sizeof kFilled);
    while (::flock(file->descriptor(), LOCK_SH) != 0 && errno == EINTR) {
    }
    return table;
  }

  // Returns null if the file is incomplete. Then no process uses it any more, and it is removed.
  std::shared_ptr<const SharedNumbers> found(const std::shared_ptr<HeldFile>& file) const {
    struct stat status {};
    if (::fstat(file->descriptor(), &status) != 0) return nullptr;
    if (static_cast<std::uint64_t>(status.st_size) != file_bytes()) return nullptr;
    char* const mapped = file->map(file_bytes(), PROT_READ);
    if (mapped == nullptr) return nullptr;
    std::uint64_t mark = 0;
    std::memcpy(&mark, mapped + mark_at(), sizeof mark);
    return mark == kFilled ? over(mapped, file) : nullptr;
  }

  std::string name_;
  std::uint64_t count_;
  bool wide_;
};

std::shared_ptr<const SharedNumbers> shared_numbers(std::string_view name, std::uint64_t count, std::uint64_t largest,
                                                    const std::function<void(SharedNumbers&)>& fill) {
  const bool wide = largest > ~std::uint32_t{0};
  if (count * (wide ? 8 : 4) >= NumberTable::kInMemory)
    if (auto table = SharedFile(name, count, wide).numbers(fill)) return table;
  std::shared_ptr<SharedNumbers> table(new SharedNumbers(count, wide));
  table->own_ = std::make_unique<NumberTable>(count, largest);
  table->data_ = wide ? static_cast<void*>(table->own_->longs().data()) : table->own_->shorts().data();
  fill(*table);
  return table;
}

}  // namespace penstock
