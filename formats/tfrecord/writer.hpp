// Writes one TFRecord shard of tf.train.Example messages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include <formats/writer.hpp>

namespace penstock {

/// Creates `path`, which must not exist. tfrecord.hpp lists the errors of add().
std::unique_ptr<ShardWriter> write_tfrecord(const std::filesystem::path& path, const ShardOptions& options);

/// Counts name, value and tags, and a share of the record and its key.
std::uint64_t tfrecord_room(std::string_view key, std::string_view field, std::uint64_t length);

}  // namespace penstock
