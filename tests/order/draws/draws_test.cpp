// Tests the orders in which samples do not come once each: by weights, by repeats, and each class as often.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <formats/lists/number_table.hpp>
#include <order/cursor.hpp>
#include <order/draws/draw_order.hpp>
#include <order/draws/drawn_once.hpp>
#include <order/draws/part_table.hpp>
#include <order/permutation/permutation_rounds.hpp>
#include <order/plan.hpp>
#include <penstock/error.hpp>
#include <penstock/sampling.hpp>

namespace penstock::test::draws_test {
namespace {

using Numbers = std::vector<std::uint64_t>;

DrawOrder::Listed listed(std::uint64_t count) {
  return {.count = count,
          .sample = [](std::uint64_t entry) { return entry; },
          .key = [](std::uint64_t sample) { return "key" + std::to_string(sample); }};
}

std::shared_ptr<const DrawOrder> order_of(Draws::Kind kind, const std::vector<double>& numbers,
                                          std::uint64_t samples = 0) {
  return std::make_shared<const DrawOrder>(drawn_by(kind, numbers, samples), listed(numbers.size()));
}

std::shared_ptr<const DrawOrder> balance_of(const Numbers& classes, std::uint64_t samples = 0) {
  auto table = std::make_shared<NumberTable>(classes.size(), classes.size());
  for (std::size_t i = 0; i < classes.size(); ++i) table->set(i, classes[i]);
  return std::make_shared<const DrawOrder>(
      Draws{.kind = Draws::Kind::balanced, .numbers = table, .samples = samples, .about = "balance=\"cls\""},
      listed(classes.size()));
}

std::vector<DrawnRow> epoch_of(const std::shared_ptr<const DrawOrder>& order, std::uint64_t seed, std::uint64_t epoch,
                               bool shuffle = true) {
  DrawEpoch drawn(order, {.shuffle = shuffle, .seed = seed}, epoch);
  std::vector<DrawnRow> rows;
  for (std::uint64_t position = 0; position < order->length(); ++position) rows.push_back(drawn.row_at(position));
  return rows;
}

Numbers counts_of(const std::vector<DrawnRow>& rows, std::uint64_t entries) {
  Numbers counts(entries, 0);
  for (const DrawnRow& row : rows) ++counts[row.entry];
  return counts;
}

std::string refusal(const auto& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every part is its entry's") {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    Numbers parts(1 + random() % 60);
    for (std::uint64_t& own : parts) own = random() % 3 == 0 ? 0 : random() % (trial % 2 == 0 ? 5 : 200);
    parts[random() % parts.size()] = 1 + random() % 1000;
    const PartTable table(parts.size(), [&](std::uint64_t entry) { return parts[entry]; });
    std::uint64_t part = 0;
    for (std::uint64_t entry = 0; entry < parts.size(); ++entry) {
      REQUIRE(table.begin(entry) == part);
      for (std::uint64_t i = 0; i < parts[entry]; ++i) REQUIRE(table.entry_of(part++) == entry);
    }
    REQUIRE(table.total() == part);
  }
}

TEST_CASE("repeats come as often as they say, each told apart") {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 100; ++trial) {
    const bool whole = trial % 2 == 0;
    std::vector<double> repeats(1 + random() % 40);
    for (double& number : repeats) number = static_cast<double>(random() % (whole ? 4 : 4000)) / (whole ? 1 : 1000);
    repeats.back() = 2;
    double sum = 0;
    for (const double number : repeats) sum += number;
    const auto order = order_of(Draws::Kind::repeated, repeats);
    for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
      const auto rows = epoch_of(order, 7, epoch, trial % 3 != 0);
      const Numbers counts = counts_of(rows, repeats.size());
      std::set<std::pair<std::uint64_t, std::uint32_t>> times;
      for (const DrawnRow& row : rows) {
        REQUIRE(row.occurrence < counts[row.entry]);
        times.emplace(row.entry, row.occurrence);
      }
      CHECK(times.size() == rows.size());
      for (std::size_t i = 0; i < repeats.size(); ++i) {
        const double exact = repeats[i] * static_cast<double>(order->length()) / sum;
        REQUIRE(std::abs(static_cast<double>(counts[i]) - exact) < (whole ? 1e-9 : 1));
      }
    }
  }
}

