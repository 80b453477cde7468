// Says how blocks are made of documents of tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <penstock/formats/schema.hpp>

namespace penstock {

enum class TokenPacking : std::uint8_t {
  cut,       ///< documents one behind the other, cut every `length` tokens
  best_fit,  ///< whole documents packed into blocks with little padding
};

struct TokenOptions {
  std::string field = "tokens";  ///< a raw array of integers, or .npy
  TokenPacking packing = TokenPacking::cut;
  std::optional<DType> dtype = {};            ///< of the stored integers, where the field does not tell
  std::optional<std::int64_t> end = {};       ///< a token behind each document that has any
  std::int64_t pad = 0;                       ///< what fills a block that is not full
  bool pad_last = false;                      ///< cut: the last block is filled up; else what is left over is left out
  bool whole = false;                         ///< best_fit: a document longer than a block is an error, else it is cut
  std::uint64_t window = 100'000;             ///< best_fit: documents that are packed together
  std::optional<std::uint64_t> shuffle = {};  ///< documents in an order drawn from this seed; else in the dataset's
  bool positions = false;                     ///< a field "positions": int32, from 0 on in each document of a block
  bool segment_ids = false;                   ///< "segment_ids": int32, 1 for the first document, ..., 0 for padding
  bool cu_lengths = false;                    ///< "cu_lengths": int32, ragged: 0, and where each document ends
};

}  // namespace penstock
