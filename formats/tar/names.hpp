// Maps samples to names inside a tar and back, by the WebDataset convention.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock {

struct TarMemberName {
  std::string_view key;        ///< "cat/0001"; a leading "./" is left out
  std::string_view extension;  ///< "jpg", or compound: "seg.png"
};

/// Cuts a member's name at the first dot after the last slash. Nothing when the member belongs to no sample: its base
/// name begins with a dot or has no extension.
/// Source: webdataset 0.2, tariterators.base_plus_ext; NVIDIA DALI, wds2idx.py.
std::optional<TarMemberName> split_member_name(std::string_view name);

/// The member name of a field: KEY.FIELD, percent-encoded where readers would otherwise cut it elsewhere, skip it or
/// change it: dots in the key's base name ("v1.2" -> "v1%2E2"), components "." and "..", a leading slash, slashes in
/// the field; and '%' where it would read as one of these. Penstock keeps the true key in its index; other programs see
/// the encoded one, still one to one. Throws Error: unsupported (no base name, no field, a NUL).
std::string tar_member_name(std::string_view key, std::string_view field);

}  // namespace penstock
