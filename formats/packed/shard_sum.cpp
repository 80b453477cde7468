#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <formats/extent.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/packed/shard_sum.hpp>
#include <formats/places/places.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// A run of a file's bytes with a known checksum.
struct Summed {
  std::uint64_t offset, length;
  std::uint32_t crc32c;
};

std::uint32_t crc_of_header(const Index& index) {
  return crc32c(index.bytes().first(64));
}

/// Returns the values that need not be read again, for each file of the index in the order of their offsets. Values
/// that share bytes with another are read.
std::vector<std::vector<Summed>> long_values(const Index& index) {
  // In bytes: from this size on, reading takes longer than joining checksums.
  constexpr std::uint64_t kWorth = std::uint64_t{32} << 10;
  std::vector<std::vector<Summed>> known(index.file_count());
  std::vector<Piece> pieces;
  for (std::uint64_t sample = 0; sample < index.size(); ++sample) {
    for (std::uint32_t field = 0; field < index.fields().size(); ++field) {
      if (!index.locate(sample, field, pieces) || pieces.size() != 1) continue;
      const Piece& piece = pieces.front();
      const auto crc = index.crc32c(sample, field);
      if (piece.kind != Piece::Kind::extent || piece.extent.length < kWorth || !crc) continue;
      known[piece.extent.file].push_back({piece.extent.offset, piece.extent.length, *crc});
    }
  }
  for (std::vector<Summed>& runs : known) {
    std::sort(runs.begin(), runs.end(), [](const Summed& a, const Summed& b) { return a.offset < b.offset; });
  }
  return known;
}

/// Computes the checksum of one file from its beginning.
class FileSum {
 public:
  FileSum(const fs::path& path, std::uint32_t crc)
      : source_(open_byte_source(path)), crc_(crc), buffer_(std::size_t{1} << 18) {}

  std::uint64_t size() const { return source_->size(); }
  std::uint32_t crc() const { return crc_; }

  void skip(const Summed& run) {
    if (run.offset < position_ || run.offset > size() || run.length > size() - run.offset) return;
    read_to(run.offset);
    crc_ = crc32c_joined(crc_, run.crc32c, run.length);
    position_ += run.length;
  }

  void read_to(std::uint64_t end) {
    while (position_ < end) {
      const std::size_t wanted = std::min<std::uint64_t>(buffer_.size(), end - position_);
      const std::size_t got = source_->read(position_, std::span(buffer_).first(wanted));
      if (got == 0) throw Error::corrupt("became shorter while it was read", {.shard = source_->path().string()});
      crc_ = crc32c(std::span(buffer_).first(got), crc_);
      position_ += got;
    }
  }

 private:
  std::shared_ptr<const ByteSource> source_;
  std::uint64_t position_ = 0;
  std::uint32_t crc_;
  std::vector<std::byte> buffer_;  // small enough to stay in a core's cache until summed
};

std::uint64_t size_in(const fs::path& path, const ErrorContext& context) {
  try {
    return size_of_file(path);
  } catch (const Error& error) {
    throw error.in(context);
  }
}

ManifestShard describe(const fs::path& folder, std::string name, const Index& index,
                       const std::vector<std::vector<Summed>>& known) {
  ManifestShard shard{.name = std::move(name), .samples = index.size(), .index = crc_of_header(index)};
  for (std::uint32_t i = 0; i < index.file_count(); ++i) {
    const IndexedFile indexed = index.file(i);
    const fs::path path = place_inside(folder, indexed.path);
    FileSum sum(path, shard.crc32c);
    if (sum.size() != indexed.size) {
      throw Error::corrupt(
          "the file has " + std::to_string(sum.size()) + " bytes, its index says " + std::to_string(indexed.size),
          {.shard = path.string()});
    }
    for (const Summed& run : known[i]) sum.skip(run);
    sum.read_to(sum.size());
    shard.crc32c = sum.crc();
    shard.bytes += sum.size();
  }
  return shard;
}

}  // namespace

ManifestShard describe_shard(const fs::path& folder, std::string name, const Index& index) {
  return describe(folder, std::move(name), index, std::vector<std::vector<Summed>>(index.file_count()));
}

ManifestShard describe_written_shard(const fs::path& folder, std::string name, const Index& index) {
  return describe(folder, std::move(name), index, long_values(index));
}

ManifestShard describe_stored_shard(std::string name, const Index& index, std::uint32_t crc32c) {
  ManifestShard shard{.name = std::move(name), .samples = index.size(), .index = crc_of_header(index)};
  shard.crc32c = crc32c;
  shard.bytes = index.file(0).size;
  return shard;
}

void check_shard(const fs::path& folder, const ManifestShard& shard, const Index& index) {
  check_shard(folder, shard, index, [&](const fs::path& path, const IndexedFile&) {
    return size_in(path, {.dataset = folder.string(), .shard = shard.name});
  });
}

void check_shard(const fs::path& folder, const ManifestShard& shard, const Index& index,
                 const std::function<std::uint64_t(const fs::path& file, const IndexedFile& indexed)>& size_of) {
  const ErrorContext context{.dataset = folder.string(), .shard = shard.name};
  if (index.size() != shard.samples || crc_of_header(index) != shard.index) {
    throw Error::corrupt("its index has changed since it was packed", context);
  }
  std::uint64_t bytes = 0;
  std::string cut;
  for (std::uint32_t i = 0; i < index.file_count(); ++i) {
    const IndexedFile indexed = index.file(i);
    if (indexed.path != shard.name && !indexed.path.starts_with(shard.name + "/"))
      throw Error::corrupt("its index names a file that does not belong to the shard: " + indexed.path, context);
    const fs::path path = place_inside(folder, indexed.path);
    const std::uint64_t size = size_of(path, indexed);
    if (size < indexed.size) cut = path.string();
    bytes += size;
  }
  if (bytes != shard.bytes) {
    throw Error::corrupt("has " + std::to_string(bytes) + " bytes, but was packed with " + std::to_string(shard.bytes),
                         context);
  }
  if (!cut.empty()) throw Error::corrupt("is shorter than its index says: " + cut, context);
}

}  // namespace penstock
