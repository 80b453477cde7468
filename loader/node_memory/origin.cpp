#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/io/hash.hpp>
#include <loader/node_memory/origin.hpp>
#include <penstock/error.hpp>

namespace penstock {

void Origin::add(std::uint64_t number) {
  key_.first = mix64(key_.first + number);
  key_.second = mix64((key_.second ^ number) * 0x9E3779B97F4A7C15);
}

// Adds the length, too, so that two texts differ from their concatenation.
void Origin::add(std::string_view text) {
  add(text.size());
  add(fnv1a(text));
  add(fnv1a(text, 0x84222325CBF29CE4));
}

namespace {

// Resolves links, so that two paths to one folder are one dataset. A path that is not a local folder is used as it
// is.
std::string true_path(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path found = std::filesystem::canonical(path, failed);
  return failed ? path.string() : found.string();
}

void add_pieces(const Dataset& dataset, std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces,
                Origin& origin) {
  try {
    if (!dataset.locate(sample, field, pieces)) pieces.clear();
  } catch (const Error&) {  // reading the sample throws the same error
    pieces.clear();
  }
  origin.add(pieces.size());
  for (const Piece& piece : pieces) {
    origin.add(static_cast<std::uint64_t>(piece.kind) << 32 | piece.block);
    origin.add(piece.extent.file);
    origin.add(piece.extent.offset);
    origin.add(piece.offset);
    origin.add(piece.length);
    origin.add(std::string_view(reinterpret_cast<const char*>(piece.inline_bytes.data()), piece.inline_bytes.size()));
  }
}

// Returns true if the dataset is not stored as such: its samples were selected or combined, or its blocks were
// computed.
bool is_made_here(const Dataset& dataset) {
  bool made = dataset.is_view();
  for (std::size_t shard = 0; shard < dataset.shard_count(); ++shard) made |= dataset.shard(shard).borrowed != 0;
  return made;
}

}  // namespace

// The marks of files change when they are written to, so loaders that opened the dataset before and after a change do
// not share. Whether checksums are compared is included, because a loader that compares none may keep bytes that
// others would refuse.
Origin origin_of(const Dataset& dataset, const Program& program, Checksums checksums) {
  Origin origin;
  origin.add(dataset.size());
  origin.add(dataset.fingerprint());
  for (std::size_t shard = 0; shard < dataset.shard_count(); ++shard) {
    if (shard == 0 || dataset.path_of_shard(shard) != dataset.path_of_shard(shard - 1))
      origin.add(true_path(dataset.path_of_shard(shard)));
    origin.add(dataset.shard(shard).name);
  }
  for (std::uint32_t file = 0; file < dataset.file_count(); ++file) {
    origin.add(dataset.file(file).size);
    origin.add(dataset.mark(file));
  }
  for (const FieldSchema& field : dataset.fields()) origin.add(field.name);
  std::vector<Piece> pieces;
  if (is_made_here(dataset)) {
    for (std::uint64_t sample = 0; sample < dataset.size(); ++sample)
      for (std::uint32_t field = 0; field < dataset.fields().size(); ++field)
        add_pieces(dataset, sample, field, pieces, origin);
  }
  origin.add(program.version());
  origin.add(checksums == Checksums::off ? 0 : 1);
  return origin;
}

}  // namespace penstock
