#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/image/jpt/rans.hpp>

#include "support/simd_levels.hpp"

namespace penstock::test::rans_test {

using namespace penstock::jpt;

namespace {

using Symbols = std::vector<std::uint8_t>;

/// Symbols around zero, as signed bytes; `spread` 0: all alike.
Symbols symbols_of(std::size_t count, double spread, std::mt19937& random) {
  std::normal_distribution<double> normal(0, spread > 0 ? spread : 1);
  Symbols symbols(count);
  for (std::uint8_t& symbol : symbols)
    symbol = spread == 0 ? 7 : static_cast<std::uint8_t>(static_cast<int>(std::clamp(normal(random), -127.0, 127.0)));
  return symbols;
}

RansTable table_of(const Symbols& symbols) {
  Counts counts{};
  for (const std::uint8_t symbol : symbols) ++counts[symbol];
  return table_for(counts, true);
}

struct Coded {
  std::vector<Symbols> runs;
  std::vector<RansTable> tables;
  std::vector<std::byte> bytes;
};

Coded coded_runs(std::mt19937& random) {
  Coded coded;
  for (const std::size_t count : {0UL, 1UL, 31UL, 32UL, 33UL, 64UL, 1000UL, 4099UL, 5UL})
    for (const double spread : {0.0, 0.4, 3.0, 60.0}) coded.runs.push_back(symbols_of(count, spread, random));
  for (const Symbols& run : coded.runs) coded.tables.push_back(table_of(run));
  RansEncoder encoder;
  for (std::size_t i = 0; i < coded.runs.size(); ++i) encoder.add(coded.runs[i], coded.tables[i]);
  encoder.finish(coded.bytes);
  return coded;
}

/// How many runs come out before the bytes end; each is compared.
std::size_t decoded_runs(const Coded& coded, std::span<const std::byte> bytes, RansDecoder& decoder) {
  if (!decoder.begin(bytes)) return 0;
  SlotTable slots;
  for (std::size_t i = 0; i < coded.runs.size(); ++i) {
    build_slots(coded.tables[i], slots);
    Symbols out(coded.runs[i].size() + kRansSlack);
    if (!decoder.decode(slots, coded.runs[i].size(), out.data())) return i;
    CHECK(std::equal(coded.runs[i].begin(), coded.runs[i].end(), out.begin()));
  }
  return coded.runs.size();
}

}  // namespace

TEST_CASE("runs of symbols come back at every SIMD level, and the states end where they began") {
  std::mt19937 random(1);
  const Coded coded = coded_runs(random);
  test::at_each_level([&] {
    RansDecoder decoder;
    CHECK(decoded_runs(coded, coded.bytes, decoder) == coded.runs.size());
    CHECK(decoder.next == decoder.end);
    for (const std::uint32_t state : decoder.states) CHECK(state == kFirstState);
  });
}

TEST_CASE("the code is within 2 % of the entropy") {
  std::mt19937 random(2);
  const Symbols symbols = symbols_of(100'000, 5, random);
  Counts counts{};
  for (const std::uint8_t symbol : symbols) ++counts[symbol];
  double bits = 0;
  for (const std::uint32_t count : counts)
    if (count > 0) bits -= count * std::log2(count / 100'000.0);
  const RansTable table = table_of(symbols);
  RansEncoder encoder;
  encoder.add(symbols, table);
  std::vector<std::byte> bytes;
  encoder.finish(bytes);
  CHECK(static_cast<double>(bytes.size()) < 1.02 * bits / 8 + sizeof RansDecoder::states);
}

TEST_CASE("words that end too early are told, at every SIMD level") {
  std::mt19937 random(3);
  const Coded coded = coded_runs(random);
  test::at_each_level([&] {
    for (std::size_t size = 0; size < coded.bytes.size(); size += 1 + size / 40) {
      const std::vector<std::byte> cut(coded.bytes.begin(), coded.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      RansDecoder decoder;
      CHECK(decoded_runs(coded, cut, decoder) < coded.runs.size());
    }
  });
}

TEST_CASE("tables come back as stored, their frequencies add up, and any bytes are a table or an error") {
  std::mt19937 random(4);
  std::vector<RansTable> tables;
  for (const double spread : {0.0, 0.2, 1.0, 20.0, 90.0}) tables.push_back(table_of(symbols_of(5000, spread, random)));
  tables.push_back(RansTable{});
  RansTable all{};
  all.classes.fill(31);
  tables.push_back(all);
  all.classes.fill(1);
  all.classes[9] = 31;
  tables.push_back(all);
  for (const RansTable& table : tables) {
    int sum = 0;
    for (const std::uint16_t frequency : table.frequencies()) sum += frequency;
    CHECK(sum == (table.classes == RansTable{}.classes ? 0 : 2048));
    for (std::size_t symbol = 0; symbol < 256; ++symbol)
      CHECK((table.frequencies()[symbol] > 0) == (table.classes[symbol] > 0));
  }
  std::vector<std::byte> bytes;
  store_tables(tables, bytes);
  std::size_t bits = 0;
  for (const RansTable& table : tables) bits += stored_bits(table);
  CHECK(bytes.size() == (bits + 7) / 8);
  std::vector<RansTable> loaded(tables.size());
  CHECK(load_tables(bytes, loaded) == bytes.size());
  CHECK(loaded == tables);
  bytes.pop_back();
  CHECK_THROWS_AS(load_tables(bytes, loaded), Error);
  for (int i = 0; i < 2000; ++i) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    try {
      load_tables(bytes, std::span(loaded).first(2));
      SlotTable slots;
      build_slots(loaded[0], slots);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::corrupt);
    }
  }
}

}  // namespace penstock::test::rans_test
