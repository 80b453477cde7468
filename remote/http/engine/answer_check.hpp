// Checks whether an answer contains the requested bytes.
#pragma once

#include <cstdint>
#include <string>

#include <formats/places/object_store.hpp>
#include <remote/http/dialect.hpp>
#include <remote/http/request.hpp>

namespace penstock {

struct AnswerCheck {
  enum class Verdict : std::uint8_t {
    right,    ///< contains these bytes
    whole,    ///< right, but contains the object from its beginning
    wrong,    ///< no correct server sends this; a retry may help
    changed,  ///< from another state of the object
    hopeless  ///< retries cannot help
  };
  Verdict verdict = Verdict::right;
  std::string text = {};  ///< explanation unless it is right
};

/// If a server sends whole objects instead of ranges, penstock accepts it up to this offset.
inline constexpr std::uint64_t kMostOfWhole = 64ULL << 20;

/// Checks the headers of a 200 or 206 to the request for [offset, offset + length) of `object`.
AnswerCheck check_answer(const Dialect& dialect, const StoredObject& object, std::uint64_t offset, std::uint64_t length,
                         const HttpResponse& head);

/// Returns "changed while it was read: it was 100 bytes, ETag "a", of 2026-01-02T03:04:05Z, and is ..."; empty if both
/// may be the same state.
std::string difference_of_states(const ObjectInfo& was, const ObjectInfo& is);

}  // namespace penstock
