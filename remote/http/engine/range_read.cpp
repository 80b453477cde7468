#include <algorithm>
#include <cstring>
#include <utility>

#include <base/caught.hpp>
#include <base/printable.hpp>
#include <base/processor/streamed_copy.hpp>
#include <penstock/error.hpp>
#include <remote/http/backoff.hpp>
#include <remote/http/engine/range_read.hpp>
#include <remote/http/header_values.hpp>
#include <remote/http/notice.hpp>
#include <remote/http/redirect.hpp>
#include <remote/http/retry_after.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostOfRefusal = 64U << 10;  // of an error body
constexpr unsigned kMostAnew = 2, kMostUnreachable = 5;
constexpr std::chrono::milliseconds kSoonestHedge{50};
// The consumer uses longer ranges so late that they would only displace other data in the CPU caches.
constexpr std::uint64_t kLongestCached = 512U << 10;

}  // namespace

ReadOfRange::ReadOfRange(Loop& loop, ReadsOwner& caller) : loop_(loop), caller_(caller) {}

void ReadOfRange::start(RangeRead read) {
  ++generation_;
  read_ = std::move(read);
  arrived_to_ = first();
  passes_caches_ = last_end() - first() > kLongestCached;
  failures_ = unreachable_ = wrong_ = anew_ = redirects_ = 0;
  has_begun_ = renewing_ = hedged_ = false;
  concluded_ = nullptr;
  last_failure_.clear();
  for (Attempt& attempt : attempts_) {
    attempt.redirected.reset();
    attempt.scatters = false;  // bytes of the previous range do not count
  }
  dialect_ = &caller_.dialect_of(address());
  if (last_end() > read_.object->info.size) {
    conclude_later(std::make_exception_ptr(
        Error::corrupt("it ends after byte " + with_commas(read_.object->info.size) + ", inside the requested range",
                       {.shard = address(), .offset = first()})));
    return;
  }
  loop_.start(attempts_[0]);
}

void ReadOfRange::cancel() {
  loop_.call_off(*this);
  for (Attempt& attempt : attempts_) loop_.cancel(attempt);
  ++generation_;
  renewing_ = false;
  read_.object.reset();
}

bool ReadOfRange::is_under_way() const {
  return loop_.is_under_way(attempts_[0]) || loop_.is_under_way(attempts_[1]);
}

void ReadOfRange::conclude(std::exception_ptr failure) {
  const std::uint64_t tag = read_.tag;
  cancel();
  concluded_ = nullptr;
  caller_.answer(*this, tag, std::move(failure));
}

void ReadOfRange::conclude_later(std::exception_ptr failure) {
  concluded_ = std::move(failure);
  loop_.set(*this, Clock::now());
}

void ReadOfRange::fail(ErrorKind kind, std::string cause) {
  conclude(std::make_exception_ptr(Error(kind, std::move(cause), {.shard = address(), .offset = first()})));
}

void ReadOfRange::due() {
  if (concluded_ != nullptr) {
    conclude(std::exchange(concluded_, nullptr));
    return;
  }
  loop_.start(attempts_[0]);
}

bool ReadOfRange::begin(Attempt& attempt, HttpRequest& request) {
  attempt.began = Clock::now();
  if (!has_begun_) {
    has_begun_ = true;
    began_ = attempt.began;
    // A long range may take longer: each of its requests is watched for stalls separately.
    constexpr std::uint64_t kBytesPerMillisecond = (1U << 20) / 1000;
    deadline_ =
        began_ + loop_.settings().deadline + std::chrono::milliseconds((last_end() - first()) / kBytesPerMillisecond);
  }
  const auto failure = caught([&] {
    if (attempt.redirected) {
      request = *attempt.redirected;
      return;
    }
    if (dialect_->stale(address())) {
      if (&attempt == &attempts_[1]) return;
      caller_.renew(*this, *dialect_, address());
      renewing_ = true;
      return;
    }
    request = dialect_->read_range(*read_.object, arrived_to_, last_end() - arrived_to_);
  });
  if (failure != nullptr) conclude_later(failure);
  if (request.url.empty()) return false;
  request.expected = last_end() - arrived_to_;
  attempt.from = attempt.at = arrived_to_;
  attempt.part = 0;
  attempt.scatters = false;
  attempt.check = {};
  caller_.counters().add_request(failures_ > 0, &attempt == &attempts_[1]);
  return true;
}

void ReadOfRange::renewed(const std::exception_ptr& failure) {
  if (!renewing_) return;
  renewing_ = false;
  if (failure != nullptr) {
    conclude(explained(failure, [&] { return ErrorContext{.shard = address()}; }));
  } else if (!is_under_way()) {
    loop_.start(attempts_[0]);
  }
}

void ReadOfRange::Attempt::on_connection() {
  read_.caller_.counters().add_connection();
}

