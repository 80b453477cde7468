#include <transforms/image/jpt/rans.hpp>

namespace penstock::jpt {
namespace {

struct Slot {
  std::uint16_t first, frequency;
};

std::array<Slot, 256> slots_of(const RansTable& table) {
  const std::array<std::uint16_t, 256> frequencies = table.frequencies();
  std::array<Slot, 256> slots;
  std::uint16_t first = 0;
  for (std::size_t symbol = 0; symbol < 256; ++symbol) {
    slots[symbol] = {first, frequencies[symbol]};
    first = static_cast<std::uint16_t>(first + frequencies[symbol]);
  }
  return slots;
}

void put16(std::vector<std::byte>& out, std::uint32_t value) {
  out.push_back(static_cast<std::byte>(value & 0xFF));
  out.push_back(static_cast<std::byte>(value >> 8 & 0xFF));
}

}  // namespace

void RansEncoder::finish(std::vector<std::byte>& out) {
  std::array<std::uint32_t, kLanes> states;
  states.fill(kFirstState);
  words_.clear();
  const RansTable* last = nullptr;
  std::array<Slot, 256> slots{};
  // rANS decodes in reverse order of encoding, so the last symbol is encoded first.
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    if (run->table != last) slots = slots_of(*run->table);
    last = run->table;
    for (std::size_t i = run->symbols.size(); i-- > 0;) {
      const Slot slot = slots[run->symbols[i]];
      std::uint32_t& x = states[i % kLanes];
      if (x >= std::uint64_t{slot.frequency} << (32 - kProbabilityBits)) {
        words_.push_back(static_cast<std::uint16_t>(x & 0xFFFF));
        x >>= 16;
      }
      x = (x / slot.frequency << kProbabilityBits) + x % slot.frequency + slot.first;
    }
  }
  for (const std::uint32_t x : states) {
    put16(out, x & 0xFFFF);
    put16(out, x >> 16);
  }
  for (auto word = words_.rbegin(); word != words_.rend(); ++word) put16(out, *word);
}

}  // namespace penstock::jpt
