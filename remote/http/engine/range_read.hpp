// Reads one range of one object, until it has arrived or is given up.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include <formats/places/object_store.hpp>
#include <remote/http/dialect.hpp>
#include <remote/http/engine/answer_check.hpp>
#include <remote/http/engine/exchange.hpp>
#include <remote/http/engine/loop.hpp>
#include <remote/http/engine/recent_waits.hpp>
#include <remote/http/engine/store_counters.hpp>

namespace penstock {

class ReadOfRange;

/// Owner of the ranges. All calls are made in the loop's thread.
class ReadsOwner {
 public:
  virtual ~ReadsOwner() = default;
  virtual void answer(ReadOfRange& read, std::uint64_t tag, std::exception_ptr failure) = 0;
  /// Renews credentials, then calls read.renewed().
  virtual void renew(ReadOfRange& read, Dialect& dialect, const std::string& address) = 0;
  virtual Dialect& dialect_of(const std::string& address) = 0;
  virtual StoreCounters& counters() = 0;
  virtual RecentWaits& waits() = 0;
};

/// Belongs to the loop's thread, and serves one range after another.
class ReadOfRange final : private Loop::Timer {
 public:
  using Clock = Loop::Clock;

  ReadOfRange(Loop& loop, ReadsOwner& caller);
  ReadOfRange(ReadOfRange&&) = delete;

  void start(RangeRead read);        ///< ends with ReadsOwner::answer()
  void cancel();                     ///< no further calls or writes
  void look(Clock::time_point now);  ///< called periodically
  /// Called with the result of renewing its credentials.
  void renewed(const std::exception_ptr& failure);

  std::uint64_t generation() const { return generation_; }  ///< changes with each range
  std::size_t place = 0;                                    ///< index in the caller's list of reads in flight

 private:
  // One request for the missing bytes. A second one runs while a slow one is hedged.
  class Attempt final : public Exchange {
   public:
    explicit Attempt(ReadOfRange& read) : read_(read) {}
    bool begin(HttpRequest& request) override { return read_.begin(*this, request); }
    bool on_head(const HttpResponse& head) override;
    bool on_body(std::span<const std::byte> bytes) override;
    void on_end(Failure failure) override { read_.end(*this, std::move(failure)); }
    void on_connection() override;

    std::uint64_t from = 0, at = 0;  // of the object: first byte requested, and next byte
    std::size_t part = 0;            // part that contains `at`, or the next one
    bool scatters = false;           // the answer contains bytes of the object
    AnswerCheck check = {};
    HttpResponse response = {};  // any other answer, complete
    std::optional<HttpRequest> redirected = {};
    Clock::time_point began = {};

   private:
    void scatter(std::span<const std::byte> bytes);
    ReadOfRange& read_;
  };

  void due() override;
  bool begin(Attempt& attempt, HttpRequest& request);
  void end(Attempt& attempt, Failure failure);
  void judge(Attempt& attempt);
  void follow(Attempt& attempt);
  void ask_anew(Attempt& attempt);
  void retry(std::string failure, std::chrono::milliseconds at_least = {});
  void give_up(std::string text);
  void conclude(std::exception_ptr failure);
  void conclude_later(std::exception_ptr failure);
  void fail(ErrorKind kind, std::string cause);
  void arrived();
  void distrust(const Attempt& wrong);
  std::uint64_t first() const { return read_.parts.front().offset; }
  std::uint64_t last_end() const { return read_.parts.back().offset + read_.parts.back().into.size(); }
  const std::string& address() const { return read_.object->address; }
  bool is_under_way() const;

  Loop& loop_;
  ReadsOwner& caller_;
  RangeRead read_{};
  Dialect* dialect_ = nullptr;
  std::array<Attempt, 2> attempts_{Attempt(*this), Attempt(*this)};
  std::uint64_t generation_ = 0;
  std::uint64_t arrived_to_ = 0;  // every byte of the object before it is in place
  unsigned failures_ = 0, unreachable_ = 0, wrong_ = 0, anew_ = 0, redirects_ = 0;
  bool has_begun_ = false, renewing_ = false, hedged_ = false;
  bool passes_caches_ = false;    // results are written past the CPU caches
  std::exception_ptr concluded_;  // reported when the timer fires
  std::string last_failure_;
  Clock::time_point began_{}, deadline_{};
};

}  // namespace penstock