bool ReadOfRange::Attempt::on_head(const HttpResponse& head) {
  if (head.status != 200 && head.status != 206) {
    response = head;
    response.body.clear();
    return true;
  }
  scatters = true;
  check = check_answer(*read_.dialect_, *read_.read_.object, from, read_.last_end() - from, head);
  if (check.verdict == AnswerCheck::Verdict::whole) {
    at = 0;
    constexpr std::uint64_t kWorthAWord = 1U << 20;
    if (read_.read_.object->info.size > read_.last_end() - from + kWorthAWord) say_whole_objects(read_.address());
  }
  return check.verdict == AnswerCheck::Verdict::right || check.verdict == AnswerCheck::Verdict::whole;
}

bool ReadOfRange::Attempt::on_body(std::span<const std::byte> bytes) {
  if (!scatters) {
    const std::size_t more = std::min(bytes.size(), kMostOfRefusal - response.body.size());
    response.body.append(reinterpret_cast<const char*>(bytes.data()), more);
    return more == bytes.size();
  }
  const std::uint64_t left = read_.last_end() - at;
  if (bytes.size() > left) {
    if (check.verdict == AnswerCheck::Verdict::right)
      check = {AnswerCheck::Verdict::wrong, "the answer has more bytes than requested"};
    scatter(bytes.first(static_cast<std::size_t>(left)));
    return false;
  }
  scatter(bytes);
  return check.verdict == AnswerCheck::Verdict::right || at < read_.last_end();
}

void ReadOfRange::Attempt::scatter(std::span<const std::byte> bytes) {
  const auto& parts = read_.read_.parts;
  const std::uint64_t end = at + bytes.size();
  while (part < parts.size()) {
    const RangePart& to = parts[part];
    const std::uint64_t to_end = to.offset + to.into.size();
    if (to_end <= at) {
      ++part;
      continue;
    }
    if (to.offset >= end) break;
    const std::uint64_t begins = std::max(at, to.offset), ends = std::min(end, to_end);
    const std::span<const std::byte> came = bytes.subspan(begins - at, ends - begins);
    std::byte* const into = to.into.data() + (begins - to.offset);
    read_.passes_caches_ ? copy_streamed(into, came) : static_cast<void>(std::memcpy(into, came.data(), came.size()));
    if (ends < to_end) break;
    ++part;
  }
  at = end;
}

// Keeps bytes that arrived before a request broke. Requires a version: the size does not identify the object's state.
void ReadOfRange::arrived() {
  if (read_.object->state().version.empty()) return;
  for (const Attempt& attempt : attempts_) {
    if (attempt.scatters && attempt.from <= arrived_to_ && attempt.check.verdict == AnswerCheck::Verdict::right)
      arrived_to_ = std::max(arrived_to_, attempt.at);
  }
}

// Discards the progress from the beginning of a wrong answer. The other request is cancelled too, because wrong bytes
// may have overwritten its own.
void ReadOfRange::distrust(const Attempt& wrong) {
  const std::uint64_t begin = wrong.check.verdict == AnswerCheck::Verdict::whole ? first() : wrong.from;
  if (wrong.at <= begin) return;
  arrived_to_ = std::min(arrived_to_, begin);
  Attempt& other = attempts_[&wrong == attempts_.data() ? 1 : 0];
  loop_.cancel(other);
  other.scatters = false;
}

void ReadOfRange::end(Attempt& attempt, Failure failure) {
  const auto waited = Clock::now() - attempt.began;
  caller_.counters().add_wait(waited);
  using Verdict = AnswerCheck::Verdict;
  const Verdict verdict = attempt.check.verdict;
  if (attempt.scatters) {
    const std::uint64_t came = attempt.at - (verdict == Verdict::whole ? 0 : attempt.from);
    caller_.counters().add_bytes(came);
    if (verdict == Verdict::changed) return fail(ErrorKind::io, attempt.check.text);
    if (verdict == Verdict::hopeless) return fail(ErrorKind::unsupported, attempt.check.text);
    if (verdict != Verdict::wrong && attempt.at == last_end()) {
      caller_.waits().add(waited);
      caller_.counters().add_answer(came, waited);
      return conclude(nullptr);
    }
  }
  switch (failure.kind) {
    case Failure::Kind::hopeless:
      return fail(ErrorKind::io, std::move(failure.text));
    case Failure::Kind::unable:
      return fail(ErrorKind::resource, std::move(failure.text));
    case Failure::Kind::unreachable:
      if (++unreachable_ >= kMostUnreachable) return fail(ErrorKind::io, std::move(failure.text));
      [[fallthrough]];
    case Failure::Kind::broken:
      return retry(std::move(failure.text));
    case Failure::Kind::none:
    case Failure::Kind::stopped:
      break;
  }
  if (!attempt.scatters) return judge(attempt);
  distrust(attempt);
  if (++wrong_ >= loop_.settings().tries)
    return give_up(verdict == Verdict::wrong ? attempt.check.text : "the answers are truncated");
  if (verdict == Verdict::wrong) return retry(attempt.check.text);
  // The server claims that the answer is complete, but it is shorter. All of its bytes are rejected.
  attempt.check.verdict = Verdict::wrong;
  retry("the answer ends after " + with_commas(attempt.at) + " of " + with_commas(last_end()) + " bytes");
}

