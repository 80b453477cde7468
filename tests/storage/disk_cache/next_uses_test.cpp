// Tests what leaves a disk cache: as few blocks are fetched as by Belady's rule.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <list>
#include <map>
#include <set>
#include <support/stored_rows.hpp>
#include <support/temporary_folder.hpp>
#include <vector>

#include <doctest/doctest.h>

#include <formats/extent.hpp>
#include <formats/lists/number_table.hpp>
#include <loader/prepare.hpp>
#include <penstock/order.hpp>
#include <storage/disk_cache/next_use.hpp>
#include <storage/disk_cache/planned_cache.hpp>
#include <storage/disk_cache/published_plan.hpp>
#include <transforms/program/program.hpp>

namespace penstock::test::next_uses_test {
namespace {

using BlockName = std::pair<std::uint32_t, std::uint64_t>;

/// Requests for blocks, one after the other, and how many bytes they have.
struct Trace {
  std::vector<BlockName> blocks;
  std::uint64_t row_bytes = 0;
};

/// Belady's rule with the choice of not keeping: what is fetched.
std::uint64_t fewest_fetched(const std::vector<BlockName>& trace, std::size_t room) {
  constexpr std::size_t kNever = ~std::size_t{0};
  std::vector<std::size_t> next(trace.size(), kNever);
  std::map<BlockName, std::size_t> last;
  for (std::size_t i = trace.size(); i-- > 0;) {
    if (const auto found = last.find(trace[i]); found != last.end()) next[i] = found->second;
    last[trace[i]] = i;
  }
  std::set<std::pair<std::size_t, BlockName>> kept;
  std::map<BlockName, std::size_t> due;
  std::uint64_t fetched = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const auto found = due.find(trace[i]);
    if (found != due.end()) {
      kept.erase({found->second, trace[i]});
    } else {
      ++fetched;
      if (next[i] == kNever) continue;
      if (kept.size() == room) {
        const auto worst = std::prev(kept.end());
        if (worst->first <= next[i]) continue;
        due.erase(worst->second);
        kept.erase(worst);
      }
    }
    kept.insert({next[i], trace[i]});
    due[trace[i]] = next[i];
  }
  return fetched;
}

std::uint64_t fetched_by_lru(const std::vector<BlockName>& trace, std::size_t room) {
  std::list<BlockName> order;
  std::map<BlockName, std::list<BlockName>::iterator> places;
  std::uint64_t fetched = 0;
  for (const BlockName& block : trace) {
    const auto found = places.find(block);
    if (found != places.end()) {
      order.splice(order.begin(), order, found->second);
      continue;
    }
    ++fetched;
    order.push_front(block);
    places[block] = order.begin();
    if (order.size() <= room) continue;
    places.erase(order.back());
    order.pop_back();
  }
  return fetched;
}

struct Rank {
  LoaderOptions options;
  Program program;
  Selection selection;
  PlanOptions plan;
  std::unique_ptr<PlannedCache> cache;

  Rank(const Dataset& dataset, const std::filesystem::path& folder, std::uint64_t limit, LoaderOptions with)
      : options(std::move(with)),
        program(compiled(dataset, options)),
        selection(select_samples(dataset, program, order_options(options))),
        plan(plan_options(order_options(options), selection)),
        cache(std::make_unique<PlannedCache>(DiskCache::open(folder, limit), dataset, program, selection, nullptr,
                                             plan)) {}
};

struct Run {
  std::uint64_t fetched = 0, fetched_bytes = 0, wrong = 0, most_used = 0;
  Trace trace;
};

/// All ranks read epochs side by side, batch by batch, as an engine would.
Run train(const StoredRows& rows, const std::filesystem::path& folder, std::uint64_t limit, std::uint32_t world,
          std::uint64_t epochs, LoaderOptions options) {
  const Dataset dataset = rows.dataset();
  std::vector<std::unique_ptr<Rank>> ranks;
  options.world_size = world;
  for (std::uint32_t r = 0; r < world; ++r) {
    options.rank = r;
    ranks.push_back(std::make_unique<Rank>(dataset, folder, limit, options));
    ranks.back()->cache->reached({.seed = options.seed}, true);
  }
  for (const auto& rank : ranks) rank->cache->wait_planned();
  Run run;
  std::vector<std::byte> bytes, block_of;
  std::vector<Row> of_batch;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const std::uint64_t batches = Plan(ranks.front()->plan, epoch).batches();
    for (std::uint64_t b = 0; b < batches; ++b) {
      for (const auto& rank : ranks) {
        PlannedCache& cache = *rank->cache;
        cache.reached({.seed = options.seed, .epoch = epoch, .batch = b}, epoch == 0 && b == 0);
        Plan(rank->plan, epoch).batch(b, of_batch);
        for (const Row& row : of_batch) {
          const Extent& extent = rows.rows[rank->selection.sample(row.sample)];
          const std::uint64_t size = cache.block_bytes(extent.file);
          run.trace.row_bytes += extent.length;
          const std::uint64_t first = extent.offset / size, last = (extent.offset + extent.length - 1) / size;
          for (std::uint64_t block = first; block <= last; ++block) {
            run.trace.blocks.push_back({extent.file, block});
            const std::uint64_t begin = block * size, end = std::min(begin + size, rows.sizes[extent.file]);
            block_of.resize(end - begin);
            if (cache.has(extent.file, block) && cache.read(extent.file, begin, block_of)) {
              if (!StoredRows::right(extent.file, begin, block_of)) ++run.wrong;
              cache.used(extent.file, block);
              continue;
            }
            ++run.fetched;
            run.fetched_bytes += end - begin;
            StoredRows::fill(extent.file, begin, block_of);
            cache.keep(extent.file, block, block_of);
          }
        }
        run.most_used = std::max(run.most_used, cache.stats().used);
      }
    }
  }
  return run;
}

