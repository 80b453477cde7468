// The ranges of one RangeReader.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include <formats/places/object_store.hpp>
#include <remote/http/engine/loop.hpp>
#include <remote/http/engine/range_read.hpp>
#include <remote/http/engine/recent_waits.hpp>
#include <remote/http/engine/renewal.hpp>
#include <remote/http/engine/store_counters.hpp>
#include <remote/http/transport.hpp>

namespace penstock {

/// Belongs to the loop's thread. Only counters().counts() and give() may be called from other threads.
class RangeCaller final : public ReadsOwner, public std::enable_shared_from_this<RangeCaller>, private Loop::Timer {
 public:
  RangeCaller(Loop& loop, Renewal& renewal, StoreCounters& all, DialectOf dialect_of, OnRange on_range);
  RangeCaller(RangeCaller&&) = delete;

  void take(std::vector<RangeRead>& reads);
  void stop();  ///< no range is answered after this

  // Called by its reads:
  void answer(ReadOfRange& read, std::uint64_t tag, std::exception_ptr failure) override;
  void renew(ReadOfRange& read, Dialect& dialect, const std::string& address) override;
  void give(std::uint64_t tag, std::exception_ptr failure) { on_range_(tag, std::move(failure)); }  ///< any thread
  Dialect& dialect_of(const std::string& address) override { return dialect_of_(address); }
  StoreCounters& counters() override { return counters_; }
  RecentWaits& waits() override { return waits_; }

 private:
  void due() override;
  void look_again();

  Loop& loop_;
  Renewal& renewal_;
  const DialectOf dialect_of_;
  const OnRange on_range_;
  StoreCounters counters_;
  RecentWaits waits_;
  std::vector<std::unique_ptr<ReadOfRange>> all_;
  std::vector<ReadOfRange*> free_, under_way_;
  bool looks_ = false, stopped_ = false;
};

}  // namespace penstock
