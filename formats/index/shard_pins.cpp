#include <algorithm>

#include <formats/index/shard_pins.hpp>
#include <formats/io/hash.hpp>

namespace penstock {
namespace {

bool is_other_file(const FileIdentity& then, const FileIdentity& now) {
  return (then.device != now.device || then.inode != now.inode) && then.modified != now.modified;
}

}  // namespace

// One half of the mark depends on the inode, the other half on the modification time.
std::uint64_t FolderPins::mark_of(const FileIdentity& file) {
  const std::uint64_t inode = mix64(file.inode ^ mix64(file.device));
  return inode << 32 | mix64(static_cast<std::uint64_t>(file.modified)) >> 32;
}

void FolderPins::add(std::string_view path, const FileIdentity& file) {
  marks_.emplace_back(hash64(path), mark_of(file));
}

void FolderPins::sort() {
  std::sort(marks_.begin(), marks_.end());
}

bool FolderPins::hold(std::string_view path, const FileIdentity& now) const {
  const std::uint64_t hash = hash64(path), found = mark_of(now);
  const auto pinned = std::ranges::lower_bound(marks_, std::pair{hash, std::uint64_t{0}});
  if (pinned == marks_.end() || pinned->first != hash) return false;
  const std::uint64_t changes = pinned->second ^ found;
  return changes >> 32 == 0 || (changes & 0xFFFFFFFF) == 0;
}

std::uint64_t FolderPins::mark(std::string_view path) const {
  const std::uint64_t hash = hash64(path);
  const auto pinned = std::ranges::lower_bound(marks_, std::pair{hash, std::uint64_t{0}});
  return pinned == marks_.end() || pinned->first != hash ? 0 : pinned->second & 0xFFFFFFFF;
}

ShardPins::ShardPins(std::vector<FileIdentity> files, Options options) : options_(std::move(options)) {
  for (const FileIdentity& file : files) pins_.push_back({.good = file});
}

ShardPins::ShardPins(FolderPins folder) : folder_(std::move(folder)) {}

bool ShardPins::hold(std::uint32_t file, std::string_view path, const FileIdentity& now, const Index& index) const {
  if (!options_.prove) return folder_.hold(path, now);
  const std::lock_guard lock(mutex_);
  Pin& pin = pins_.at(file);
  if (now == pin.good) return true;
  if (now == pin.bad || now.size != pin.good.size) return false;
  const bool proved = (options_.of_content || !is_other_file(pin.good, now)) && options_.prove(index, file, now);
  if (proved) {
    pin.good = now;
  } else {
    pin.bad = now;
  }
  return proved;
}

bool ShardPins::is_same_file(std::uint32_t file, const FileIdentity& now) const {
  const std::lock_guard lock(mutex_);
  const FileIdentity& known = pins_.at(file).good;
  return known.device == now.device && known.inode == now.inode;
}

// Omits device and inode, because they may change with the next boot.
std::uint64_t ShardPins::mark(std::uint32_t file, std::string_view path) const {
  if (!options_.prove) return folder_.mark(path);
  const std::lock_guard lock(mutex_);
  const FileIdentity& known = pins_.at(file).good;
  return mix64(static_cast<std::uint64_t>(known.modified) ^ mix64(static_cast<std::uint64_t>(known.changed)));
}

}  // namespace penstock