TEST_CASE("fractions of repeats are made up over epochs") {
  const auto order = order_of(Draws::Kind::repeated, {0.25, 1.5, 2, 0.25});
  REQUIRE(order->length() == 4);
  Numbers all(4, 0);
  constexpr int kEpochs = 4000;
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const Numbers counts = counts_of(epoch_of(order, 1, epoch), 4);
    CHECK(counts[2] == 2);
    for (std::size_t i = 0; i < 4; ++i) all[i] += counts[i];
  }
  CHECK(static_cast<double>(all[0]) / kEpochs == doctest::Approx(0.25).epsilon(0.1));
  CHECK(static_cast<double>(all[1]) / kEpochs == doctest::Approx(1.5).epsilon(0.03));
}

TEST_CASE("an entry of half a repeat comes about every other epoch") {
  const auto order = order_of(Draws::Kind::repeated, std::vector<double>(30, 0.5));
  REQUIRE(order->length() == 15);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Numbers visits(30, 0), last(30, 0);
    for (std::uint64_t epoch = 0; epoch < 40; ++epoch) {
      const Numbers counts = counts_of(epoch_of(order, seed, epoch), 30);
      for (std::size_t i = 0; i < 30; ++i) {
        visits[i] += counts[i];
        if (counts[i] > 0) last[i] = epoch + 1;
        REQUIRE(epoch + 1 - last[i] <= 3);
      }
    }
    for (const std::uint64_t count : visits) REQUIRE((count >= 18 && count <= 22));
  }
}