// Handles an answer without bytes of the object.
void ReadOfRange::judge(Attempt& attempt) {
  const HttpResponse& response = attempt.response;
  switch (dialect_->meaning(response)) {
    case Meaning::again:
      return retry(said_by_server(*dialect_, response), retry_after(response));
    case Meaning::anew:
      return ask_anew(attempt);
    case Meaning::elsewhere:
      return follow(attempt);
    case Meaning::absent:
      return fail(ErrorKind::io, "no longer exists: " + said_by_server(*dialect_, response));
    case Meaning::changed:
      return fail(ErrorKind::io,
                  "changed while it was read: it is no longer version " + one_line(read_.object->state().version) +
                      ", but " + (response.header("etag").empty() ? "another one" : one_line(response.header("etag"))));
    case Meaning::outside: {
      const auto range = parse_content_range(response.header("content-range"));
      if (range && range->size && *range->size != read_.object->info.size)
        return fail(ErrorKind::io, "changed while it was read: it was " + with_commas(read_.object->info.size) +
                                       " bytes, and is now " + with_commas(*range->size));
      [[fallthrough]];
    }
    case Meaning::done:
      if (++wrong_ >= loop_.settings().tries) return give_up(said_by_server(*dialect_, response));
      return retry(said_by_server(*dialect_, response));
    case Meaning::exists:
    case Meaning::refused:
      return fail(ErrorKind::io, said_by_server(*dialect_, response));
  }
}

void ReadOfRange::follow(Attempt& attempt) {
  if (++redirects_ > kMostRedirects)
    return fail(ErrorKind::io, "is redirected more than " + std::to_string(kMostRedirects) + " times");
  HttpRequest next = attempt.redirected ? std::move(*attempt.redirected)
                                        : dialect_->read_range(*read_.object, arrived_to_, last_end() - arrived_to_);
  if (auto problem = redirect(next, attempt.response.header("location"))) return fail(ErrorKind::io, *problem);
  attempt.redirected = std::move(next);
  loop_.start(attempt);
}

void ReadOfRange::ask_anew(Attempt& attempt) {
  if (++anew_ > kMostAnew || attempt.redirected)
    return fail(ErrorKind::io, said_by_server(*dialect_, attempt.response));
  dialect_->learn(address(), attempt.response);
  loop_.start(attempt);
}

void ReadOfRange::retry(std::string failure, std::chrono::milliseconds at_least) {
  last_failure_ = std::move(failure);
  ++failures_;
  arrived();
  redirects_ = 0;
  for (Attempt& one : attempts_) {
    if (!loop_.is_under_way(one)) one.redirected.reset();
  }
  if (is_under_way()) return;  // the other attempt may still succeed
  const auto at = Clock::now() + std::max(backoff(failures_), at_least);
  if (at >= deadline_) return give_up(std::exchange(last_failure_, {}));
  hedged_ = false;
  loop_.set(*this, at);
}

void ReadOfRange::give_up(std::string text) {
  fail(ErrorKind::io,
       "given up after " + std::to_string(failures_ + 1) + " requests in " +
           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began_).count()) +
           " s: " + text);
}

void ReadOfRange::look(Clock::time_point now) {
  if (!has_begun_ || concluded_ != nullptr) return;
  if (now >= deadline_) return give_up(last_failure_.empty() ? "no answer" : last_failure_);
  const Attempt& first_one = attempts_[0];
  const bool waits = failures_ > 0 || renewing_ || (!first_one.scatters && loop_.is_under_way(first_one));
  if (waits && now - began_ >= kWorthALine) say_waiting(address(), now - began_, last_failure_);
  if (loop_.settings().hedge <= 0 || hedged_ || !loop_.is_sent(first_one)) return;
  if (read_.object->state().version.empty()) return;  // two concurrent answers may come from different versions
  const auto usual = caller_.waits().ninth_of_ten();
  if (usual == Clock::duration::max()) return;
  const auto slow = std::chrono::duration_cast<Clock::duration>(usual * loop_.settings().hedge);
  if (now - first_one.began < std::max<Clock::duration>(slow, kSoonestHedge)) return;
  hedged_ = true;
  loop_.start(attempts_[1]);
}

}  // namespace penstock
