// Whether an answer holds the bytes that were asked for.
#pragma once

#include <cstdint>
#include <string>

#include <formats/places/object_store.hpp>
#include <remote/http/dialect.hpp>
#include <remote/http/request.hpp>

namespace penstock {

struct AnswerCheck {
  enum class Verdict : std::uint8_t {
    right,    ///< of these bytes
    whole,    ///< right, but the object from its beginning
    wrong,    ///< no right server answers so: another attempt may help
    changed,  ///< of another state of the object
    hopeless  ///< of no use however often one asks
  };
  Verdict verdict = Verdict::right;
  std::string text = {};  ///< where it is not right
};

/// A server that sends whole objects where ranges are asked for is put up with as far as this into them.
inline constexpr std::uint64_t kMostOfWhole = 64ULL << 20;

/// Of the headers of a 200 or 206 to the request for [offset, offset + length) of `object`.
AnswerCheck check_answer(const Dialect& dialect, const StoredObject& object, std::uint64_t offset, std::uint64_t length,
                         const HttpResponse& head);

/// "changed while it was read: it was 100 bytes, ETag "a", of 2026-01-02T03:04:05Z, and is ..."; empty where both may
/// be the same state.
std::string difference_of_states(const ObjectInfo& was, const ObjectInfo& is);

}  // namespace penstock
