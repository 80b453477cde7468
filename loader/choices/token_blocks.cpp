#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <base/cores.hpp>
#include <formats/extent.hpp>
#include <formats/extent_reader.hpp>
#include <formats/lists/number_table.hpp>
#include <formats/text/npy_header.hpp>
#include <loader/choices/sample_scan.hpp>
#include <order/tokens/blocks_of_tokens.hpp>
#include <penstock/error.hpp>
#include <penstock/select.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kFirstBytes = 256;  // of a value: enough for most .npy headers
constexpr std::uint64_t kLongestNpyHeader = std::uint64_t{1} << 20;

/// Reads the headers of .npy values. Not thread-safe.
class NpyHeaders {
 public:
  NpyHeaders(const Dataset& dataset, std::uint32_t field) : dataset_(dataset), field_(field), reader_(dataset) {}

  NpyHeader of(std::uint64_t sample) {
    if (const auto kept = dataset_.header(sample, field_); !kept.empty()) return read_npy_header(kept);
    const std::uint64_t length = dataset_.length(sample, field_);
    std::vector<std::byte> first = front(sample, std::min(length, kFirstBytes));
    const std::uint64_t wanted = header_bytes(first);
    if (wanted > first.size()) first = front(sample, std::min({length, wanted, kLongestNpyHeader}));
    return read_npy_header(first);
  }

 private:
  // Returns the length of the whole header, which its first bytes contain.
  static std::uint64_t header_bytes(std::span<const std::byte> first) {
    const auto at = [&](std::size_t i) { return std::to_integer<std::uint64_t>(first[i]); };
    if (first.size() < 12) return first.size();
    if (at(6) == 1) return 10 + (at(8) | at(9) << 8);
    return 12 + (at(8) | at(9) << 8 | at(10) << 16 | at(11) << 24);
  }

  std::vector<std::byte> front(std::uint64_t sample, std::uint64_t count) {
    dataset_.locate(sample, field_, pieces_);
    std::vector<std::byte> bytes;
    for (const Piece& piece : pieces_) {
      const std::uint64_t wanted = std::min(count - bytes.size(), piece.length);
      if (wanted == 0) break;
      if (piece.kind == Piece::Kind::bytes) {
        bytes.insert(bytes.end(), piece.inline_bytes.begin(),
                     piece.inline_bytes.begin() + static_cast<std::ptrdiff_t>(wanted));
      } else if (piece.kind == Piece::Kind::extent) {
        const std::vector<std::byte> read = reader_.beginning(piece.extent, wanted);
        if (read.size() != wanted) {
          throw Error::corrupt("file ends inside the field", {.shard = dataset_.file(piece.extent.file).path.string(),
                                                              .offset = piece.extent.offset});
        }
        bytes.insert(bytes.end(), read.begin(), read.end());
      } else {
        bytes = read_field(dataset_, sample, field_);
        bytes.resize(count);
        break;
      }
    }
    return bytes;
  }

  const Dataset& dataset_;
  const std::uint32_t field_;
  std::vector<Piece> pieces_;
  ExtentReader reader_;
};

/// Returns the header of a document and checks that it is a list of tokens.
NpyHeader document_header(const Dataset& dataset, std::uint32_t field, NpyHeaders& headers, std::uint64_t sample) {
  const NpyHeader header = headers.of(sample);
  if (header.shape.size() != 1)
    throw Error::shape("has shape " + to_string(header.shape) + ", but a document must have one dimension");
  if (header.swapped && size_of(header.dtype) > 1)
    throw Error::unsupported("its elements are big-endian; store them as little-endian, NumPy's default");
  const std::uint64_t held = dataset.length(sample, field) - header.data_begin;
  const std::uint64_t told = element_count(header.shape) * size_of(header.dtype);
  if (held != told) {
    throw Error::corrupt("npy: " + std::to_string(held) + " bytes follow the header, which declares " +
                         std::to_string(told));
  }
  return header;
}

// Returns where the tokens begin in each document's value. All documents have one dtype. The positions are stored per
// document only if they differ.
TokenBegins token_begins(const Dataset& dataset, std::uint32_t field, const std::function<void()>& tick) {
  const auto context = [&](std::uint64_t sample) {
    return ErrorContext{.dataset = dataset.path().string(),
                        .key = std::string(dataset.key(sample)),
                        .field = dataset.fields()[field].name};
  };
  const auto checked = [&](NpyHeaders& headers, std::uint64_t sample) {
    try {
      return document_header(dataset, field, headers, sample);
    } catch (const Error& error) {
      throw error.in(context(sample));
    }
  };
  NpyHeaders first_headers(dataset, field);
  const NpyHeader first = checked(first_headers, 0);
  const unsigned workers = usable_cores();
  std::vector<std::unique_ptr<NpyHeaders>> headers;
  for (unsigned worker = 0; worker < workers; ++worker) headers.push_back(std::make_unique<NpyHeaders>(dataset, field));
  auto begins = std::make_shared<NumberTable>(dataset.size(), std::numeric_limits<std::uint32_t>::max());
  std::atomic<bool> alike = true;
  const auto look = [&](unsigned worker, std::uint64_t sample) {
    const NpyHeader header = checked(*headers[worker], sample);
    if (header.dtype != first.dtype) {
      throw Error::shape("holds " + std::string(name(header.dtype)) + ", but the first document holds " +
                             std::string(name(first.dtype)),
                         context(sample));
    }
    if (header.data_begin != first.data_begin) alike.store(false, std::memory_order_relaxed);
    begins->set(sample, header.data_begin);
  };
  scan_samples(dataset.size(), workers, look, tick);
  TokenBegins found{.dtype = first.dtype, .begin = first.data_begin};
  if (!alike.load(std::memory_order_relaxed)) found.begins = std::move(begins);
  return found;
}

}  // namespace

Dataset token_blocks(const Dataset& documents, std::uint64_t length, const TokenOptions& options,
                     const std::function<void()>& tick) {
  return blocks_of_tokens(documents, length, options, token_begins, tick);
}

}  // namespace penstock
