// Performs the last steps of packing, which give a complete folder its name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <formats/packed/manifest.hpp>

namespace penstock {

/// Writes into `partial` the combined index, and the files that the format's own readers need beside all shards. Throws
/// Error: io; corrupt.
void complete_folder(const std::filesystem::path& partial, const Manifest& manifest);

/// Writes penstock.json into `partial` and renames that folder to `destination`. An existing folder there is replaced.
/// `marker` names the file in `partial` that marks it as unfinished. The marker is removed last. A crash after any step
/// is safe: the marker exists until the folder has its name, and a replaced dataset, which is at `partial` for a
/// moment, has no marker. Throws Error: io.
void commit_dataset(const std::filesystem::path& partial, const std::filesystem::path& destination,
                    const std::string& manifest, std::string_view marker);

/// Throws Error: invalid_argument, unless `folder` is empty or was made by `pack`. Nothing else is ever replaced or
/// removed.
void require_ours(const std::filesystem::path& folder);

/// Throws Error: invalid_argument, if something has that name, because it must not be replaced.
void require_absent(const std::filesystem::path& destination);

/// Removes a packed dataset, penstock.json last, so that the rest after a crash is still recognised as penstock's. If
/// `folder` is a link, removes only the link. Throws Error: invalid_argument, if `folder` is anything else; io.
void remove_dataset(const std::filesystem::path& folder);

/// In a copy made by `stage`, complete or not.
inline constexpr std::string_view kStageJournal = ".penstock-stage.jsonl";
/// The journal of `stage` among the objects of a store.
inline constexpr std::string_view kStoreStageJournal = "penstock.staging.jsonl";

/// "data/train/" -> "data/train"
std::filesystem::path without_slash(const std::filesystem::path& path);
/// "data/train/" -> "data/train.partial": the folder where the dataset is written.
std::filesystem::path partial_path(const std::filesystem::path& destination);

}  // namespace penstock