TEST_CASE("weights with replacement are frequencies, and each position draws for itself") {
  const std::vector<double> weights{1, 0, 3, 6};
  const auto order = order_of(Draws::Kind::weighted, weights, 100'000);
  const auto rows = epoch_of(order, 3, 0);
  const Numbers counts = counts_of(rows, 4);
  CHECK(counts[1] == 0);
  for (const std::size_t i : {0U, 2U, 3U})
    CHECK(static_cast<double>(counts[i]) == doctest::Approx(weights[i] * 10'000).epsilon(0.03));
  std::uint64_t pairs = 0;  // of neighbours that are alike: 0.01 + 0.09 + 0.36
  for (std::size_t i = 1; i < rows.size(); ++i) pairs += rows[i].entry == rows[i - 1].entry ? 1U : 0U;
  CHECK(static_cast<double>(pairs) == doctest::Approx(46'000).epsilon(0.03));
  CHECK(counts_of(epoch_of(order, 3, 1), 4) != counts);
}

TEST_CASE("weights without replacement give each sample once, heavier ones sooner") {
  const std::vector<double> weights{1, 2, 0, 3, 4};
  const auto order = order_of(Draws::Kind::once, weights);
  REQUIRE(order->length() == 4);
  Numbers first(5, 0), second_behind_4(5, 0);
  constexpr std::uint64_t kEpochs = 20'000;
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const auto rows = epoch_of(order, 9, epoch);
    REQUIRE(counts_of(rows, 5) == Numbers{1, 1, 0, 1, 1});
    ++first[rows[0].entry];
    if (rows[0].entry == 4) ++second_behind_4[rows[1].entry];
  }
  for (const std::size_t i : {0U, 1U, 3U, 4U})
    CHECK(static_cast<double>(first[i]) / kEpochs == doctest::Approx(weights[i] / 10).epsilon(0.06));
  for (const std::size_t i : {0U, 1U, 3U})  // of those that are left
    CHECK(static_cast<double>(second_behind_4[i]) / static_cast<double>(first[4]) ==
          doctest::Approx(weights[i] / 6).epsilon(0.08));
  CHECK(order_of(Draws::Kind::once, weights, 3)->length() == 3);
  CHECK(refusal([&] { order_of(Draws::Kind::once, weights, 5); }).find("4 samples have a weight above 0") !=
        std::string::npos);
}

TEST_CASE("many samples without replacement come in the order of their times, which are sorted by stretches") {
  constexpr std::uint64_t kMany = 300'000;
  std::vector<double> weights(kMany);
  for (std::uint64_t i = 0; i < kMany; ++i) weights[i] = static_cast<double>(i % 5);
  const auto order = order_of(Draws::Kind::once, weights);
  const auto rows = epoch_of(order, 2, 1);
  const std::uint64_t key = order_key(2, 1, 0x6f6e6365);
  std::vector<bool> met(kMany, false);
  double before = 0;
  for (const DrawnRow& row : rows) {
    REQUIRE_FALSE(met[row.entry]);
    met[row.entry] = true;
    const double drawn = static_cast<double>(mix(key + row.entry * kGolden) | 1) * 0x1p-64;
    const double time = -std::log2(drawn) / weights[row.entry];
    REQUIRE(time >= before * (1 - 1e-6) - 1e-9);
    before = time;
  }
  CHECK(rows.size() == kMany * 4 / 5);
}

TEST_CASE("waiting times are those of the squares, near whole units too") {
  std::mt19937_64 random(8);
  for (int i = 0; i < 300'000; ++i) {
    const std::uint64_t draw = random() >> (i % 4 == 0 ? random() % 64 : 0);
    REQUIRE(waiting_time(draw) == waiting_time_by_squares(draw));
  }
  constexpr std::uint64_t kUnits = std::uint64_t{1} << 32;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const std::uint64_t wanted = i < 1000 ? 1 + i : i < 2000 ? kUnits - (i - 1000) : 1 + random() % kUnits;
    std::uint64_t low = std::uint64_t{1} << 63, high = ~std::uint64_t{0};  // the first draw that waits no longer
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (waiting_time_by_squares(middle) <= wanted) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    for (std::uint64_t draw = low - 8; draw != low + 8; ++draw)
      REQUIRE(waiting_time(draw) == waiting_time_by_squares(draw));
  }
}

TEST_CASE("an epoch without replacement is sorted by its times, and a part of it is its beginning") {
  for (const std::uint64_t count : std::initializer_list<std::uint64_t>{300, 65'536, 65'537, 400'000}) {
    std::vector<double> weights(count);
    for (std::uint64_t i = 0; i < count; ++i)
      weights[i] = i % 5 == 0 ? 0 : i % 7 == 0 ? 1e-18 : static_cast<double>(1 + (i * i) % 9);
    const auto rows = epoch_of(order_of(Draws::Kind::once, weights), 3, 1);
    CHECK(rows.size() == count - (count + 4) / 5);
    double sum = 0;
    for (const double weight : weights) sum += weight;
    std::vector<std::pair<double, std::uint64_t>> times;
    for (std::uint64_t entry = 0; entry < count; ++entry) {
      if (weights[entry] == 0) continue;
      const double own = std::max(1.0, std::floor(weights[entry] * (0x1p60 / sum) + 0.5));
      const std::uint64_t wait = waiting_time_by_squares(mix(order_key(3, 1, 0x6f6e6365) + entry * kGolden));
      times.emplace_back(static_cast<double>(wait) / own, entry);
    }
    std::ranges::sort(times);
    for (std::uint64_t i = 0; i < rows.size(); ++i) REQUIRE(rows[i].entry == times[i].second);
    for (const std::uint64_t some : {std::uint64_t{1}, count / 3, count / 2}) {
      const auto first = epoch_of(order_of(Draws::Kind::once, weights, some), 3, 1);
      REQUIRE(first.size() == some);
      for (std::uint64_t i = 0; i < some; ++i) REQUIRE(first[i].entry == rows[i].entry);
    }
  }
}

TEST_CASE("classes in balance: each once a round, all of a class before one comes again") {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 60; ++trial) {
    const std::uint64_t classes = 1 + random() % 7;
    Numbers of(classes + random() % 60);
    for (std::size_t i = 0; i < of.size(); ++i) of[i] = i < classes ? i : random() % classes;
    const auto order = balance_of(of, 1 + random() % 200);
    std::vector<Numbers> given(classes);
    Numbers in_order;  // classes, over epochs
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      const auto rows = epoch_of(order, 5, epoch, trial % 3 != 0);
      std::set<std::pair<std::uint64_t, std::uint32_t>> times;
      for (const DrawnRow& row : rows) {
        in_order.push_back(of[row.entry]);
        given[of[row.entry]].push_back(row.entry);
        REQUIRE(times.emplace(row.entry, row.occurrence).second);
      }
    }
    for (std::size_t r = 0; (r + 1) * classes <= in_order.size(); ++r) {
      const auto begin = in_order.begin() + static_cast<std::ptrdiff_t>(r * classes);
      REQUIRE(std::set(begin, begin + static_cast<std::ptrdiff_t>(classes)).size() == classes);
    }
    for (std::uint64_t c = 0; c < classes; ++c) {
      const auto count = static_cast<std::size_t>(std::ranges::count(of, c));
      for (std::size_t pass = 0; (pass + 1) * count <= given[c].size(); ++pass) {
        const auto begin = given[c].begin() + static_cast<std::ptrdiff_t>(pass * count);
        REQUIRE(std::set(begin, begin + static_cast<std::ptrdiff_t>(count)).size() == count);
      }
    }
  }
}

TEST_CASE("windows are shuffled inside, and keep their places") {
  const SampleOrder order({.samples = 103, .shuffle = true, .shuffle_window = 10, .seed = 1}, 4);
  std::vector<std::uint64_t> samples(103);
  order.list(0, samples);
  std::set<std::uint64_t> all(samples.begin(), samples.end());
  CHECK(all.size() == 103);
  bool moved = false;
  for (std::uint64_t position = 0; position < 103; ++position) {
    REQUIRE(samples[position] / 10 == position / 10);
    REQUIRE(samples[position] < 103);
    REQUIRE(samples[position] == order.sample_at(position));
    moved = moved || samples[position] != position;
  }
  CHECK(moved);
  CHECK(SampleOrder({.samples = 103, .shuffle = true, .shuffle_window = 10, .seed = 1}, 5).sample_at(7) !=
        order.sample_at(7));
}

TEST_CASE("numbers that cannot be are told with their sample") {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (const double bad : {-1.0, nan, infinite}) {
    const std::string told = refusal([&] { order_of(Draws::Kind::weighted, {1, bad, 2}); });
    CHECK(told.find("weights: sample 1 has ") != std::string::npos);
    CHECK(told.find("key1") != std::string::npos);
  }
  CHECK(refusal([] { order_of(Draws::Kind::weighted, {0, 0}); }).find("all numbers are 0") != std::string::npos);
  CHECK(refusal([] { order_of(Draws::Kind::weighted, {1e308, 1e308}); }).find("too large") != std::string::npos);
  CHECK(refusal([] { order_of(Draws::Kind::weighted, {1e-320, 0}); }).find("too small") != std::string::npos);
  CHECK(refusal([] { order_of(Draws::Kind::repeated, {2e6}); }).find("from 0 to 1048576") != std::string::npos);
  CHECK(refusal([] { order_of(Draws::Kind::weighted, {1}, ~std::uint64_t{0}); }).find("2^48") != std::string::npos);
}

TEST_CASE("a state says what is drawn, and goes on with nothing else") {
  const auto options = [](std::shared_ptr<const DrawOrder> draws, std::uint64_t window = 0) {
    const std::uint64_t samples = draws != nullptr ? draws->length() : 4;
    return PlanOptions{
        .samples = samples, .shuffle = true, .shuffle_window = window, .batch_size = 1, .draws = std::move(draws)};
  };
  const auto saved = [](const PlanOptions& plan) {
    Cursor cursor(plan, std::nullopt, 0);
    cursor.advance();
    cursor.delivered();
    return LoaderState::from_json(cursor.save(1, "").to_json());
  };
  const auto same = options(order_of(Draws::Kind::weighted, {1, 2, 3, 4}));
  const LoaderState state = saved(same);
  REQUIRE(state.order.has_value());
  REQUIRE(state.order->draws.has_value());
  CHECK(Cursor(same, std::nullopt, 0).load(state, 1, "").position.batch == 1);
  const auto told = [&](const PlanOptions& other) {
    return refusal([&] { Cursor(other, std::nullopt, 0).load(state, 1, ""); });
  };
  CHECK(told(options(order_of(Draws::Kind::weighted, {1, 2, 3, 5}))).find("from other numbers") != std::string::npos);
  CHECK(told(options(order_of(Draws::Kind::once, {1, 2, 3, 4}))).find("without replacement") != std::string::npos);
  CHECK(told(options(nullptr)).find("each sample once") != std::string::npos);
  const LoaderState plain = saved(options(nullptr));
  CHECK(plain.to_json().find("draws") == std::string::npos);
  CHECK(plain.to_json().find("shuffle_window") == std::string::npos);
  const auto windowed = options(nullptr, 2);
  CHECK(Cursor(windowed, std::nullopt, 0).load(saved(windowed), 1, "").position.batch == 1);
  CHECK(refusal([&] { Cursor(same, std::nullopt, 0).load(plain, 1, ""); }).find("each sample once") !=
        std::string::npos);
  CHECK(refusal([&] { Cursor(options(nullptr, 2), std::nullopt, 0).load(plain, 1, ""); }).find("shuffle_window=2") !=
        std::string::npos);
}

}  // namespace penstock::test::draws_test
