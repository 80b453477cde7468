// The bytes of an .idx file. Private to index*.cpp; described in docs/spec/formats.md, "The index: `.idx`".
//
// All numbers are little-endian. Every section begins at a multiple of 8. The position of a column is computed.
// Therefore opening parses only the header, the section table and the field table. The number of samples matters only
// for the pass over the bytes that computes their checksum.
//
//   0                64              64 + 24 * sections
//   | Header         | SectionEntry... | sections, in the order of SectionId ... | total_length
//     crc of both of these             crc of all of these
//
//   fields          per field: FieldRecord, shape (i64 each), name, codec, zeros up to a multiple of 8
//   key_offsets     u64[samples + 1] into key_bytes
//   key_bytes
//   entries         Entry[samples] per field: one column of 24-byte records per field
//   pieces          PieceRecord[]: fields of several pieces refer to runs of these
//   inline_bytes    values stored in the index, and fill patterns
//   blocks          BlockRecord[blocks]
//   pipelines       u32[pipelines + 1] into filters: blocks share their lists of filters
//   filters         FilterRecord[]
//   files           FileRecord[files + 1]: a path ends where the next begins
//   file_paths
//   header_offsets  u64[samples + 1] into header_bytes, per field that has headers
//   header_bytes
//   attributes      JSON
//   range_offsets   u64[samples + 1] into range_sums, per field that has them    (version 2)
//   range_sums      u32[]: CRC-32C of each 64 KiB of a value, the last one shorter  (version 2)
#pragma once

#include <bit>
#include <cstdint>

namespace penstock::index_layout {

static_assert(std::endian::native == std::endian::little, "the .idx format is mapped as little-endian structures");

constexpr std::uint64_t kMagic = 0x0A58444B54534E50;  // "PNSTKDX\n"
constexpr std::uint32_t kVersion = 2;                 // has the sections for checksums of ranges
constexpr std::uint32_t kFirstVersion = 1;            // without them; written if no value is longer than a range
constexpr std::uint64_t kLongestField = (std::uint64_t{1} << 40) - 1;  // lengths have 40 bits

struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t section_count;
  std::uint64_t total_length;  // of the file
  std::uint64_t samples;
  std::uint64_t key_hash;
  std::uint32_t field_count;
  std::uint32_t file_count;
  std::uint32_t block_count;
  std::uint32_t flags;
  std::uint32_t body_crc;    // of everything after the section table; checked by Index::open and Index::verify
  std::uint32_t header_crc;  // of the header up to here and the section table; checked by every open
};
static_assert(sizeof(Header) == 64);
constexpr std::uint32_t kKeysSorted = 1;  // Header::flags: the keys are in bytewise order

enum class SectionId : std::uint32_t {
  fields,
  key_offsets,
  key_bytes,
  entries,
  pieces,
  inline_bytes,
  blocks,
  pipelines,
  filters,
  files,
  file_paths,
  header_offsets,
  header_bytes,
  attributes,
  range_offsets,
  range_sums,
};
constexpr std::uint32_t kSectionCount = 16;

constexpr std::uint32_t sections_of(std::uint32_t version) {
  return version == kFirstVersion ? 14 : kSectionCount;
}

struct SectionEntry {
  std::uint32_t id;
  std::uint32_t reserved;
  std::uint64_t offset;  // from the start of the file
  std::uint64_t length;  // bytes
};
static_assert(sizeof(SectionEntry) == 24);

struct FieldRecord {
  std::uint32_t record_length;  // including shape, name, codec and padding
  std::uint32_t name_length;
  std::uint32_t codec_length;
  std::uint32_t rank;
  std::uint32_t header_column;  // number of this field's column of header_offsets, or kNoHeaders
  std::uint8_t dtype;
  std::uint8_t fixed;
  std::uint8_t complete;  // true if every sample has the field
  std::uint8_t ranged;    // the field has a range_offsets column; its number is the count of earlier fields with one
};
static_assert(sizeof(FieldRecord) == 24);
constexpr std::uint32_t kNoHeaders = 0xFFFFFFFF;

enum class EntryKind : std::uint8_t {
  absent,
  extent,  // offset in file `number`
  block,   // offset in the decoded bytes of block `number`
  bytes,   // offset in inline_bytes
  pieces,  // `number` pieces from piece `offset` on
};
constexpr std::uint8_t kHasCrc = 1;  // Entry::flags

struct Entry {
  std::uint64_t offset;
  std::uint32_t length_low;
  std::uint8_t length_high;
  EntryKind kind;
  std::uint8_t flags;
  std::uint8_t reserved;
  std::uint32_t crc32c;
  std::uint32_t number;

  std::uint64_t length() const { return length_low | std::uint64_t{length_high} << 32; }
};
static_assert(sizeof(Entry) == 24);

struct PieceRecord {
  std::uint64_t offset;         // extent: in the file; block: in the decoded bytes
  std::uint64_t length;         // bytes of the field
  std::uint64_t inline_offset;  // bytes, fill: in inline_bytes
  std::uint32_t inline_length;
  std::uint32_t number;  // file or block
  std::uint32_t kind;    // Piece::Kind
  std::uint32_t reserved;
};
static_assert(sizeof(PieceRecord) == 40);

struct BlockRecord {
  std::uint64_t offset;
  std::uint64_t length;
  std::uint64_t decoded_length;
  std::uint32_t file;
  std::uint32_t pipeline;
};
static_assert(sizeof(BlockRecord) == 32);

// BlockRecord::file: [offset, offset + length) of inline_bytes is a Mosaic
constexpr std::uint32_t kMosaic = 0xFFFFFFFF;

struct FilterRecord {
  std::uint16_t id;
  std::uint16_t reserved;
  std::uint32_t parameter;
};
static_assert(sizeof(FilterRecord) == 8);

struct FileRecord {
  std::uint64_t path_offset;
  std::uint64_t size;
  std::uint64_t stamp;
};
static_assert(sizeof(FileRecord) == 24);

}  // namespace penstock::index_layout
