#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <formats/io/byte_source.hpp>
#include <formats/tar/header.hpp>
#include <formats/tar/left_out.hpp>
#include <formats/tar/members.hpp>
#include <formats/tar/names.hpp>
#include <formats/tar/proof.hpp>
#include <penstock/base/error.hpp>

namespace penstock {
namespace {

/// Begins to read the headers of the samples that come next, many at a time, so that a disk has more than one to look
/// for. Where members are small they lie in what is read anyway.
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

  // The current sample has no values but those that were seen.
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
  std::uint64_t begun_ = 0;  // samples
  std::size_t values_ = 0;   // of the last of them
};

}  // namespace

bool tar_proves(const std::filesystem::path& shard, const Index& index, const OpenProgress& progress) {
  try {
    return TarProof(shard, index).holds(progress);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::io) throw;
    return false;  // indexing it says why
  }
}

}  // namespace penstock
