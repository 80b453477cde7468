#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include <base/numbers/load.hpp>
#include <bench/measure/digest.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F, kPrime3 = 0x165667B19E3779F9,
                        kPrime4 = 0x85EBCA77C2B2AE63, kPrime5 = 0x27D4EB2F165667C5;

static_assert(std::endian::native == std::endian::little);

std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

template <typename T>
void add_values(Hash64& hash, std::span<const T> values) {
  hash.add(std::as_bytes(values));
}

// Length first, so that ("ab", "c") and ("a", "bc") differ.
void add_text(Hash64& hash, std::string_view text) {
  const std::uint64_t size = text.size();
  add_values(hash, std::span(&size, 1));
  add_values(hash, std::span(text));
}

// Copies the values of a field from a device.
void fetch(const Batch& batch, const Field& field, Device& device, std::span<std::byte> to) {
  batch.synchronize();
  const auto fetched = device.make_event();
  device.copy_out(to.data(), field.values.data, to.size(), kDefaultStream);
  fetched->record(kDefaultStream);
  fetched->wait();
}

}  // namespace

Hash64::Hash64(std::uint64_t seed)
    : seed_(seed), lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1} {}

void Hash64::consume(const std::byte* stripe) {
  for (std::size_t i = 0; i < 4; ++i) lanes_[i] = round(lanes_[i], load<std::uint64_t>(stripe + 8 * i));
}

void Hash64::add(std::span<const std::byte> bytes) {
  const std::size_t held = total_ % 32;
  total_ += bytes.size();
  if (held + bytes.size() < 32) {
    std::ranges::copy(bytes, pending_.begin() + static_cast<std::ptrdiff_t>(held));
    return;
  }
  if (held > 0) {
    const std::size_t rest = 32 - held;
    std::ranges::copy(bytes.first(rest), pending_.begin() + static_cast<std::ptrdiff_t>(held));
    consume(pending_.data());
    bytes = bytes.subspan(rest);
  }
  for (; bytes.size() >= 32; bytes = bytes.subspan(32)) consume(bytes.data());
  std::ranges::copy(bytes, pending_.begin());
}

std::uint64_t Hash64::value() const {
  std::uint64_t hash = seed_ + kPrime5;
  if (total_ >= 32) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += total_;
  std::span<const std::byte> rest(pending_.data(), total_ % 32);
  for (; rest.size() >= 8; rest = rest.subspan(8))
    hash = std::rotl(hash ^ round(0, load<std::uint64_t>(rest.data())), 27) * kPrime1 + kPrime4;
  if (rest.size() >= 4) {
    hash = std::rotl(hash ^ load<std::uint32_t>(rest.data()) * kPrime1, 23) * kPrime2 + kPrime3;
    rest = rest.subspan(4);
  }
  for (const std::byte byte : rest)
    hash = std::rotl(hash ^ std::to_integer<std::uint64_t>(byte) * kPrime5, 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

void add_batch(Hash64& hash, const Batch& batch, Device* device) {
  std::vector<std::byte> copy;
  for (const std::string_view key : batch.keys()) add_text(hash, key);
  add_values(hash, batch.valid());
  for (const Field& field : batch.fields()) {
    add_text(hash, field.name);
    add_text(hash, name(field.values.dtype));
    add_values(hash, std::span<const std::int64_t>(field.values.shape));
    add_values(hash, field.offsets);
    if (!field.shapes.empty()) add_values(hash, field.shapes);
    const auto bytes = static_cast<std::size_t>(field.values.bytes());
    if (device == nullptr) {
      hash.add({field.values.data, bytes});
      continue;
    }
    copy.resize(bytes);
    if (bytes != 0) fetch(batch, field, *device, copy);
    hash.add(copy);
  }
}

}  // namespace penstock
