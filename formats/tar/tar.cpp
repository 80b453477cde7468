#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/index/probe_stamp.hpp>
#include <formats/io/byte_source.hpp>
#include <formats/places/places.hpp>
#include <formats/tar/header.hpp>
#include <formats/tar/left_out.hpp>
#include <formats/tar/members.hpp>
#include <formats/tar/names.hpp>
#include <formats/tar/tar.hpp>
#include <formats/tar/writer.hpp>
#include <formats/text/point_table.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

/// Announces reads of the headers of the following samples, many at a time, so that a disk can reorder them. If members
/// are small, ordinary reads already cover their headers.
class HeadersAhead {
 public:
  HeadersAhead(const ByteSource& shard, const Index& index) : index_(index), shard_(shard) {}

  void go_past(std::uint64_t sample) {
    constexpr std::uint64_t kAhead = 256, kReadAnyway = std::uint64_t{64} << 10;
    if (sample + kAhead / 2 < next_) return;
    for (const std::uint64_t end = std::min(index_.size(), sample + kAhead); next_ < end; ++next_) {
      for (std::uint32_t field = 0; field < index_.fields().size(); ++field) {
        if (!index_.locate(next_, field, pieces_) || pieces_.front().kind != Piece::Kind::extent) continue;
        const Extent& extent = pieces_.front().extent;
        const std::uint64_t behind = extent.offset + tar_padded(extent.length);
        if (extent.length > kReadAnyway) shard_.expect(behind, kTarBlock);
      }
    }
  }

 private:
  const Index& index_;
  const ByteSource& shard_;
  std::vector<Piece> pieces_;
  std::uint64_t next_ = 0;
};

class TarProof {
 public:
  TarProof(const std::filesystem::path& shard, const Index& index)
      : index_(index), members_(shard, shard.filename().string()), ahead_(members_.source(), index) {
    for (std::uint32_t field = 0; field < index.fields().size(); ++field)
      field_named_.emplace(index.fields()[field].name, field);
  }

  bool holds(const OpenProgress& progress) {
    if (index_.file_count() != 1 || index_.file(0).size != members_.size()) return false;
    constexpr std::uint64_t kReportEvery = std::uint64_t{16} << 20;
    TarMember member;
    std::uint64_t reported = 0;
    while (members_.next(member)) {
      if (!take(member)) return false;
      if (!progress || member.header - reported < kReportEvery) continue;
      reported = member.header;
      progress(reported, members_.size());
    }
    return ends_sample() && begun_ == index_.size() &&
           left_out_.attributes(members_.after_end()) == index_.attributes();
  }

 private:
  bool take(const TarMember& member) {
    if (member.type == '1') return false;
    const std::optional<TarMemberName> name = split_member_name(member.name);
    if (member.type != '0' || !name) {
      left_out_.add(member);
      return true;
    }
    if (begun_ == 0 || name->key != index_.key(begun_ - 1)) {
      if (!ends_sample() || begun_ == index_.size() || name->key != index_.key(begun_)) return false;
      ahead_.go_past(begun_++);
      values_ = 0;
    }
    const FieldSchema schema = field_from_extension(name->extension);
    const auto field = field_named_.find(schema.name);
    if (field == field_named_.end() || !index_.locate(begun_ - 1, field->second, pieces_)) return false;
    ++values_;
    return pieces_.size() == 1 && pieces_.front().kind == Piece::Kind::extent &&
           pieces_.front().extent == Extent{.file = 0, .offset = member.data, .length = member.size};
  }

  // Returns whether all values of the current sample were seen.
  bool ends_sample() {
    if (begun_ == 0) return true;
    std::size_t listed = 0;
    for (std::uint32_t field = 0; field < index_.fields().size(); ++field)
      if (index_.locate(begun_ - 1, field, pieces_)) ++listed;
    return listed == values_;
  }

