// Opens a folder of plain files as a dataset: one file is one field of one sample.
#pragma once

#include <formats/format.hpp>
#include <formats/index/shard_pins.hpp>

namespace penstock {

/// Files that count are regular files, also through symbolic links, whose name has an extension.
/// These are left out:
/// - hidden files and folders (a leading dot), "Thumbs.db", "desktop.ini", and files without an extension.
/// - penstock's own files and the datasets that it packed (own_files.hpp).
/// - other files at the top level whose stem no other file has (README.md, labels.csv). This applies only if the folder
///   has images, arrays or clouds at any level (folder_names.hpp lists their extensions).
/// - other files whose stem belongs to no image, array or cloud, at any level. This applies only if the layout without
///   them is class folders and they are fewer than the remaining files.
/// The attributes contain the number of files left out ("left_out") and one example ("left_out_example").
///
/// Key: the path relative to the folder, without extension. Field: the extension, as field_from_extension names it.
/// key_ends.hpp decides whether words between dots belong to the key or to the field. If two files of one kind share a
/// stem that no other file has ("a.jpg", "a.jpeg"), they are two samples, and their full names are the keys. Samples
/// are in the bytewise order of their keys.
///
/// The remaining files determine one of two layouts:
/// - class folders: every file is at least one level down, every file is an image, array or cloud, and no two files
///   share a key. Each sample then has one more field, `cls`, stored in the index: the number of its first-level folder
///   among all first-level folders in bytewise order, as ASCII decimal. Their names are the dataset's classes.
/// - shared stems: everything else. Files that share a key are the fields of one sample ("7.jpg", "7.json"). In a flat
///   folder of images, each sample has one field.
/// The attributes contain the layout ("layout": "class folders" or "shared stems"), and where keys end ("key").
///
/// stamp() covers the paths and sizes of all files, so a copy of the folder has the same stamp.
///
/// index() throws Error:
/// - io, with the path that cannot be read.
/// - invalid_argument, with the folder, if no file counts.
/// - invalid_argument, with the option that decides, if names allow two readings or first-level folders are splits.
/// - corrupt, with both files, if two of three or more files of a sample are the same field ("a.jpg", "a.jpeg",
///   "a.txt").
/// - unsupported, with the symbolic link, if a link leads back to a folder above it.
extern const Format kFolder;

/// The result of kFolder.stamp, and the identities of the files that it covers.
struct FolderLook {
  std::uint64_t stamp = 0;
  FolderPins pins;
};
FolderLook look_at_folder(const std::filesystem::path& folder);

}  // namespace penstock
