// Writes generated files in parallel into class folders, for all workload generators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <bench/synth/workload.hpp>

namespace penstock {

/// Returns the bytes of file `number`, which belongs to class `label`. Called concurrently from several threads.
using SynthFile = std::function<std::vector<std::byte>(std::uint64_t number, std::uint32_t label)>;

/// workload.hpp states the guarantees and errors.
void synth_files(const std::filesystem::path& destination, std::string_view extension, const SynthOptions& options,
                 const SynthFile& make, const SynthProgress& progress);

}  // namespace penstock
