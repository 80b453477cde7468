#include <record/time/level_log.hpp>

namespace penstock {

void LevelLog::add(const Levels& levels) {
  const std::scoped_lock lock(mutex_);
  if (levels_.size() == kMost) {
    std::size_t kept = 0;
    if (2 * apart_ <= kLast) {
      for (std::size_t i = 0; i < kMost; i += 2) levels_[kept++] = levels_[i];
      apart_ *= 2;
    } else {
      for (std::size_t i = kMost / 2; i < kMost; ++i) levels_[kept++] = levels_[i];
    }
    levels_.resize(kept);
  }
  levels_.push_back(levels);
  next_ = levels.at + apart_;
}

std::vector<Levels> LevelLog::all() const {
  const std::scoped_lock lock(mutex_);
  return levels_;
}

void LevelLog::reset() {
  const std::scoped_lock lock(mutex_);
  levels_.clear();
  apart_ = kFirst;
}

}  // namespace penstock
