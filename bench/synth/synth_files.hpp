// Writes generated files in parallel into class folders, for every workload generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <bench/synth/workload.hpp>

namespace penstock {

/// The bytes of file `number`, which belongs to class `label`. Called from several threads at once.
using SynthFile = std::function<std::vector<std::byte>(std::uint64_t number, std::uint32_t label)>;

/// See workload.hpp for what is promised and thrown.
void synth_files(const std::filesystem::path& destination, std::string_view extension, const SynthOptions& options,
                 const SynthFile& make, const SynthProgress& progress);

}  // namespace penstock