std::uint64_t blocks_bytes(const StoredRows& rows, std::uint64_t size) {
  std::uint64_t blocks = 0;
  for (const std::uint64_t bytes : rows.sizes) blocks += (bytes + size - 1) / size;
  return blocks * (size + 16);
}

}  // namespace

TEST_CASE("ten epochs of a full shuffle fetch hardly more blocks than Belady's rule") {
  const StoredRows rows(3, 700, 32 << 10);
  for (const std::uint32_t world : {1U, 2U}) {
    for (const int percent : {25, 50, 75}) {
      CAPTURE(world);
      CAPTURE(percent);
      const TemporaryFolder folder;
      const std::uint64_t all = blocks_bytes(rows, 4096), tables = 1 << 20;
      const std::uint64_t limit = tables + all * static_cast<std::uint64_t>(percent) / 100;
      const Run run = train(rows, folder / "cache", limit, world, 10, {.batch_size = 16, .shuffle = true, .seed = 7});
      CHECK(run.wrong == 0);
      CHECK(run.most_used <= limit);
      // Whole blocks have hardly more bytes than the rows, even where no cache had any of them.
      CHECK(static_cast<double>(run.trace.blocks.size() * 4096) <= 1.25 * static_cast<double>(run.trace.row_bytes));
      // What tables and plans take is not there for blocks.
      std::uint64_t kept = 0;
      for (const CachedObjectInfo& object : DiskCache::open(folder / "cache", 0)->objects()) kept += object.kept;
      const std::uint64_t room = kept / 4096;
      const std::uint64_t fewest = fewest_fetched(run.trace.blocks, room), lru = fetched_by_lru(run.trace.blocks, room);
      std::printf("%u ranks, %d %%: %llu blocks of %zu fetched, Belady %llu (%.4f), LRU %llu (%.2f)\n", world, percent,
                  static_cast<unsigned long long>(run.fetched), run.trace.blocks.size(),
                  static_cast<unsigned long long>(fewest),
                  static_cast<double>(run.fetched) / static_cast<double>(fewest), static_cast<unsigned long long>(lru),
                  static_cast<double>(lru) / static_cast<double>(fewest));
      CHECK(static_cast<double>(run.fetched) <= 1.02 * static_cast<double>(fewest));
    }
  }
}

