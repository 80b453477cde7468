// Copies a dataset's files to a folder of a store.
#pragma once

#include <functional>
#include <string>

#include <penstock/dataset.hpp>
#include <penstock/stage_options.hpp>

namespace penstock {

/// As stage(), where the destination is `address` ("s3://bucket/train"), of files on a disk. Objects that an
/// interrupted run left whole, by its journal beside them, are kept, and penstock.json is sent last. Each file's bytes
/// are compared with the checksum that penstock.json has of it before its object appears.
StageResult stage_to_store(const Dataset& dataset, const std::string& address, const StageOptions& options,
                           const std::function<bool(const StageProgress&)>& tell);

}  // namespace penstock
