#include <array>
#include <cstring>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <loader/sharing/changed_pages.hpp>

namespace penstock::sharing {
namespace {

constexpr std::uint64_t kPages = 1300;  // more than one read of entries

/// A file in memory, mapped privately, of which every second page was read.
class Mapping {
 public:
  Mapping() : file_(::memfd_create("changed_pages_test", MFD_CLOEXEC)) {
    REQUIRE(::ftruncate(file_, kPages * kPage) == 0);
    const std::array<char, 2> content{'a', 'b'};
    for (std::uint64_t page = 0; page < kPages; ++page)
      REQUIRE(::pwrite(file_, content.data(), content.size(), static_cast<off_t>(page * kPage)) == content.size());
    void* const data = ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, file_, 0);
    REQUIRE(data != MAP_FAILED);
    data_ = static_cast<std::byte*>(data);
    std::byte seen{};
    for (std::uint64_t page = 0; page < kPages; page += 2) seen |= data_[page * kPage];
    CHECK(seen == std::byte{'a'});
  }
  ~Mapping() {
    ::munmap(data_, kPages * kPage);
    ::close(file_);
  }
  Mapping(Mapping&&) = delete;

  std::byte* page(std::uint64_t number) const { return data_ + number * kPage; }

 private:
  int file_;
  std::byte* data_ = nullptr;
};

void check_ways(const std::byte* data, std::uint64_t pages, bool changed) {
  const int map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  REQUIRE(map >= 0);
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  CHECK(changed_by_entries(map, begin, pages) == changed);
  CHECK(changed_by_scan(map, begin, pages).value_or(changed) == changed);
  CHECK(any_changed(data, pages) == changed);
  ::close(map);
}

TEST_CASE("pages that were only read are not changed") {
  const Mapping mapping;
  check_ways(mapping.page(0), kPages, false);
}

TEST_CASE("a write is found in its page and in no other") {
  for (const std::uint64_t changed : {std::uint64_t{0}, std::uint64_t{511}, std::uint64_t{1024}, kPages - 1}) {
    CAPTURE(changed);
    const Mapping mapping;
    mapping.page(changed)[17] = std::byte{'c'};
    check_ways(mapping.page(0), kPages, true);
    check_ways(mapping.page(changed), 1, true);
    check_ways(mapping.page(0), changed, false);
    check_ways(mapping.page(changed) + kPage, kPages - changed - 1, false);
  }
}

TEST_CASE("the system does not answer: every page counts as changed") {
  CHECK(changed_by_entries(-1, 0, 1));
  CHECK_FALSE(changed_by_scan(-1, 0, 1).has_value());
}

}  // namespace
}  // namespace penstock::sharing
