// Copies a dataset's files to a folder of a store.
#pragma once

#include <functional>
#include <string>

#include <penstock/dataset.hpp>
#include <penstock/stage_options.hpp>

namespace penstock {

/// Works like stage() with the destination `address` ("s3://bucket/train"), for files on a disk. Objects that an
/// interrupted run completed, according to its journal beside them, are kept. penstock.json is sent last. The
/// checksum in penstock.json, if any, is verified for each file before its object appears.
StageResult stage_to_store(const Dataset& dataset, const std::string& address, const StageOptions& options,
                           const std::function<bool(const StageProgress&)>& tell);

}  // namespace penstock
