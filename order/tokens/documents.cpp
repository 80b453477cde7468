#include <algorithm>
#include <string>
#include <utility>

#include <base/printable.hpp>
#include <formats/absent_fields.hpp>
#include <formats/column.hpp>
#include <formats/encodings.hpp>
#include <formats/field_types.hpp>
#include <formats/io/hash.hpp>
#include <order/tokens/documents.hpp>
#include <transforms/elements.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kDocumentStream = 0x746f6b656e73;  // stream of the permutation: "tokens"
constexpr std::uint64_t kDocumentTick = 65'536;

std::string words_of(DType dtype) {
  return std::string(name(dtype));
}

bool is_token_dtype(DType dtype) {
  return is_integer(dtype) && dtype != DType::boolean;
}

// Appends the bytes [first, first + count) of the value that consists of the pieces `of`.
void append_slice(std::span<const Piece> of, std::uint64_t first, std::uint64_t count, std::vector<Piece>& pieces) {
  for (const Piece& whole : of) {
    if (count == 0) return;
    if (first >= whole.length) {
      first -= whole.length;
      continue;
    }
    Piece part = whole;
    part.length = std::min(whole.length - first, count);
    switch (whole.kind) {
      case Piece::Kind::extent:
        part.extent.offset += first;
        part.extent.length = part.length;
        break;
      case Piece::Kind::block:
        part.offset += first;
        break;
      case Piece::Kind::bytes:
        part.inline_bytes = whole.inline_bytes.subspan(first, part.length);
        break;
      // If the slice begins inside a repetition of the pattern, the rest of that repetition comes first.
      case Piece::Kind::fill: {
        const std::uint64_t within = whole.inline_bytes.empty() ? 0 : first % whole.inline_bytes.size();
        if (within == 0) break;
        const auto rest = whole.inline_bytes.subspan(within, std::min(whole.inline_bytes.size() - within, part.length));
        pieces.push_back({.kind = Piece::Kind::bytes, .length = rest.size(), .inline_bytes = rest});
        part.length -= rest.size();
        count -= rest.size();
        break;
      }
    }
    const bool goes_on = part.kind == Piece::Kind::extent && !pieces.empty() &&
                         pieces.back().kind == Piece::Kind::extent && pieces.back().extent.file == part.extent.file &&
                         pieces.back().extent.offset + pieces.back().length == part.extent.offset;
    if (goes_on) {
      pieces.back().extent.length += part.length;
      pieces.back().length += part.length;
    } else if (part.length != 0) {
      pieces.push_back(part);
    }
    count -= part.length;
    first = 0;
  }
}

}  // namespace

TokenDocuments::TokenDocuments(Dataset dataset, const TokenOptions& options, const ReadTokenBegins& read,
                               const std::function<void()>& tick)
    : dataset_(std::move(dataset)), field_(field_named(dataset_, options.field)) {
  const FieldSchema& schema = dataset_.fields()[field_];
  const auto refuse = [&](const std::string& why) {
    throw Error::invalid_argument(why, {.dataset = dataset_.path().string(), .field = schema.name});
  };
  if (dataset_.size() == 0) refuse("the dataset has no documents");
  require_one_codec(schema);
  if (options.dtype && !is_token_dtype(*options.dtype))
    refuse("dtype " + words_of(*options.dtype) + " is not an integer type, but tokens are integers");
  const EncodingTraits& traits = codec_traits(schema.codec);
  const bool plain_bytes = schema.codec.empty() || (traits.in_place && schema.dtype == DType::u8 && !schema.fixed);
  if (!traits.array_file && !traits.elements && !schema.codec.empty())
    refuse("its values are " + schema.codec + ", not arrays of integers; store tokens as raw or .npy");
  if (schema.codec.empty() && !options.dtype)
    refuse("the dtype of the stored tokens is unknown; pass it (dtype=\"uint16\")");
  if (traits.elements && schema.fixed && schema.shape.size() > 1)
    refuse("its values have shape " + to_string(schema.shape) + ", but a document must have one dimension");
  for (std::uint64_t sample = 0; !dataset_.complete(field_) && sample < dataset_.size(); ++sample) {
    std::vector<Piece> pieces;
    if (dataset_.locate(sample, field_, pieces)) continue;
    throw Error::invalid_argument("a document lacks the field; choose those that have it with filter(has=\"" +
                                      one_line(schema.name) + "\")" +
                                      and_why_no_field(dataset_, schema.name, dataset_.shard_of(sample)),
                                  context(sample));
  }
  dtype_ = plain_bytes && options.dtype ? *options.dtype : schema.dtype;
  if (traits.array_file) {
    TokenBegins found = read(dataset_, field_, tick);
    dtype_ = found.dtype;
    begin_ = found.begin;
    begins_ = std::move(found.begins);
  }
  if (!is_token_dtype(dtype_)) refuse("holds " + words_of(dtype_) + ", but tokens are integers");
  if (options.dtype && *options.dtype != dtype_)
    refuse("holds " + words_of(dtype_) + ", not " + words_of(*options.dtype));
  if (options.shuffle) order_.emplace(dataset_.size(), *options.shuffle, 0, kDocumentStream);
  if (options.end) end_ = stored(*options.end, "end");
  count_tokens(tick);
}

