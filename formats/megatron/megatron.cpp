#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/index/indexed_path.hpp>
#include <formats/index/probe_stamp.hpp>
#include <formats/index/row_key.hpp>
#include <formats/io/file_bytes.hpp>
#include <formats/io/hash.hpp>
#include <formats/megatron/megatron.hpp>
#include <formats/places/header_window.hpp>
#include <formats/places/places.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTokenMagic{"MMIDIDX\0\0", 9};
constexpr std::uint64_t kTokenHeader = 34, kTokenVersion = 1;
constexpr std::uint64_t kVersionAt = 9, kDtypeAt = 17, kSequencesAt = 18, kDocumentsAt = 26;

fs::path data_of(const fs::path& idx) {
  return fs::path(idx).replace_extension(".bin");
}

bool begins_as_token_index(const fs::path& path) {
  if (!is_file(path)) return false;
  HeaderWindow file(path, path.filename().string());
  return file.size() >= kTokenMagic.size() &&
         text_of(file.read(0, kTokenMagic.size(), kTokenMagic.size())) == kTokenMagic;
}

std::optional<DType> token_dtype(std::uint8_t code) {
  constexpr std::array<std::optional<DType>, 9> kByCode{
      std::nullopt, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, std::nullopt, std::nullopt, DType::u16};
  return code < kByCode.size() ? kByCode[code] : std::nullopt;
}

// The three tables of an .idx file. The constructor checks their lengths; their content is checked when read.
class TokenIndex {
 public:
  TokenIndex(const fs::path& idx, std::string shard)
      : shard_(std::move(shard)), file_(read_place(idx)), bytes_(file_.bytes()) {
    if (text_of(bytes_.first(std::min(bytes_.size(), kTokenMagic.size()))) != kTokenMagic)
      throw corrupt("does not begin like an index of Megatron-LM", 0);
    if (bytes_.size() < kTokenHeader) throw corrupt("ends inside its header", bytes_.size());
    if (const auto version = little_endian<std::uint64_t>(bytes_, kVersionAt); version != kTokenVersion)
      throw corrupt("has version " + std::to_string(version) + "; only version 1 exists", kVersionAt);
    const auto code = little_endian<std::uint8_t>(bytes_, kDtypeAt);
    const auto dtype = token_dtype(code);
    if (!dtype) {
      throw Error::unsupported(code == 6 || code == 7
                                   ? "its elements are floating-point numbers, not tokens"
                                   : "its elements are of dtype " + std::to_string(code) + ", which does not exist",
                               {.shard = shard_, .offset = kDtypeAt});
    }
    dtype_ = *dtype;
    sequences_ = little_endian<std::uint64_t>(bytes_, kSequencesAt);
    const auto ends = little_endian<std::uint64_t>(bytes_, kDocumentsAt);
    const std::uint64_t room = bytes_.size() - kTokenHeader;
    if (sequences_ > room / 12 || ends > (room - 12 * sequences_) / 8) {
      throw corrupt("ends early: " + std::to_string(bytes_.size()) + " bytes cannot contain " +
                        std::to_string(sequences_) + " sequences and " + std::to_string(ends) + " bounds of documents",
                    sequences_ > room / 12 ? kSequencesAt : kDocumentsAt);
    }
    const std::uint64_t left = room - 12 * sequences_ - 8 * ends;
    if (left != 0 && left == sequences_) {
      throw Error::unsupported("its sequences have modes (multimodal), which are not supported",
                               {.shard = shard_, .offset = bytes_.size() - left});
    }
    if (left != 0) throw corrupt(std::to_string(left) + " bytes follow its last table", bytes_.size() - left);
    if (ends < 2) throw corrupt("contains no document", kDocumentsAt);
    documents_ = ends - 1;
    check_documents();
  }

  DType dtype() const { return dtype_; }
  std::uint64_t documents() const { return documents_; }
  std::uint64_t first_sequence(std::uint64_t document) const {
    return little_endian<std::uint64_t>(bytes_, bound_at(document));
  }
  std::int32_t tokens(std::uint64_t sequence) const { return little_endian<std::int32_t>(bytes_, length_at(sequence)); }
  std::int64_t begin(std::uint64_t sequence) const { return little_endian<std::int64_t>(bytes_, begin_at(sequence)); }

  // Returns the location of a sequence in the data file, which has `size` bytes.
  Extent extent(std::uint64_t sequence, std::uint64_t size) const {
    const std::int32_t tokens = this->tokens(sequence);
    if (tokens < 0)
      throw corrupt("sequence " + std::to_string(sequence) + " has " + std::to_string(tokens) + " tokens",
                    length_at(sequence));
    const std::uint64_t length = static_cast<std::uint64_t>(tokens) * size_of(dtype_);
    const std::int64_t begin = this->begin(sequence);
    if (begin < 0 || static_cast<std::uint64_t>(begin) > size || length > size - static_cast<std::uint64_t>(begin)) {
      throw corrupt("sequence " + std::to_string(sequence) + " has " + std::to_string(length) + " bytes at byte " +
                        std::to_string(begin) + " of its data file, which has " + std::to_string(size),
                    begin_at(sequence));
    }
    return {.file = 0, .offset = static_cast<std::uint64_t>(begin), .length = length};
  }

