// Finds the block size of the shuffle that merges the most reads of a dataset in a store.
#pragma once

#include <order/order_options.hpp>
#include <order/selection.hpp>
#include <penstock/dataset.hpp>
#include <penstock/stats.hpp>
#include <storage/read/read_engine.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// Counts the requests of some batches as the engine of stores merges them (store_engine.hpp): in full shuffle, and
/// with blocks that are one request each.
/// A request batch covers one batch, which mixes kShuffleWindowBlocks blocks. A block with more samples than a batch
/// takes of each of them is therefore read in pieces. A block also has at most kLongestStoreRange bytes.
/// Takes milliseconds. Returns nothing in three cases: the dataset is not in a store, the order does not allow
/// shuffle_block, or samples share filtered blocks, which cost_of_shuffle() handles. Throws only if memory runs out.
BlockOffer block_offer(const Dataset& dataset, const Program& program, const OrderOptions& order,
                       const EngineOptions& engine, const Selection& selection);

}  // namespace penstock