  const Index& index_;
  TarMembers members_;
  HeadersAhead ahead_;
  std::map<std::string, std::uint32_t, std::less<>> field_named_;
  std::vector<Piece> pieces_;
  TarLeftOut left_out_;
  std::uint64_t begun_ = 0;  // number of samples
  std::size_t values_ = 0;   // in the last of these samples
};

// Returns true if the members of `shard` are those that `index` lists: names, locations and sizes, in order. The index
// contains the locations of the headers, so the system is asked to prefetch them. Returns false also for archives with
// hard links, and for those that kTar.index would refuse. Throws Error: io.
bool tar_proves(const std::filesystem::path& shard, const Index& index, const OpenProgress& progress) {
  try {
    return TarProof(shard, index).holds(progress);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::io) throw;
    return false;  // indexing reports the reason
  }
}

/// Turns members into samples.
class TarIndexer {
 public:
  TarIndexer(const std::filesystem::path& path, std::string shard)
      : path_(path), shard_(std::move(shard)), members_(path_, shard_) {}

  Index index(const OpenProgress& progress) {
    builder_.add_file({.path = shard_, .size = members_.size(), .stamp = kTar.stamp(path_)});
    TarMember member;
    std::uint64_t reported = 0;
    while (members_.next(member)) {
      add(member);
      constexpr std::uint64_t kReportEvery = std::uint64_t{16} << 20;
      if (!progress || member.header - reported < kReportEvery) continue;
      reported = member.header;
      progress(reported, members_.size());
    }
    if (progress) progress(members_.size(), members_.size());
    if (builder_.size() == 0 && !left_out_names_.empty()) throw no_samples();
    if (const std::string attributes = left_out_.attributes(members_.after_end()); attributes != "{}")
      builder_.set_attributes(attributes);
    return std::move(builder_).finish();
  }

 private:
  void add(const TarMember& member) {
    if (member.type != '0' && member.type != '1') return leave_out(member);
    if (targets_) remember(member);
    const std::optional<TarMemberName> name = split_member_name(member.name);
    if (!name) return leave_out(member);
    if (builder_.size() == 0 || name->key != key_) begin_sample(name->key, member);
    const Extent value = member.type == '1' ? target_of(member) : extent_of(member);
    FieldSchema schema = field_from_extension(name->extension);
    if (is_table(schema) && tables_.insert(schema.name).second && !can_be_points(path_, value)) schema.codec = "txt";
    const std::uint32_t field = builder_.field(schema);
    if (builder_.has(field)) throw fault("the sample has this field twice", member, schema.name);
    builder_.set(field, value);
  }

  // Keeps only the first names, for the message if no member counts.
  void leave_out(const TarMember& member) {
    constexpr std::size_t kNamed = 3;
    if (left_out_count_++ < kNamed) left_out_names_ += (left_out_names_.empty() ? "" : ", ") + one_line(member.name);
    left_out_.add(member);
  }

  Error no_samples() const {
    return Error::invalid_argument("none of the archive's " + std::to_string(left_out_count_) +
                                       " members is a file with an extension, which would name its field: " +
                                       left_out_names_ + (left_out_count_ > 3 ? ", ..." : ""),
                                   {.shard = shard_});
  }

  void begin_sample(std::string_view key, const TarMember& member) {
    key_ = key;
    if (!seen_.insert(std::hash<std::string_view>{}(key)).second) refuse_if_seen(member);
    builder_.add_sample(key);
  }

  /// Two keys may have the same hash, so this reads the archive again.
  void refuse_if_seen(const TarMember& member) const {
    TarMembers again(path_, shard_);
    TarMember earlier;
    while (again.next(earlier) && earlier.header < member.header) {
      const std::optional<TarMemberName> name = split_member_name(earlier.name);
      if ((earlier.type != '0' && earlier.type != '1') || !name || name->key != key_) continue;
      throw fault("the key appears again after other samples (first at offset " + std::to_string(earlier.header) +
                      "): the members of a sample must be adjacent; sort the names and pack again",
                  member);
    }
  }

