// Maps samples to names inside a tar and back, by the WebDataset convention.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock {

struct TarMemberName {
  std::string_view key;        ///< "cat/0001", without a leading "./"
  std::string_view extension;  ///< "jpg", or compound: "seg.png"
};

/// Splits a member's name at the first dot after the last slash. Returns nothing if the member belongs to no sample:
/// its base name begins with a dot or has no extension. Source: webdataset 0.2, tariterators.base_plus_ext; NVIDIA
/// DALI, wds2idx.py.
std::optional<TarMemberName> split_member_name(std::string_view name);

/// Returns the member name of a field: KEY.FIELD. The name is percent-encoded if readers would otherwise split it
/// elsewhere, skip it or change it. This concerns dots in the key's base name ("v1.2" -> "v1%2E2"), components "." and
/// "..", a leading slash, slashes in the field, and '%' if it would read as one of these codes. Penstock stores the
/// true key in its index. Other programs see the encoded key, which is still unique. Throws Error: unsupported (no base
/// name, no field, a NUL).
std::string tar_member_name(std::string_view key, std::string_view field);

}  // namespace penstock
