// Finds the block shuffle that joins most reads of a dataset in a store.
#pragma once

#include <order/order_options.hpp>
#include <order/selection.hpp>
#include <penstock/dataset.hpp>
#include <penstock/stats.hpp>
#include <storage/read/read_engine.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// Counts the requests of some batches, as the engine of stores joins them (store_engine.hpp), in full shuffle and with
/// blocks that are one request each. A batch is asked for at a time and mixes kShuffleWindowBlocks blocks, so a block
/// of more samples than a batch has for each of them comes in pieces; it is kept to kLongestStoreRange bytes, too.
/// Takes milliseconds. Nothing where the dataset lies in no store, where the order is none that shuffle_block could
/// replace, and where samples share filtered blocks, of which cost_of_shuffle() tells. Never throws but for lack of
/// memory.
BlockOffer block_offer(const Dataset& dataset, const Program& program, const OrderOptions& order,
                       const EngineOptions& engine, const Selection& selection);

}  // namespace penstock
