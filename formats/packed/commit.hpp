// Does the last steps of packing, by which a complete folder takes its name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <formats/packed/manifest.hpp>

namespace penstock {

/// Writes into `partial` the combined index, and what the packing's own readers want beside all shards. Throws Error:
/// io; corrupt.
void complete_folder(const std::filesystem::path& partial, const Manifest& manifest);

/// Writes penstock.json into `partial` and renames that folder to `destination`, in whose place it comes if there is
/// one. `marker` names the file in `partial` that says it is unfinished; it goes last. Each step is safe to be the last
/// one before a crash: the marker stands until the folder has its name, and a replaced dataset, which stands at
/// `partial` for a moment, has none. Throws Error: io.
void commit_dataset(const std::filesystem::path& partial, const std::filesystem::path& destination,
                    const std::string& manifest, std::string_view marker);

/// Only what `pack` made, or nothing at all, is ever replaced or removed.
/// Throws Error: invalid_argument, when `folder` is anything else.
void require_ours(const std::filesystem::path& folder);

/// Throws Error: invalid_argument, where something has that name: it is not to be replaced.
void require_absent(const std::filesystem::path& destination);

/// Removes a packed dataset, penstock.json last: what a crash leaves of it is still known as ours. Of a link to one,
/// the link alone is removed. Throws Error: invalid_argument, when `folder` is anything else; io.
void remove_dataset(const std::filesystem::path& folder);

/// In a copy that `stage` makes, complete or not.
inline constexpr std::string_view kStageJournal = ".penstock-stage.jsonl";
/// The same among the objects of a store.
inline constexpr std::string_view kStoreStageJournal = "penstock.staging.jsonl";

/// "data/train/" -> "data/train"
std::filesystem::path without_slash(const std::filesystem::path& path);
/// "data/train/" -> "data/train.partial": where the dataset grows.
std::filesystem::path partial_path(const std::filesystem::path& destination);

}  // namespace penstock
