// Tests that processes share the large tables of orders: those of lengths, of windows, of weights and of classes.
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <formats/lists/number_table.hpp>
#include <order/buckets/length_table.hpp>
#include <order/draws/draw_order.hpp>
#include <order/windows/window_table.hpp>

#include "support/processes.hpp"
#include "support/temporary_place.hpp"

namespace penstock::test::shared_tables_test {
namespace {

constexpr std::uint64_t kMany = NumberTable::kInMemory / 4 + 1000, kGroup = 50;

class Place : public TemporaryPlace {
 public:
  // Inodes of the shared files that this process has mapped, one for each mapping.
  std::multiset<std::string> mapped() const {
    std::multiset<std::string> inodes;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(path().string()) == std::string::npos || !line.ends_with(".numbers")) continue;
      std::istringstream words(line);
      std::string range, rights, offset, device, inode;
      words >> range >> rights >> offset >> device >> inode;
      inodes.insert(inode);
    }
    return inodes;
  }
};

struct Tables {
  std::unique_ptr<LengthTable> lengths, broken, some;
  std::unique_ptr<WindowTable> by_place, by_time;
  std::shared_ptr<const DrawOrder> once, balanced;
};

// Those of two `kind`s differ in one sample.
Tables made(std::uint64_t kind) {
  Tables made;
  made.lengths = std::make_unique<LengthTable>(kMany);
  made.broken = std::make_unique<LengthTable>(kMany);
  WindowSamples by_place{
      .count = kMany, .groups = std::make_unique<NumberTable>(kMany, kMany), .group_count = kMany / kGroup + 1},
      by_time{.count = kMany, .numbers = std::make_unique<NumberTable>(kMany, ~std::uint64_t{0})};
  auto weights = std::make_shared<NumberTable>(kMany, ~std::uint64_t{0});
  auto classes = std::make_shared<NumberTable>(kMany, kMany);
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    const std::uint64_t own = i == 7 ? i + kind : i;
    if (i % 11 != 0) made.lengths->set(i, static_cast<double>(own * 7 % 1000));
    made.broken->set(i, static_cast<double>(own % 1000) / 8);
    by_place.groups->set(i, own % (kMany / kGroup));
    by_time.numbers->set(i, std::bit_cast<std::uint64_t>(static_cast<double>(own * 2)));
    weights->set(i, std::bit_cast<std::uint64_t>(static_cast<double>(1 + own % 9)));
    classes->set(i, own % 10);
    if (i != 8) chosen.push_back(i);
  }
  made.lengths->finish();
  made.broken->finish();
  made.some = std::make_unique<LengthTable>(*made.lengths, chosen);
  WindowSpec spec{.offsets = {-2, 0, 3}, .group = {}, .edge = Edge::pad, .order_by = {}, .at = {}};
  made.by_place = std::make_unique<WindowTable>(spec, std::move(by_place));
  spec.at = "t";
  made.by_time = std::make_unique<WindowTable>(spec, std::move(by_time));
  const DrawOrder::Listed all{.count = kMany, .sample = [](std::uint64_t entry) { return entry; }};
  made.once =
      std::make_shared<const DrawOrder>(Draws{.kind = Draws::Kind::once, .numbers = weights, .about = "weights"}, all);
  made.balanced = std::make_shared<const DrawOrder>(
      Draws{.kind = Draws::Kind::balanced, .numbers = classes, .about = "balance"}, all);
  return made;
}

// What is asked of them, and what they say.
std::vector<double> told(const Tables& tables) {
  std::vector<double> all;
  std::vector<WindowStep> steps;
  DrawEpoch once(tables.once, {.shuffle = true, .seed = 3}, 1), balanced(tables.balanced, {.shuffle = true}, 1);
  for (std::uint64_t i = 0; i + 1 < kMany; i += i < 100 ? 1 : 997) {
    all.push_back(tables.lengths->has(i) ? (*tables.lengths)[i] : -1);
    all.push_back((*tables.broken)[i]);
    all.push_back(tables.some->has(i) ? (*tables.some)[i] : -1);
    for (const auto* table : {tables.by_place.get(), tables.by_time.get()}) {
      table->steps(i, steps);
      for (const WindowStep& step : steps) all.push_back(static_cast<double>(step.sample) * (step.inside ? 1 : -1));
    }
    all.push_back(static_cast<double>(once.row_at(i).entry));
    all.push_back(static_cast<double>(balanced.row_at(i).entry));
  }
  return all;
}

}  // namespace

TEST_CASE("processes that need the same tables map the same files, and others have their own") {
  const Place place;
  const Tables tables = made(0);
  const std::vector<double> own = told(tables);
  const std::multiset<std::string> before = place.mapped();
  // Of lengths 3; of windows groups, steps and ranks of the one, steps and numbers of the other; parts, the order of an
  // epoch, and classes.
  CHECK(before.size() == 11);
  CHECK(in_child([&] {
          const Tables again = made(0);
          const std::vector<double> theirs = told(again);
          const std::multiset<std::string> now = place.mapped();
          if (now.size() != 2 * before.size()) return 1;
          for (const std::string& inode : now)
            if (now.count(inode) != 2) return 2;
          return theirs == own ? 0 : 3;
        }) == 0);
  CHECK(in_child([&] {
          const Tables others = made(1);
          const std::vector<double> theirs = told(others);
          const std::multiset<std::string> now = place.mapped();
          if (now.size() != 2 * before.size()) return 1;
          for (const std::string& inode : now)
            if (now.count(inode) != 1) return 2;
          return theirs != own ? 0 : 3;
        }) == 0);
  CHECK(told(tables) == own);
}

TEST_CASE("what a process had half made when it was killed is never believed") {
  const Place place;
  const std::vector<double> whole = told(made(0));
  for (const useconds_t after : {50'000U, 150'000U, 400'000U}) {
    const pid_t child = ::fork();
    if (child == 0) {
      const Tables tables = made(0);
      ::pause();
    }
    ::usleep(after);
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(told(made(0)) == whole);
  }
}

}  // namespace penstock::test::shared_tables_test
