// Makes a view of blocks of tokens from documents whose headers the caller reads.
#pragma once

#include <cstdint>
#include <functional>

#include <order/tokens/documents.hpp>
#include <penstock/dataset.hpp>
#include <penstock/order.hpp>

namespace penstock {

/// Implements token_blocks(), which passes a `read` that reads .npy headers on all cores. Throws the same errors, and
/// those of `read`.
Dataset blocks_of_tokens(const Dataset& documents, std::uint64_t length, const TokenOptions& options,
                         const ReadTokenBegins& read, const std::function<void()>& tick);

}  // namespace penstock