namespace {

/// What the plan itself says, batch by batch, beside what is computed from the side of the blocks.
void check_outlook(const StoredRows& rows, LoaderOptions options, const Position& from, std::uint64_t batches,
                   bool walks, std::uint64_t longest_list = 1 << 25) {
  const Dataset dataset = rows.dataset();
  const Program program = compiled(dataset, options);
  const Selection selection = select_samples(dataset, program, order_options(options));
  const PlanOptions plan_of = plan_options(order_options(options), selection);
  constexpr std::uint64_t kBlock = 16384;
  const auto next = NextUse::make({.dataset = dataset,
                                   .program = program,
                                   .selection = selection,
                                   .block_bytes = [](std::uint32_t) { return kBlock; },
                                   .longest_list = longest_list},
                                  plan_of, {});
  next->go_to(from);
  if (walks) next->look_ahead(next->step_of(from), true, [](const BlockRun&, std::uint64_t) {}, {});
  struct Use {
    std::uint64_t first, end;  // steps of the batch
    BlockName block;
  };
  std::vector<Use> uses;
  Position at = from;
  std::vector<Row> of_batch;
  std::uint64_t before = 0;
  for (std::uint64_t b = 0; b < batches; ++b) {
    Plan plan = at.plan(plan_of);
    if (!plan.has(at.batch)) {
      at = at.first_of(at.epoch + 1);
      plan = at.plan(plan_of);
    }
    plan.batch(at.batch, of_batch);
    const std::uint64_t step = next->step_of(at);
    REQUIRE(step != NextUse::kNever);
    CHECK(step >= before);
    before = step + of_batch.size();
    for (const Row& row : of_batch) {
      if (!row.valid) continue;
      const Extent& extent = rows.rows[selection.sample(row.sample)];
      for (std::uint64_t block = extent.offset / kBlock; block <= (extent.offset + extent.length - 1) / kBlock; ++block)
        uses.push_back({step, step + of_batch.size(), {extent.file, block}});
    }
    ++at.batch;
  }
  std::uint64_t compared = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const auto found = std::find_if(uses.begin(), uses.end(), [&](const Use& use) {
      return use.block == uses[i].block && use.first >= uses[i].end;
    });
    if (found == uses.end()) continue;
    const std::uint64_t told = next->at(uses[i].block.first, uses[i].block.second, uses[i].end);
    ++compared;
    CHECK(told >= found->first);
    CHECK(told < found->end);
  }
  CHECK(compared > 20);
}

}  // namespace

TEST_CASE("what is said of a block's next use is what the plan does") {
  const StoredRows rows(2, 150, 20 << 10);
  const std::uint64_t batches = 150;
  SUBCASE("in order") {
    check_outlook(rows, {.batch_size = 8}, {}, batches, false);
  }
  SUBCASE("a full shuffle") {
    check_outlook(rows, {.batch_size = 8, .shuffle = true, .seed = 3}, {.seed = 3}, batches, false);
  }
  SUBCASE("ranks") {
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      check_outlook(rows, {.batch_size = 8, .shuffle = true, .seed = 3, .rank = rank, .world_size = 3}, {.seed = 3},
                    batches, false);
  }
  SUBCASE("what does not fill a batch is left out") {
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      check_outlook(rows, {.batch_size = 7, .shuffle = true, .last_batch = Last::drop, .rank = rank, .world_size = 2},
                    {}, batches, false);
  }
  SUBCASE("blocks") {
    LoaderOptions options{.batch_size = 8, .shuffle = true};
    options.shuffle_block = 7;
    check_outlook(rows, options, {.shuffle_block = 7}, batches, false);
  }
  SUBCASE("windows of a shuffle") {
    LoaderOptions options{.batch_size = 8, .shuffle = true};
    options.shuffle_window = 50;
    check_outlook(rows, options, {}, batches, false);
  }
  SUBCASE("from the middle of an epoch, of another order") {
    check_outlook(rows, {.batch_size = 8, .shuffle = true}, {.seed = 99, .epoch = 4, .start = 77, .batch = 2}, batches,
                  false);
  }
  SUBCASE("some of the samples, and some twice") {
    LoaderOptions options{.batch_size = 8, .shuffle = true};
    options.subset.emplace();
    for (std::uint64_t i = 0; i < 100; ++i) options.subset->push_back(i * 3 % 290);
    check_outlook(rows, options, {}, batches, false);
  }
  SUBCASE("long lists, which are walked through") {
    check_outlook(rows, {.batch_size = 8, .shuffle = true, .seed = 3}, {.seed = 3}, batches, true, 299);
  }
  SUBCASE("draws by weights, which are walked through") {
    LoaderOptions options{.batch_size = 8, .shuffle = true};
    auto weights = std::make_shared<NumberTable>(300, ~std::uint64_t{0});
    for (std::uint64_t i = 0; i < 300; ++i)
      weights->set(i, std::bit_cast<std::uint64_t>(static_cast<double>(1 + i % 5)));
    options.sampler = std::make_shared<const Draws>(Draws{.numbers = weights, .about = "weights"});
    check_outlook(rows, options, {}, batches, true);
  }
}