  Error overlapping(std::uint64_t document, std::uint64_t sequence, std::uint64_t size) const {
    return corrupt("document " + std::to_string(document) + " has more than the " + std::to_string(size) +
                       " bytes of its data file: its sequences overlap",
                   begin_at(sequence));
  }

  void require_whole() const { file_.require_whole(); }

 private:
  std::uint64_t length_at(std::uint64_t sequence) const { return kTokenHeader + 4 * sequence; }
  std::uint64_t begin_at(std::uint64_t sequence) const { return kTokenHeader + 4 * sequences_ + 8 * sequence; }
  std::uint64_t bound_at(std::uint64_t document) const { return kTokenHeader + 12 * sequences_ + 8 * document; }

  void check_documents() const {
    std::uint64_t before = 0;
    for (std::uint64_t bound = 0; bound <= documents_; ++bound) {
      const std::uint64_t sequence = first_sequence(bound);
      const bool fits = bound == 0            ? sequence == 0
                        : bound == documents_ ? sequence == sequences_
                                              : sequence >= before && sequence <= sequences_;
      if (!fits) {
        throw corrupt("document " + std::to_string(bound) + " begins at sequence " + std::to_string(sequence) +
                          ", but bounds must rise from 0 to the number of sequences, " + std::to_string(sequences_),
                      bound_at(bound));
      }
      before = sequence;
    }
  }

  Error corrupt(std::string cause, std::uint64_t offset) const {
    return Error::corrupt("megatron: " + std::move(cause), {.shard = shard_, .offset = offset});
  }

  std::string shard_;
  FileBytes file_;
  std::span<const std::byte> bytes_;
  DType dtype_{};
  std::uint64_t sequences_ = 0, documents_ = 0;
};

// Merges consecutive sequences into one extent.
void add_sequence(std::vector<Piece>& pieces, const Extent& extent) {
  if (extent.length == 0) return;
  if (!pieces.empty() && pieces.back().extent.offset + pieces.back().length == extent.offset) {
    pieces.back().extent.length += extent.length;
    pieces.back().length += extent.length;
    return;
  }
  pieces.push_back({.extent = extent, .length = extent.length, .inline_bytes = {}});
}

Index index_tokens(const fs::path& shard, const fs::path& root, const OpenProgress&) {
  const TokenIndex index(shard, indexed_path(shard, root));
  const fs::path data = data_of(shard);
  if (!is_file(data)) throw Error::io(ENOENT, "cannot open " + data.string() + ", the data file of this index");
  const std::uint64_t size = size_of_file(data);
  IndexBuilder builder;
  builder.add_file({.path = indexed_path(data, root), .size = size, .stamp = probe_stamp(data)});
  builder.add_file({.path = indexed_path(shard, root), .size = size_of_file(shard), .stamp = probe_stamp(shard)});
  const std::uint32_t tokens = builder.field({.name = "tokens", .codec = "tokens", .dtype = index.dtype()});
  const std::string name = shard.stem().string() + "/";  // prefix, because a folder may hold several
  std::vector<Piece> pieces;
  for (std::uint64_t document = 0; document < index.documents(); ++document) {
    builder.add_sample(name + row_key(document, index.documents()));
    pieces.clear();
    std::uint64_t length = 0;
    for (std::uint64_t s = index.first_sequence(document); s < index.first_sequence(document + 1); ++s) {
      const Extent extent = index.extent(s, size);
      length += extent.length;
      if (length > size) throw index.overlapping(document, s, size);
      add_sequence(pieces, extent);
    }
    builder.set(tokens, pieces);
  }
  index.require_whole();
  return std::move(builder).finish();
}

std::vector<fs::path> find_tokens(const fs::path& path) {
  if (is_file(path)) {
    const fs::path idx = fs::path(path).replace_extension(".idx");
    const bool named = path.extension() == ".idx" || path.extension() == ".bin";
    return named && begins_as_token_index(idx) ? std::vector{idx} : std::vector<fs::path>();
  }
  std::vector<fs::path> shards;
  if (!is_folder(path)) return shards;
  visit_place(path, [&](const char* name) {
    if (*name != '.' && fs::path(name).extension() == ".idx") shards.push_back(path / name);
    return true;
  });
  if (!std::ranges::all_of(shards, begins_as_token_index)) return {};
  std::ranges::sort(shards);
  return shards;
}

std::uint64_t stamp_tokens(const fs::path& shard) {
  const fs::path data = data_of(shard);
  return mix64(probe_stamp(shard) ^ (is_file(data) ? mix64(probe_stamp(data)) : 0));
}

std::vector<fs::path> watched_tokens(const fs::path& shard) {
  return {shard, data_of(shard)};
}

}  // namespace

fs::path index_of_prefix(const fs::path& prefix) {
  const fs::path idx = prefix.native() + ".idx";
  return begins_as_token_index(idx) ? idx : fs::path();
}

constinit const Format kMegatron{.name = "megatron",
                                 .extension = ".idx",
                                 .find_shards = find_tokens,
                                 .index = index_tokens,
                                 .stamp = stamp_tokens,
                                 .write = nullptr,
                                 .watched = watched_tokens};

}  // namespace penstock
