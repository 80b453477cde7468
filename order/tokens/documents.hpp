// Documents of tokens: their lengths and locations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <formats/extent.hpp>
#include <formats/lists/number_table.hpp>
#include <order/permutation/permutation.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <penstock/order.hpp>

namespace penstock {

/// The beginning of the tokens in the values of .npy files, from their headers.
struct TokenBegins {
  DType dtype{};                                   ///< of all values
  std::uint64_t begin = 0;                         ///< bytes before the first token, in all values, unless:
  std::shared_ptr<const NumberTable> begins = {};  ///< by sample, if the values differ
};
/// Reads the headers of a field for all samples. Throws Error: shape, corrupt, unsupported, naming the document whose
/// value is not a list of tokens; io; also the errors of `tick`.
using ReadTokenBegins =
    std::function<TokenBegins(const Dataset& dataset, std::uint32_t field, const std::function<void()>& tick)>;

/// The documents of a dataset in the order that the options define. Immutable: any number of threads may use it.
class TokenDocuments {
 public:
  /// Reads the length of every document. Throws like token_blocks().
  TokenDocuments(Dataset dataset, const TokenOptions& options, const ReadTokenBegins& read,
                 const std::function<void()>& tick);

  const Dataset& dataset() const { return dataset_; }
  std::uint64_t size() const { return dataset_.size(); }
  DType dtype() const { return dtype_; }
  std::uint64_t tokens() const { return tokens_; }  ///< of all documents, including their end tokens
  /// Identifies the documents' keys and lengths in the dataset's order.
  std::uint64_t mark() const { return mark_; }
  std::uint64_t sample(std::uint64_t position) const { return order_ ? (*order_)(position) : position; }
  /// Number of tokens of the document at a position of the order, including its end token.
  std::uint64_t tokens(std::uint64_t position) const;
  /// The smallest number of bytes before the tokens of a value.
  std::uint64_t least_header() const;
  /// Appends pieces of `count` tokens from `first` on of that document. A piece that continues the last one of `pieces`
  /// is merged with it.
  void locate(std::uint64_t position, std::uint64_t first, std::uint64_t count, std::vector<Piece>& pieces) const;
  /// A token as it would be stored. Throws Error: invalid_argument, calling it `name`, if the dtype cannot hold it.
  std::vector<std::byte> stored(std::int64_t token, const char* name) const;

 private:
  std::uint64_t begin_of(std::uint64_t sample) const { return begins_ != nullptr ? (*begins_)[sample] : begin_; }
  std::uint64_t stored_tokens(std::uint64_t sample) const;
  void count_tokens(const std::function<void()>& tick);
  ErrorContext context(std::uint64_t sample) const;

  Dataset dataset_;
  std::uint32_t field_;
  DType dtype_{};
  std::uint64_t begin_ = 0;  // of the first token in each value, unless begins_ is set
  std::shared_ptr<const NumberTable> begins_ = {};
  std::vector<std::byte> end_;  // token appended to each document; empty: none
  std::optional<Permutation> order_;
  std::uint64_t tokens_ = 0, mark_ = 0;
};

}  // namespace penstock
