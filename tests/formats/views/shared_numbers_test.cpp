// Tests tables of numbers that processes share: made once, removed with the last one, never believed when not whole.
#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <formats/io/boot_id.hpp>
#include <formats/io/hash.hpp>
#include <formats/lists/number_table.hpp>
#include <formats/lists/shared_numbers.hpp>

#include "support/processes.hpp"
#include "support/temporary_place.hpp"

namespace penstock::test::shared_numbers_test {
namespace {

constexpr std::uint64_t kMany = NumberTable::kInMemory / 4;

class Place : public TemporaryPlace {
 public:
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> all;
    if (!std::filesystem::exists(shared())) return all;
    for (const auto& entry : std::filesystem::directory_iterator(shared())) all.push_back(entry.path());
    return all;
  }
};

void count_up(SharedNumbers& numbers) {
  for (std::uint64_t i = 0; i < numbers.size(); ++i) numbers.set(i, i * 3);
}

bool counts_up(const SharedNumbers& numbers) {
  for (std::uint64_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != i * 3) return false;
  return true;
}

std::shared_ptr<const SharedNumbers> made(int& fills, std::uint64_t count = kMany, std::string_view name = "a") {
  return shared_numbers(name, count, count * 3, [&](SharedNumbers& numbers) {
    ++fills;
    count_up(numbers);
  });
}

}  // namespace

TEST_CASE("small tables are nobody else's") {
  const Place place;
  int fills = 0;
  const auto one = made(fills, 1000), two = made(fills, 1000);
  CHECK(fills == 2);
  CHECK_FALSE(one->is_shared());
  CHECK(counts_up(*two));
  CHECK(place.files().empty());
}

TEST_CASE("a table is filled once, and goes with the last one that has it") {
  const Place place;
  int fills = 0;
  auto one = made(fills);
  auto two = made(fills);
  CHECK(fills == 1);
  CHECK(one->is_shared());
  CHECK(counts_up(*one));
  CHECK(counts_up(*two));
  CHECK_FALSE(two->wide());
  const auto other = made(fills, kMany, "b");
  CHECK(fills == 2);
  CHECK(place.files().size() == 2);
  CHECK(in_child([] {
          int own = 0;
          return counts_up(*made(own)) && own == 0;
        }) == 0);
  CHECK(place.files().size() == 2);
  one.reset();
  CHECK(place.files().size() == 2);
  CHECK(counts_up(*two));
  two.reset();
  CHECK(place.files().size() == 1);
  made(fills);
  CHECK(fills == 3);
}

TEST_CASE("numbers beyond 32 bits are kept") {
  const Place place;
  const auto wide = shared_numbers("w", kMany, ~std::uint64_t{0}, [](SharedNumbers& numbers) {
    for (std::uint64_t i = 0; i < numbers.size(); ++i) numbers.set(i, ~i);
  });
  CHECK(wide->wide());
  CHECK((*wide)[kMany - 1] == ~(kMany - 1));
}

TEST_CASE("processes that ask at once fill it once") {
  const Place place;
  std::array<int, 2> told{};
  REQUIRE(::pipe(told.data()) == 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto table = shared_numbers("slow", kMany, kMany * 3, [&](SharedNumbers& numbers) {
        const char byte = 'f';
        if (::write(told[1], &byte, 1) != 1) ::_exit(2);
        ::usleep(200'000);
        count_up(numbers);
      });
      const bool good = counts_up(*table);
      ::usleep(500'000);  // until all have it
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  ::close(told[1]);
  std::array<char, 8> fills{};
  CHECK(::read(told[0], fills.data(), fills.size()) == 1);
  ::close(told[0]);
}

TEST_CASE("what killed processes left is removed, and never believed") {
  const Place place;
  int fills = 0;
  const int status = in_child([&] {
    const auto whole = made(fills, kMany, "whole");
    shared_numbers("half", kMany, kMany * 3, [&](SharedNumbers& numbers) {
      numbers.set(0, 99);
      ::kill(::getpid(), SIGKILL);
    });
    return true;
  });
  CHECK(WIFSIGNALED(status));
  CHECK(place.files().size() == 2);
  const auto half = made(fills, kMany, "half");
  CHECK(fills == 1);
  CHECK(counts_up(*half));
  CHECK(place.files().size() == 1);  // "whole" went when this one was made
  const auto whole = made(fills, kMany, "whole");
  CHECK(fills == 2);
  CHECK(counts_up(*whole));
}

TEST_CASE("a file's name tells the boot: what a loss of power left is nobody's") {
  const Place place;
  int fills = 0;
  const auto one = made(fills);
  REQUIRE(place.files().size() == 1);
  CHECK(boot_id().size() == 36);
  CHECK(place.files().front().filename() == hexadecimal(hash64("a" + boot_id())) + ".numbers");
}

TEST_CASE("a filling that fails leaves nothing") {
  const Place place;
  CHECK_THROWS_AS(shared_numbers("a", kMany, kMany * 3, [](SharedNumbers&) { throw std::runtime_error("no"); }),
                  std::runtime_error);
  CHECK(place.files().empty());
  int fills = 0;
  CHECK(counts_up(*made(fills)));
}

TEST_CASE("where others may write, a process has a table of its own") {
  const Place place;
  std::filesystem::create_directory(place.shared());
  ::chmod(place.shared().c_str(), 0777);
  int fills = 0;
  const auto one = made(fills), two = made(fills);
  CHECK(fills == 2);
  CHECK_FALSE(one->is_shared());
  CHECK(counts_up(*two));
  CHECK(place.files().empty());
}

TEST_CASE("a file of another length is not taken for the table") {
  const Place place;
  int fills = 0;
  auto one = made(fills);
  const auto file = place.files().front();
  one.reset();
  std::ofstream(file) << "not a table";
  const auto two = made(fills);
  CHECK(fills == 2);
  CHECK(counts_up(*two));
}

}  // namespace penstock::test::shared_numbers_test
