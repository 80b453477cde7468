// Opens an indexed dataset of Megatron-LM in place: a .bin file of tokens and its .idx file.
#pragma once

#include <filesystem>

#include <formats/format.hpp>

namespace penstock {

/// Recognises NAME.idx that begins with the magic, with NAME.bin beside it (the user may name either file). Also
/// recognises a folder in which all *.idx files begin with the magic. They are its shards in the order of their names.
///
/// A sample is a document of the index. Its one field, "tokens", has the codec "tokens" and holds the document's
/// integers in the stored dtype. Its value consists of the extents of its sequences in the .bin file (one extent if
/// they are consecutive). The .bin file is not read. Keys are the documents' numbers.
///
///   NAME.idx, little-endian
///   | "MMIDIDX" 0 0 | version u64 = 1 | dtype u8 | sequences u64 | documents + 1 u64 |
///   | tokens of each sequence i32 | its first byte in NAME.bin i64 | first sequence of each document i64, and the end
///   |
///
/// dtype: 1 uint8, 2 int8, 3 int16, 4 int32, 5 int64, 8 uint16.
///
/// index() throws Error: corrupt, with the file, the offset in it and the cause: an index of the wrong length, another
/// version, sequences outside NAME.bin or overlapping in a document with more bytes than the file, documents whose
/// sequences do not ascend from the first to the last; io, if NAME.bin is missing; unsupported: elements that are not
/// integers, sequences with modes (multimodal). Source: Megatron-LM, megatron/core/datasets/indexed_dataset.py.
extern const Format kMegatron;

/// Megatron-LM names a dataset by the path of both files without their extensions. Returns NAME.idx for NAME if
/// NAME.idx begins with the magic, else an empty path.
std::filesystem::path index_of_prefix(const std::filesystem::path& prefix);

}  // namespace penstock
