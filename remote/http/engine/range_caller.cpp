#include <utility>

#include <base/caught.hpp>
#include <remote/http/engine/range_caller.hpp>

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kBetweenLooksAtReads{250}, kBetweenLooksAtHedges{10};

}  // namespace

RangeCaller::RangeCaller(Loop& loop, Renewal& renewal, StoreCounters& all, DialectOf dialect_of, OnRange on_range)
    : loop_(loop),
      renewal_(renewal),
      dialect_of_(std::move(dialect_of)),
      on_range_(std::move(on_range)),
      counters_(&all) {}

void RangeCaller::take(std::vector<RangeRead>& reads) {
  if (stopped_) return;
  for (RangeRead& read : reads) {
    const std::uint64_t tag = read.tag;
    ReadOfRange* one = nullptr;
    const auto failure = caught([&] {
      if (free_.empty()) {
        all_.reserve(all_.size() + 1);
        free_.reserve(all_.size() + 1);
        under_way_.reserve(all_.size() + 1);
        all_.push_back(std::make_unique<ReadOfRange>(loop_, *this));
        free_.push_back(all_.back().get());
      }
      one = free_.back();
      one->place = under_way_.size();
      under_way_.push_back(one);
      free_.pop_back();
      one->start(std::move(read));
    });
    if (failure == nullptr) continue;
    if (one != nullptr) {
      one->cancel();
      answer(*one, tag, failure);
    } else {
      on_range_(tag, failure);
    }
  }
  look_again();
}

void RangeCaller::look_again() {
  if (looks_ || under_way_.empty()) return;
  looks_ = true;
  loop_.set(*this, Loop::Clock::now() + (loop_.settings().hedge > 0 ? kBetweenLooksAtHedges : kBetweenLooksAtReads));
}

void RangeCaller::due() {
  looks_ = false;
  const auto now = Loop::Clock::now();
  // Iterates backwards: a read that is given up is replaced by the last one, which was checked before.
  for (std::size_t i = under_way_.size(); i-- > 0;) {
    if (i < under_way_.size()) static_cast<void>(caught([&] { under_way_[i]->look(now); }));
  }
  look_again();
}

void RangeCaller::answer(ReadOfRange& read, std::uint64_t tag, std::exception_ptr failure) {
  under_way_[read.place] = under_way_.back();
  under_way_[read.place]->place = read.place;
  under_way_.pop_back();
  free_.push_back(&read);
  if (under_way_.empty()) {
    loop_.call_off(*this);
    looks_ = false;
  }
  on_range_(tag, std::move(failure));
}

void RangeCaller::renew(ReadOfRange& read, Dialect& dialect, const std::string& address) {
  renewal_.ask(
      dialect, address,
      [this, self = shared_from_this(), &read, generation = read.generation()](const std::exception_ptr& failure) {
        auto work = [this, self, &read, generation, failure] {
          if (!stopped_ && read.generation() == generation) read.renewed(failure);
        };
        // If memory runs out here, the read ends at its deadline.
        static_cast<void>(caught([&] { static_cast<void>(loop_.post(loop_work(std::move(work)))); }));
      });
}

void RangeCaller::stop() {
  stopped_ = true;
  loop_.call_off(*this);
  for (ReadOfRange* const read : under_way_) read->cancel();
  under_way_.clear();
}

}  // namespace penstock
