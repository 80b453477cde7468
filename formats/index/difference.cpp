#include <algorithm>
#include <vector>

#include <formats/extent.hpp>
#include <formats/index/difference.hpp>

namespace penstock {
namespace {

/// Compares values by their location in files, and ignores their block numbers.
class ValueComparison {
 public:
  ValueComparison(const Index& index, const Index& other) : index_(index), other_(other) {}

  bool equal(std::uint64_t sample, std::uint32_t field, std::uint32_t other_field) {
    const bool here = index_.locate(sample, field, pieces_), there = other_.locate(sample, other_field, others_);
    return here == there && std::ranges::equal(pieces_, others_, [this](const Piece& a, const Piece& b) {
             if (a.kind != b.kind || a.length != b.length) return false;
             if (a.kind == Piece::Kind::extent) return a.extent == b.extent;
             if (a.kind == Piece::Kind::block)
               return a.offset == b.offset && index_.block(a.block) == other_.block(b.block);
             return std::ranges::equal(a.inline_bytes, b.inline_bytes);
           });
  }

 private:
  const Index& index_;
  const Index& other_;
  std::vector<Piece> pieces_, others_;
};

std::string named(const Index& index, std::uint64_t sample) {
  return "sample " + std::to_string(sample) + " (" + std::string(index.key(sample)) + ")";
}

}  // namespace

std::optional<std::string> index_difference(const Index& index, const Index& other) {
  if (index.size() != other.size()) {
    return std::to_string(index.size()) + " samples instead of " + std::to_string(other.size());
  }
  if (index.file_count() != other.file_count()) {
    return std::to_string(index.file_count()) + " files instead of " + std::to_string(other.file_count());
  }
  for (std::uint32_t file = 0; file < index.file_count(); ++file) {
    const IndexedFile ours = index.file(file), theirs = other.file(file);
    if (ours.path != theirs.path) return "the file " + ours.path + " instead of " + theirs.path;
    if (ours.size != theirs.size)
      return ours.path + " of " + std::to_string(ours.size) + " bytes instead of " + std::to_string(theirs.size);
  }
  if (!std::ranges::equal(index.fields(), other.fields())) return "other fields";
  if (index.attributes() != other.attributes()) return "other attributes";
  ValueComparison values(index, other);
  for (std::uint64_t sample = 0; sample < index.size(); ++sample) {
    if (index.key(sample) != other.key(sample)) return named(index, sample) + " instead of " + named(other, sample);
    for (std::uint32_t field = 0; field < index.fields().size(); ++field) {
      if (!values.equal(sample, field, field))
        return named(index, sample) + ": " + index.fields()[field].name + " has another place or another value";
    }
  }
  return std::nullopt;
}

}  // namespace penstock
