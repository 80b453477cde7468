#include <string>
#include <utility>

#include <formats/index/inline_piece.hpp>
#include <formats/index/rewritten.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

void copy_range_sums(const Index& index, std::uint64_t sample, std::uint32_t field, IndexBuilder& copy) {
  const RangeSums sums = index.range_sums(sample, field);
  std::vector<std::uint32_t> numbers;
  for (std::uint64_t range = 0; range < sums.size(); ++range) numbers.push_back(sums[range]);
  if (!numbers.empty()) copy.set_range_sums(field, numbers);
}

}  // namespace

Index rewritten(const Index& index, std::span<const FieldRewrite> rewrites, std::string_view before_keys) {
  IndexBuilder copy;
  std::vector<const FieldRewrite*> rewrite_of(index.fields().size(), nullptr);
  for (const FieldRewrite& rewrite : rewrites) rewrite_of.at(rewrite.field) = &rewrite;
  for (std::uint32_t file = 0; file < index.file_count(); ++file) copy.add_file(index.file(file));
  for (std::uint32_t field = 0; field < rewrite_of.size(); ++field)
    copy.field(rewrite_of[field] != nullptr ? rewrite_of[field]->schema : index.fields()[field]);
  for (std::uint32_t block = 0; block < index.block_count(); ++block) copy.add_block(index.block(block));
  copy.set_attributes(std::string(index.attributes()));
  std::vector<Piece> pieces;
  for (std::uint64_t sample = 0; sample < index.size(); ++sample) {
    copy.add_sample(std::string(before_keys).append(index.key(sample)));
    for (std::uint32_t field = 0; field < rewrite_of.size(); ++field) {
      if (!index.locate(sample, field, pieces)) continue;
      const std::optional<std::uint32_t> crc32c = index.crc32c(sample, field);
      if (rewrite_of[field] == nullptr) {
        copy.set(field, pieces, crc32c);
        copy.set_header(field, index.header(sample, field));
        copy_range_sums(index, sample, field, copy);
        continue;
      }
      try {
        rewrite_of[field]->value(copy, pieces, crc32c);
      } catch (const Error& error) {
        throw error.in({.key = std::string(index.key(sample)), .field = index.fields()[field].name});
      }
      copy.set(field, pieces);
    }
  }
  return std::move(copy).finish();
}

FieldRewrite::Value inline_values(std::function<std::vector<std::byte>(std::span<const std::byte> bytes)> convert) {
  return [convert = std::move(convert), made = std::vector<std::byte>()](IndexBuilder&, std::vector<Piece>& pieces,
                                                                         std::optional<std::uint32_t>) mutable {
    std::vector<std::byte> bytes;
    for (const Piece& piece : pieces) {
      if (piece.kind != Piece::Kind::bytes) throw Error::unsupported("the value is stored in a file, not in the index");
      bytes.insert(bytes.end(), piece.inline_bytes.begin(), piece.inline_bytes.end());
    }
    made = convert(bytes);
    pieces.assign(made.empty() ? 0 : 1, inline_piece(made));
  };
}

}  // namespace penstock