  /// Names are kept only from the first hard link on, because most archives have none.
  Extent target_of(const TarMember& link) {
    if (!targets_) {
      targets_.emplace();
      TarMembers again(path_, shard_);
      TarMember earlier;
      while (again.next(earlier) && earlier.header <= link.header) remember(earlier);
    }
    const auto found = targets_->find(link.name);
    if (found == targets_->end()) {
      throw fault("a hard link whose target is not an earlier file", link);
    }
    return found->second;
  }

  void remember(const TarMember& member) {
    if (member.type == '0') targets_->insert_or_assign(member.name, extent_of(member));
    if (member.type != '1') return;
    const auto target = targets_->find(member.link_name);
    if (target != targets_->end()) targets_->insert_or_assign(member.name, Extent(target->second));
  }

  static Extent extent_of(const TarMember& member) { return {.file = 0, .offset = member.data, .length = member.size}; }

  Error fault(std::string cause, const TarMember& member, std::string field = {}) const {
    return Error::corrupt(std::move(cause),
                          {.shard = shard_, .key = key_, .field = std::move(field), .offset = member.header});
  }

  std::filesystem::path path_;
  std::string shard_;
  TarMembers members_;
  IndexBuilder builder_;
  TarLeftOut left_out_;
  std::string left_out_names_;  // of members that belong to no sample
  std::uint64_t left_out_count_ = 0;
  std::set<std::string> tables_;                                    // fields of tables that were already checked
  std::string key_;                                                 // of the current sample
  std::unordered_set<std::size_t> seen_;                            // hashes of all keys so far
  std::optional<std::unordered_map<std::string, Extent>> targets_;  // files and links to them, by name
};

std::string name_below(const std::filesystem::path& shard, const std::filesystem::path& root) {
  const std::string relative = shard.lexically_relative(root).string();
  return relative.empty() || relative == "." ? shard.filename().string() : relative;
}

Index index_tar(const std::filesystem::path& shard, const std::filesystem::path& root, const OpenProgress& progress) {
  return TarIndexer(shard, name_below(shard, root)).index(progress);
}

bool named_as_tar(const std::filesystem::path& path) {
  static constexpr std::array<std::string_view, 12> kEndings{".tar",     ".tar.gz", ".tgz",     ".tar.zst",
                                                             ".tar.xz",  ".txz",    ".tar.bz2", ".tbz2",
                                                             ".tar.lz4", ".tar.Z",  ".tzst",    ".taz"};
  const std::string name = path.filename().string();
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

bool begins_as_tar(const std::filesystem::path& path) {
  const std::vector<std::byte> block = first_bytes(path, kTarBlock);
  return block.size() == kTarBlock && tar_checksum_matches(text_of(block));
}

std::vector<std::filesystem::path> find_tar_shards(const std::filesystem::path& path) {
  if (is_file(path)) {
    if (named_as_tar(path) || begins_as_tar(path)) return {path};
    return {};
  }
  std::vector<std::filesystem::path> shards;
  if (!is_folder(path)) return shards;
  visit_place(path, [&](const char* name) {
    std::filesystem::path shard = path / name;
    if (shard.extension() == ".tar" && is_file(shard)) shards.push_back(std::move(shard));
    return true;
  });
  std::sort(shards.begin(), shards.end(), [](const auto& a, const auto& b) { return a.native() < b.native(); });
  return shards;
}

}  // namespace

const Format kTar{.name = "tar",
                  .extension = ".tar",
                  .find_shards = find_tar_shards,
                  .index = index_tar,
                  .stamp = probe_stamp,
                  .write = write_tar,
                  .room = tar_room,
                  .proves = tar_proves,
                  // 1: counts members that belong to no sample; 2: tables may be text; 3: joined archives and own files
                  .reader = 3,
                  .folders = Format::Folders::keys,
                  .content = "members"};

}  // namespace penstock