TEST_CASE("a training that goes on for many epochs knows of those to come") {
  const StoredRows rows(1, 64, 20 << 10);
  const Dataset dataset = rows.dataset();
  const LoaderOptions options{.batch_size = 8, .shuffle = true};
  const Program program = compiled(dataset, options);
  const Selection selection = select_samples(dataset, program, order_options(options));
  const auto next = NextUse::make({.dataset = dataset,
                                   .program = program,
                                   .selection = selection,
                                   .block_bytes = [](std::uint32_t) { return std::uint64_t{4096}; }},
                                  plan_options(order_options(options), selection), {});
  for (std::uint64_t epoch = 0; epoch < 200; ++epoch) {
    const std::uint64_t from = next->step_of({.epoch = epoch});
    next->look_ahead(from, false, [](const BlockRun&, std::uint64_t) {}, {});
    CHECK(next->at(0, 1, from) < from + 64);
  }
}

namespace {

/// A plan as it stands in the folder, seen from beside its loader.
struct Seen {
  explicit Seen(const std::filesystem::path& path)
      : folder(path, 0, [](const CacheFolder&) { return std::uint64_t{0}; }) {
    for (const auto& entry : std::filesystem::directory_iterator(path / "plans"))
      view = PlanView::open(folder, entry.path().filename());
    REQUIRE(view != nullptr);
  }
  /// Blocks of an object of which it is told when they are wanted.
  std::uint64_t told(const StoredRows& rows, std::uint32_t object) const {
    const auto stored = rows.shards[object].objects.front();
    const std::uint64_t count = (rows.sizes[object] + 4095) / 4096;
    const std::uint32_t* const entries = view->entries(CachedObjectId::of(*stored), count);
    REQUIRE(entries != nullptr);
    return static_cast<std::uint64_t>(std::count_if(entries, entries + count, [](std::uint32_t e) { return e != 0; }));
  }
  CacheFolder folder;
  std::shared_ptr<PlanView> view;
};

}  // namespace

TEST_CASE("what is told goes on from epoch to epoch, and elsewhere in the same order it is not forgotten") {
  const StoredRows rows(1, 20'000, 4'000);
  const Dataset dataset = rows.dataset();
  const TemporaryFolder folder;
  Rank rank(dataset, folder / "cache", 64 << 20, {.batch_size = 20, .shuffle = true, .seed = 7});
  PlannedCache& cache = *rank.cache;
  cache.reached({.seed = 7}, true);
  cache.wait_planned();
  const Seen seen(folder / "cache");
  const std::uint64_t blocks = seen.told(rows, 0);
  CHECK(blocks > 19'000);
  cache.reached({.seed = 7, .batch = 999}, false);
  CHECK(seen.view->now() == 999 * 20);
  cache.reached({.seed = 7, .epoch = 1}, false);
  CHECK(seen.view->now() == 20'000);
  cache.reached({.seed = 7, .epoch = 1, .batch = 3}, false);
  const auto never_less = [&] {
    std::uint64_t fewest = blocks;
    for (const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
         std::chrono::steady_clock::now() < until;)
      fewest = std::min(fewest, seen.told(rows, 0));
    return fewest == blocks;
  };
  cache.reached({.seed = 7, .epoch = 1}, true);  // the epoch again, as set_epoch() has it
  CHECK(seen.view->now() == 20'000);
  CHECK(never_less());
  cache.wait_planned();
  // Far ahead: what was passed over is told anew.
  cache.reached({.seed = 7, .epoch = 1, .batch = 500}, true);
  CHECK(never_less());
  cache.wait_planned();
  const std::uint32_t now = seen.view->now_told();
  const std::uint32_t* const entries =
      seen.view->entries(CachedObjectId::of(*rows.shards[0].objects.front()), (rows.sizes[0] + 4095) / 4096);
  CHECK(std::count_if(entries, entries + blocks,
                      [&](std::uint32_t entry) { return seen.view->away(entry, now) == PlanView::kFar; }) < 1000);
  // Another order: nothing of the last one stays.
  cache.reached({.seed = 8}, true);
  cache.wait_planned();
  CHECK(seen.told(rows, 0) == blocks);
  Rank fresh(dataset, folder / "other", 64 << 20, {.batch_size = 20, .shuffle = true, .seed = 8});
  fresh.cache->reached({.seed = 8}, true);
  fresh.cache->wait_planned();
  const Seen expected(folder / "other");
  CHECK(std::equal(
      entries, entries + blocks,
      expected.view->entries(CachedObjectId::of(*rows.shards[0].objects.front()), (rows.sizes[0] + 4095) / 4096)));
}

}  // namespace penstock::test::next_uses_test