ErrorContext TokenDocuments::context(std::uint64_t sample) const {
  return {.dataset = dataset_.path().string(),
          .key = std::string(dataset_.key(sample)),
          .field = dataset_.fields()[field_].name};
}

void TokenDocuments::count_tokens(const std::function<void()>& tick) {
  const std::uint64_t element = size_of(dtype_);
  mark_ = dataset_.fingerprint();
  for (std::uint64_t sample = 0; sample < dataset_.size(); ++sample) {
    if (tick && sample % kDocumentTick == 0) tick();
    const std::uint64_t bytes = dataset_.length(sample, field_) - begin_of(sample);
    if (bytes % element != 0) {
      throw Error::shape(std::to_string(bytes) + " bytes are not a whole number of " + words_of(dtype_) + " tokens",
                         context(sample));
    }
    const std::uint64_t own = bytes == 0 ? 0 : bytes / element + (end_.empty() ? 0 : 1);
    tokens_ += own;
    mark_ = mix64(mark_ ^ own);
  }
  if (tokens_ == 0) {
    throw Error::invalid_argument("contains no tokens: all " + with_commas(dataset_.size()) + " documents are empty",
                                  {.dataset = dataset_.path().string(), .field = dataset_.fields()[field_].name});
  }
}

std::uint64_t TokenDocuments::least_header() const {
  std::uint64_t least = begin_of(0);
  for (std::uint64_t sample = 1; sample < dataset_.size(); ++sample) least = std::min(least, begin_of(sample));
  return least;
}

std::uint64_t TokenDocuments::stored_tokens(std::uint64_t sample) const {
  return (dataset_.length(sample, field_) - begin_of(sample)) / size_of(dtype_);
}

std::uint64_t TokenDocuments::tokens(std::uint64_t position) const {
  const std::uint64_t own = stored_tokens(sample(position));
  return own == 0 || end_.empty() ? own : own + 1;
}

void TokenDocuments::locate(std::uint64_t position, std::uint64_t first, std::uint64_t count,
                            std::vector<Piece>& pieces) const {
  static thread_local std::vector<Piece> all;
  // Taken out of the thread's buffer, because a document may itself be a block of such documents.
  std::vector<Piece> own = std::exchange(all, {});
  const std::uint64_t sample = this->sample(position), element = size_of(dtype_);
  dataset_.locate(sample, field_, own);
  const bool with_end = !end_.empty() && first + count > stored_tokens(sample);
  append_slice(own, begin_of(sample) + first * element, (count - (with_end ? 1 : 0)) * element, pieces);
  if (with_end) pieces.push_back({.kind = Piece::Kind::bytes, .length = end_.size(), .inline_bytes = end_});
  all = std::move(own);
}

std::vector<std::byte> TokenDocuments::stored(std::int64_t token, const char* name) const {
  std::vector<std::byte> bytes(size_of(dtype_));
  std::int64_t back = 0;
  convert_elements(reinterpret_cast<const std::byte*>(&token), DType::i64, bytes.data(), dtype_, 1);
  convert_elements(bytes.data(), dtype_, reinterpret_cast<std::byte*>(&back), DType::i64, 1);
  if (back == token) return bytes;
  throw Error::invalid_argument(std::string(name) + " is " + std::to_string(token) +
                                    ", but the dtype of the stored tokens, " + words_of(dtype_) +
                                    ", cannot represent it",
                                {.dataset = dataset_.path().string(), .field = dataset_.fields()[field_].name});
}

}  // namespace penstock
