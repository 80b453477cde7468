#include <algorithm>
#include <memory>
#include <optional>

#include <libdeflate.h>

#include <formats/filters/deflate.hpp>
#include <penstock/error.hpp>
#include <transforms/image/jpt/skeleton.hpp>

namespace penstock::jpt {
namespace {

constexpr std::uint8_t kSoi = 0xD8, kEoi = 0xD9, kSos = 0xDA, kTem = 0x01, kRst0 = 0xD0, kRst7 = 0xD7;
constexpr std::size_t kFixed = 6;  // bytes before the stored pieces
constexpr std::uint64_t kMostPlain = std::uint64_t{1} << 28;
constexpr std::uint64_t kMostRatio = 1032;  // limit of deflate

std::uint8_t at(std::span<const std::byte> bytes, std::size_t i) {
  return std::to_integer<std::uint8_t>(bytes[i]);
}

struct Marker {
  std::uint8_t code;
  std::size_t payload, end;  ///< the payload begins after the length
};

/// Returns the next marker from `from` on, or nothing if the bytes end before the marker does.
std::optional<Marker> next_marker(std::span<const std::byte> bytes, std::size_t from) {
  std::size_t i = from;
  for (;;) {
    while (i < bytes.size() && at(bytes, i) != 0xFF) ++i;
    while (i < bytes.size() && at(bytes, i) == 0xFF) ++i;
    if (i >= bytes.size()) return {};
    if (at(bytes, i) != 0) break;
  }
  const std::uint8_t code = at(bytes, i++);
  const bool alone = code == kSoi || code == kEoi || code == kTem || (code >= kRst0 && code <= kRst7);
  if (alone) return Marker{code, i, i};
  if (bytes.size() - i < 2) return {};
  const std::size_t length = static_cast<std::size_t>(at(bytes, i)) << 8 | at(bytes, i + 1);
  if (length < 2 || length > bytes.size() - i) return {};
  return Marker{code, i + 2, i + length};
}

/// Returns the end of entropy-coded data, that is the next marker that is not a restart.
std::size_t end_of_scan(std::span<const std::byte> bytes, std::size_t from) {
  for (std::size_t i = from; i + 1 < bytes.size(); ++i) {
    if (at(bytes, i) != 0xFF) continue;
    const std::uint8_t code = at(bytes, i + 1);
    if (code == 0 || (code >= kRst0 && code <= kRst7)) {
      ++i;
      continue;
    }
    return i;
  }
  return bytes.size();
}

void put(std::vector<std::byte>& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
}

std::uint32_t get(std::span<const std::byte> bytes, std::size_t from, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::to_integer<std::uint32_t>(bytes[from + i]) << (8 * i);
  return value;
}

Error bad() {
  return Error::corrupt("jpt: the data that restores the JPEG file is damaged");
}

struct FreeDeflater {
  void operator()(libdeflate_compressor* deflater) const { libdeflate_free_compressor(deflater); }
};

}  // namespace

std::span<const std::byte> Skeleton::piece(std::size_t number) const {
  const std::size_t begin = number == 0 ? 0 : ends[number - 1];
  return std::span(bytes).subspan(begin, ends[number] - begin);
}

void take_apart(std::span<const std::byte> file, Skeleton& skeleton, std::vector<std::span<const std::byte>>& scans) {
  skeleton.bytes.clear();
  skeleton.ends.clear();
  scans.clear();
  auto piece = [&](std::size_t begin, std::size_t end) {
    skeleton.bytes.insert(skeleton.bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(begin),
                          file.begin() + static_cast<std::ptrdiff_t>(end));
    skeleton.ends.push_back(static_cast<std::uint32_t>(skeleton.bytes.size()));
  };
  std::size_t begin = 0, next = 0;
  while (const auto marker = next_marker(file, next)) {
    next = marker->end;
    if (marker->code == kEoi) break;
    if (marker->code != kSos) continue;
    piece(begin, next);
    begin = end_of_scan(file, next);
    scans.push_back(file.subspan(next, begin - next));
    next = begin;
  }
  piece(begin, file.size());
}

std::vector<std::span<const std::byte>> scan_headers(const Skeleton& skeleton) {
  std::vector<std::span<const std::byte>> headers;
  for (std::size_t i = 0; i < skeleton.scans(); ++i) {
    const auto piece = skeleton.piece(i);
    std::span<const std::byte> header;
    std::size_t next = 0;
    while (const auto marker = next_marker(piece, next)) {
      next = marker->end;
      if (marker->code == kSos) header = piece.subspan(marker->payload, marker->end - marker->payload);
    }
    headers.push_back(header);
  }
  return headers;
}

void store_skeleton(const Skeleton& skeleton, bool exact, std::vector<std::byte>& out) {
  std::vector<std::byte> plain;
  put(plain, skeleton.ends.size(), 2);
  for (std::size_t i = 0; i < skeleton.ends.size(); ++i) put(plain, skeleton.piece(i).size(), 4);
  plain.insert(plain.end(), skeleton.bytes.begin(), skeleton.bytes.end());
  thread_local const std::unique_ptr<libdeflate_compressor, FreeDeflater> deflater{libdeflate_alloc_compressor(6)};
  if (!deflater) throw Error::resource("no memory for a compressor");
  std::vector<std::byte> small(plain.size());
  const std::size_t made =
      libdeflate_deflate_compress(deflater.get(), plain.data(), plain.size(), small.data(), small.size());
  put(out, exact ? 1 : 0, 1);
  put(out, made != 0 ? 1 : 0, 1);
  put(out, plain.size(), 4);
  if (made != 0)
    out.insert(out.end(), small.begin(), small.begin() + static_cast<std::ptrdiff_t>(made));
  else
    out.insert(out.end(), plain.begin(), plain.end());
}

bool load_skeleton(std::span<const std::byte> bytes, Skeleton& skeleton) {
  if (bytes.size() < kFixed || at(bytes, 0) > 1 || at(bytes, 1) > 1) throw bad();
  const std::uint64_t size = get(bytes, 2, 4);
  const std::span<const std::byte> stored = bytes.subspan(kFixed);
  const bool deflated = at(bytes, 1) == 1;
  if (size > kMostPlain || (deflated ? size > kMostRatio * stored.size() : size != stored.size())) throw bad();
  std::vector<std::byte> plain(size);
  if (deflated)
    inflate_raw(stored, plain);
  else
    std::ranges::copy(stored, plain.begin());
  if (size < 2) throw bad();
  const std::size_t pieces = get(plain, 0, 2);
  if (pieces == 0 || (size - 2) / 4 < pieces) throw bad();
  const std::uint64_t rest = size - 2 - 4 * pieces;
  skeleton.ends.clear();
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    end += get(plain, 2 + 4 * i, 4);
    if (end > rest) throw bad();
    skeleton.ends.push_back(static_cast<std::uint32_t>(end));
  }
  if (end != rest) throw bad();
  skeleton.bytes.assign(plain.end() - static_cast<std::ptrdiff_t>(rest), plain.end());
  return at(bytes, 0) == 1;
}

}  // namespace penstock::jpt
