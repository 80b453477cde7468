#include <formats/io/atomic_file.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/io/ownership.hpp>
#include <formats/packed/commit.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/places/address.hpp>
#include <penstock/error.hpp>
#include <staging/target.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool is_inside(const fs::path& path, const fs::path& folder) {
  const fs::path relative = fs::weakly_canonical(path).lexically_relative(fs::weakly_canonical(folder));
  return !relative.empty() && *relative.begin() != "..";
}

bool holds_nothing(const fs::path& path) {
  return fs::is_directory(path) ? is_empty_folder(path) : fs::file_size(path) == 0;
}

// Removes the object that the copy replaced. settle() has checked that it was a copy, a dataset or empty. A symbolic
// link is removed without its target.
void remove_replaced(const fs::path& old) {
  const bool ours = fs::is_symlink(old) || holds_nothing(old) || fs::exists(old / StageJournal::kFileName) ||
                    fs::exists(old / Manifest::kFileName);
  if (ours) remove_tree(old);
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

StageTarget::StageTarget(const StageList& list, const fs::path& destination)
    : list_(list), destination_(without_slash(destination)), journal_name_(StageJournal::kFileName) {
  require_writable_place(destination);
  if (list.single) {
    const std::string& name = list.files.front().name;
    if (fs::is_directory(destination) || !destination.has_filename()) destination_ /= name;
    renamed_ = destination_.filename() != name;
    folder_ = parent_of(destination_);
    partial_ = folder_ / ("." + destination_.filename().string() + ".staging");
    journal_name_ = "." + destination_.filename().string() + std::string(StageJournal::kFileName);
    const StageFile& file = list.files.front();
    // A link to the source is not the source: an earlier call may have run out of time.
    const fs::path place = fs::weakly_canonical(folder_) / destination_.filename();
    if (file.object == nullptr && place == fs::weakly_canonical(file.source))
      refuse(destination_, "is the dataset itself");
    return;
  }
  partial_ = partial_path(destination_);
  folder_ = partial_;
  if (!list.files.empty() && list.files.front().object != nullptr) return;
  const bool same = fs::weakly_canonical(destination_) == fs::weakly_canonical(list.root);
  if (same || (list.whole_folder && is_inside(destination_, list.root)))
    refuse(destination_, "is inside the dataset to stage");
}

std::optional<FileLock> StageTarget::lock(const std::function<bool()>& go_on, bool& waited) const {
  fs::create_directories(parent_of(destination_));
  bool stopped = false;
  auto held = FileLock::wait_while(partial_.string() + ".lock", [&] {
    waited = true;
    stopped = !go_on();
    return !stopped;
  });
  if (stopped) throw Error::resource("interrupted");
  return held;
}

void StageTarget::settle(const StageJournal::Origin& origin, bool packed, bool overwrite) {
  if (!list_.single) require_own_folder(partial_);
  const bool there = fs::exists(fs::symlink_status(destination_));
  if (list_.single) {
    if (there && !fs::is_regular_file(destination_)) refuse(destination_, "is not a file");
    if (there && !overwrite && !fs::exists(journal()))
      refuse(destination_, "already exists and was not staged; pass --overwrite (overwrite=True) to replace it");
    if (!overwrite) require_of(origin, folder_);
    if (overwrite) fs::remove(journal());
    return;
  }
  const bool staged = there && fs::exists(destination_ / StageJournal::kFileName);
  const bool ours = staged || (there && fs::exists(destination_ / Manifest::kFileName));
  const bool empty = there && fs::is_directory(destination_) && is_empty_folder(destination_);
  if (there && !ours && !empty) refuse(destination_, "already exists and is not a dataset of penstock");
  if (overwrite) return clear_partial();
  if (empty) fs::remove(destination_);
  if (!there || empty) {
    if (fs::exists(partial_) && !holds_nothing(partial_) && !fs::exists(partial_ / StageJournal::kFileName))
      refuse(partial_, "was not made by staging; remove it, or choose another destination");
    require_of(origin, partial_);
    fs::create_directory(partial_);
    return;
  }
  if (!staged && !packed)
    refuse(destination_, "already exists and was not staged; pass --overwrite (overwrite=True) to replace it");
  require_of(origin, destination_);
  folder_ = destination_;
}

// Moves the copy away from the destination first, so that no reader opens it while files are missing.
void StageTarget::reopen() {
  if (list_.single || folder_ == partial_) return;
  clear_partial();
  fs::remove(partial_);
  rename_durably(destination_, partial_);
  folder_ = partial_;
}

void StageTarget::commit(bool overwrite) const {
  if (list_.single || folder_ == destination_) return;
  sync_folder(folder_);
  if (overwrite && fs::exists(destination_)) {
    remove_replaced(replace_folder(partial_, destination_));
  } else {
    rename_durably(partial_, destination_);
  }
}

void StageTarget::refuse(const fs::path& what, const std::string& why) const {
  throw Error::invalid_argument(what.string() + " " + why);
}

// Accepts a copy from the same source, or from another with the same samples: a copy may be moved, and a source may
// grow.
void StageTarget::require_of(const StageJournal::Origin& origin, const fs::path& folder) const {
  const auto told = StageJournal::origin_in(folder / journal_name_);
  if (told && told->source != origin.source && told->fingerprint != origin.fingerprint)
    refuse(folder, "is a copy of " + told->source + "; pass --overwrite (overwrite=True) to replace it");
}

// Requires that the partial folder is empty or was made by staging, and empties it.
void StageTarget::clear_partial() const {
  if (fs::exists(partial_)) {
    if (!holds_nothing(partial_) && !fs::exists(partial_ / StageJournal::kFileName))
      refuse(partial_, "was not made by staging; remove it, or choose another destination");
    remove_tree(partial_);
  }
  fs::create_directory(partial_);
}

}  // namespace penstock
