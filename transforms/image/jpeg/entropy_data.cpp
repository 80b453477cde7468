#include <algorithm>
#include <cstring>

#include <transforms/image/jpeg/entropy_data.hpp>

namespace penstock::jpeg {
namespace {

constexpr unsigned kMark = 0xFF, kFirstRestart = 0xD0, kLastRestart = 0xD7;

}  // namespace

// Source: ITU-T T.81, B.1.1.5 (a zero byte follows each 0xFF of the data) and F.2.2.4.
bool EntropyData::assign(std::span<const std::byte> data) {
  if (bytes_.size() < data.size() + kSlack) bytes_.resize(data.size() + data.size() / 4 + kSlack);
  ends_.clear();
  const auto* from = reinterpret_cast<const std::uint8_t*>(data.data());
  const std::uint8_t* const end = from + data.size();
  std::uint8_t* to = bytes_.data();
  while (from < end) {
    const auto left = static_cast<std::size_t>(end - from);
    const auto* mark = static_cast<const std::uint8_t*>(std::memchr(from, kMark, left));
    const std::size_t plain = mark == nullptr ? left : static_cast<std::size_t>(mark - from);
    std::memcpy(to, from, plain);
    to += plain;
    from += plain;
    if (end - from < 2) break;
    const unsigned after = from[1];
    if (after == kMark) return false;
    if (after == 0) {
      *to++ = kMark;
    } else if (after >= kFirstRestart && after <= kLastRestart) {
      if (after - kFirstRestart != ends_.size() % 8) return false;
      ends_.push_back(static_cast<std::size_t>(to - bytes_.data()));
    } else {
      break;
    }
    from += 2;
  }
  ends_.push_back(static_cast<std::size_t>(to - bytes_.data()));
  std::fill_n(to, kSlack, std::uint8_t{0});
  return true;
}

}  // namespace penstock::jpeg
