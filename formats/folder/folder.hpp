// Opens a folder of plain files as a dataset: one file is one field of one sample.
#pragma once

#include <formats/format.hpp>
#include <formats/index/shard_pins.hpp>

namespace penstock {

/// Which files count: regular files, also through symbolic links, whose name has an extension. Left out are hidden
/// files and folders (a leading dot), penstock's own files and the datasets that it packed (own_files.hpp),
/// "Thumbs.db", "desktop.ini", and files without an extension. If there are images, arrays or clouds anywhere
/// (folder_names.hpp lists their extensions), files of other kinds that lie at the top level and share their stem with
/// no other file are left out too (README.md, labels.csv). So are, anywhere, files of other kinds whose stem is no
/// image's, array's or cloud's, where without them the layout is class folders and they are fewer than what stays. The
/// attributes count all of them ("left_out") and name one ("left_out_example").
///
/// Key: the path relative to the folder, without extension. Field: the extension, as field_from_extension names it.
/// key_ends.hpp decides whether words between dots belong to the key or to the field. Two files of one kind whose stem
/// has no other file ("a.jpg", "a.jpeg") are two samples, and their full names are the keys.
/// Samples stand in the bytewise order of their keys.
///
/// Two layouts, told apart by what is left:
/// - class folders: every file lies at least one level down, every file is an image, array or cloud, and no two files
///   share a key. Each sample then has one more field, `cls`, kept in the index: the number of its first-level folder
///   among all first-level folders in bytewise order, as ASCII decimal. Their names are the dataset's classes.
/// - shared stems: everything else. Files that share a key are the fields of one sample ("7.jpg", "7.json"); a flat
///   folder of images is samples of one field.
/// The attributes say which ("layout": "class folders" or "shared stems"), and where keys end ("key").
///
/// stamp() is of the paths and sizes of all files, so a copy of the folder keeps it.
/// index() throws Error: io, naming what cannot be read; invalid_argument, when no file counts, naming the folder, and
/// when names allow two readings, or first-level folders are splits, naming the option that decides; corrupt, naming
/// both files, when two are the same field of one sample that has others ("a.jpg", "a.jpeg", "a.txt"); unsupported,
/// naming a symbolic link that leads back into a folder above it.
extern const Format kFolder;

/// kFolder.stamp, and what the files were that it is of.
struct FolderLook {
  std::uint64_t stamp = 0;
  FolderPins pins;
};
FolderLook look_at_folder(const std::filesystem::path& folder);

}  // namespace penstock
