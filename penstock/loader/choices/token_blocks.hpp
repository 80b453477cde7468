// Makes a view of blocks of tokens: documents of varying length, cut or packed into samples of one length.
#pragma once

#include <cstdint>
#include <functional>

#include <penstock/formats/dataset.hpp>
#include <penstock/order/tokens/token_options.hpp>

namespace penstock {

/// A view whose samples are blocks of `length` tokens of the dataset's documents, as docs/tokens.md defines them.
///
/// The field keeps its name and stored dtype, and is of codec "tokens": without a chain it is delivered as int64. The
/// dataset's other fields are not the view's. Its keys are made from the dataset and the options, so that states are
/// bound to both. Lengths are read from the index; of .npy files the headers are read, once, on all cores. Takes 4 or 8
/// bytes of memory, or of temporary file, for each document (best_fit: 12 to 24), and 16 for each block.
///
/// Throws Error: invalid_argument, naming dataset, field and, where it is one, the document: no such field, no
/// integers, a document that lacks the field, no tokens at all, a length of 0 or longer than all that there is, a
/// number that the dtype does not hold, `whole` and a longer document; shape, corrupt, unsupported, where a document is
/// no list of such integers; io; what `tick` throws.
Dataset token_blocks(const Dataset& documents, std::uint64_t length, const TokenOptions& options = {},
                     const std::function<void()>& tick = {});

}  // namespace penstock
