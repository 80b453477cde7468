// Makes samples from blocks of tokens: pieces of documents, positions in them, and keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <formats/extent.hpp>
#include <formats/index/made_samples.hpp>
#include <formats/lists/number_table.hpp>
#include <order/tokens/documents.hpp>
#include <order/tokens/token_layout.hpp>
#include <penstock/order.hpp>

namespace penstock {

/// The tokens are pieces of the documents' values. The numbers in the other fields are at most the length of a block,
/// so these fields are pieces of one table of the numbers from 0 to that length.
class BlockSamples final : public MadeSamples {
 public:
  /// `mark` represents dataset and options; every key begins with it. Throws Error: invalid_argument, io, resource.
  BlockSamples(std::unique_ptr<const TokenDocuments> documents, std::unique_ptr<const TokenLayout> layout,
               std::uint64_t length, const TokenOptions& options, std::uint64_t mark);

  const TokenDocuments& documents() const { return *documents_; }
  std::uint64_t length_of_blocks() const { return length_; }
  const TokenOptions& options() const { return options_; }

  std::uint64_t size() const override { return layout_->blocks(); }
  std::span<const FieldSchema> fields() const override { return fields_; }
  std::string_view key(std::uint64_t sample) const override;
  std::optional<std::uint64_t> find(std::string_view key) const override;
  std::uint64_t key_hash() const override;
  void locate(std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces) const override;
  std::uint64_t length(std::uint64_t sample, std::uint32_t field) const override;

 private:
  enum class Kind : std::uint8_t { tokens, positions, segment_ids, cu_lengths };

  void add_field(Kind kind, FieldSchema schema);
  std::string written_key(std::uint64_t sample) const;
  const std::vector<TokenSegment>& segments_of(std::uint64_t sample) const;
  Piece numbers(std::uint64_t first, std::uint64_t count) const;
  Piece repeated(std::uint64_t number, std::uint64_t count) const;

  const std::unique_ptr<const TokenDocuments> documents_;
  const std::unique_ptr<const TokenLayout> layout_;  // may refer to the documents
  const std::uint64_t length_;
  const TokenOptions options_;
  const std::uint64_t number_;  // unique among the BlockSamples of this process
  const std::vector<std::byte> pad_;
  std::vector<FieldSchema> fields_;
  std::vector<Kind> kinds_;
  std::vector<std::int32_t> table_;  // 0, 1, ..., if a field needs them
  const std::string mark_;
  const std::size_t key_bytes_, key_words_;
  // The bytes of keys, written when they are first requested. Unwritten words are 0. A reader that finds a word written
  // has acquired its content.
  NumberTable keys_;
};

}  // namespace penstock
