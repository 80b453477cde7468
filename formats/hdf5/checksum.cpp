#include <array>
#include <bit>
#include <cstring>

#include <formats/hdf5/checksum.hpp>

namespace penstock {
namespace {

constexpr std::size_t kStep = 12;

struct State {
  std::uint32_t a, b, c;

  void add(std::span<const std::byte> bytes) {
    std::array<std::uint32_t, 3> words{};
    std::memcpy(words.data(), bytes.data(), bytes.size());
    a += words[0];
    b += words[1];
    c += words[2];
  }
  void mix() {
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }
  void finish() {
    c ^= b, c -= std::rotl(b, 14);
    a ^= c, a -= std::rotl(c, 11);
    b ^= a, b -= std::rotl(a, 25);
    c ^= b, c -= std::rotl(b, 16);
    a ^= c, a -= std::rotl(c, 4);
    b ^= a, b -= std::rotl(a, 14);
    c ^= b, c -= std::rotl(b, 24);
  }
};

}  // namespace

std::uint32_t hdf5_checksum(std::span<const std::byte> bytes) {
  const std::uint32_t start = 0xDEADBEEF + static_cast<std::uint32_t>(bytes.size());
  State state{start, start, start};
  if (bytes.empty()) return state.c;
  for (; bytes.size() > kStep; bytes = bytes.subspan(kStep)) {
    state.add(bytes.first(kStep));
    state.mix();
  }
  state.add(bytes);
  state.finish();
  return state.c;
}

}  // namespace penstock
