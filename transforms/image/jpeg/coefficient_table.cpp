#include <transforms/image/jpeg/coefficient_table.hpp>

namespace penstock::jpeg {
namespace {

CoefficientPair bits_of(HuffmanEntry entry) {
  return entry & 63;
}
CoefficientPair advance_of(HuffmanEntry entry) {
  return entry >> 24;
}

}  // namespace

bool CoefficientTable::build(const HuffmanCode& code) {
  if (codes_.is_of(code, Symbols::ac)) return true;
  if (!codes_.build(code, Symbols::ac)) return false;
  for (std::uint64_t i = 0; i < pairs_.size(); ++i) {
    CoefficientPair& pair = pairs_[i];
    pair = 0;
    const std::uint64_t bits = i << (64 - kLookupBits);
    const HuffmanEntry first = codes_.at(bits);
    if (first == 0 || (first >> 8 & 31) > kLookupBits) continue;
    const unsigned size = first >> 16 & 15;
    if (size == 0 && advance_of(first) != kBlockEnd) continue;
    const auto below = static_cast<std::uint16_t>(1 - (1 << size));
    const CoefficientPair one = advance_of(first) << 8 | CoefficientPair{first >> 8 & 255} << 24 |
                                CoefficientPair{64 - size} << 32 | CoefficientPair{below} << 48;
    pair = one | bits_of(first) | advance_of(first) << 16;
    if (advance_of(first) == kBlockEnd || bits_of(first) >= kLookupBits) continue;
    const std::uint64_t behind = bits << bits_of(first);
    const HuffmanEntry second = codes_.at(behind);
    if (second == 0 || bits_of(first) + bits_of(second) > kLookupBits) continue;
    const auto value = static_cast<std::uint8_t>(number_behind(second, behind));
    pair = one | (bits_of(first) + bits_of(second)) | (advance_of(first) + advance_of(second)) << 16 |
           CoefficientPair{value} << 40;
  }
  return true;
}

}  // namespace penstock::jpeg
