#include <algorithm>
#include <cstdint>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/machine.hpp>
#include <bench/measure/residency.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

struct Pages {
  std::uint64_t resident = 0, all = 0;
};

class ProbedFile {
 public:
  explicit ProbedFile(const std::filesystem::path& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~ProbedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  ProbedFile(ProbedFile&&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

Pages pages_of(const std::filesystem::path& path) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const ProbedFile file(path);
  struct stat status {};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &status) != 0 || status.st_size <= 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  Pages pages{.resident = 0, .all = (size + page - 1) / page};
  // Mapping reads nothing, and mincore() reports which pages are in the page cache.
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (map == MAP_FAILED) return pages;
  std::vector<unsigned char> states(pages.all);
  if (::mincore(map, size, states.data()) == 0)
    pages.resident = static_cast<std::uint64_t>(std::ranges::count_if(states, [](unsigned char s) { return s & 1; }));
  ::munmap(map, size);
  return pages;
}

}  // namespace

double resident_share(const Dataset& dataset, std::uint32_t files) {
  const std::uint32_t count = std::min(files, dataset.file_count());
  Pages sum;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint32_t>(std::uint64_t{i} * dataset.file_count() / count);
    if (dataset.stored_object(number) != nullptr) continue;
    const Pages pages = pages_of(dataset.file(number).path);
    sum.resident += pages.resident;
    sum.all += pages.all;
  }
  return sum.all == 0 ? 0.0 : static_cast<double>(sum.resident) / static_cast<double>(sum.all);
}

double drop_pages(const Dataset& dataset) {
  for (std::uint32_t number = 0; number < dataset.file_count(); ++number) {
    if (dataset.stored_object(number) != nullptr) continue;
    const ProbedFile file(dataset.file(number).path);
    if (file.descriptor() < 0) continue;
    ::fdatasync(file.descriptor());  // the kernel does not drop dirty pages
    ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  }
  return resident_share(dataset);
}

double bring_pages(const Dataset& dataset, const std::function<bool()>& keep_going) {
  std::uint64_t bytes = 0;
  for (std::uint32_t number = 0; number < dataset.file_count(); ++number) bytes += dataset.file(number).size;
  if (bytes > this_machine(0).memory_available) return resident_share(dataset);
  std::vector<char> buffer(std::size_t{4} << 20);
  for (std::uint32_t number = 0; number < dataset.file_count(); ++number) {
    if (dataset.stored_object(number) != nullptr) continue;
    const ProbedFile file(dataset.file(number).path);
    while (file.descriptor() >= 0 && ::read(file.descriptor(), buffer.data(), buffer.size()) > 0)
      if (keep_going && !keep_going()) throw Error::resource("interrupted");
  }
  return resident_share(dataset);
}

}  // namespace penstock
