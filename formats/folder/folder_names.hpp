// Splits a path inside a folder of files into key and field.
#pragma once

#include <string_view>

namespace penstock {

struct FileName {
  std::string_view key;        ///< the path without extension: "cat/0001"
  std::string_view extension;  ///< "jpg", or compound: "seg.png"; empty if there is none
};

/// The extension begins after the first dot of the base name ("0001.seg.png": "seg.png"), as in WebDataset. A part
/// before the last one belongs to the extension only if it looks like a word: letters, '_' and '-', then at most two
/// digits. For example, "cat.0.jpg" and "img.rf.06e2a5f.jpg" have the extension "jpg". key_ends.hpp decides which of
/// these words stay in the extension. A dot at the start of the base name does not count.
FileName split_file_name(std::string_view path);

/// Returns whether the last part of an extension, in any case, means an image, an array or a point cloud.
bool is_media(std::string_view extension);

}  // namespace penstock
