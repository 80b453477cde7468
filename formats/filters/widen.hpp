// Widens numbers to a larger dtype that holds each of them exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <penstock/schema.hpp>

namespace penstock {

/// Returns whether `to` is larger than `from` and holds all its numbers, in the same kind: unsigned integers to larger
/// integers of either sign, signed integers to larger signed ones, float16 and bfloat16 to float32 and float64, float32
/// to float64.
bool widens(DType from, DType to);

/// Returns the smallest dtype of the same kind that holds all numbers of both. Returns nothing for integers and floats,
/// for uint64 and signed integers, and for bool and any other dtype.
std::optional<DType> dtype_of_both(DType a, DType b);

/// The parameter of Filter::Id::widen, for elements that are stored as `from` and read as `to`.
std::uint32_t widening_parameter(DType from, DType to);
/// The factor by which such a block grows. Throws Error: corrupt, for an invalid parameter.
std::uint64_t growth_of_widening(std::uint32_t parameter);

/// Converts each element. Both sides are little-endian and need no alignment.
/// Throws Error: corrupt, if `stored` has a partial element or `wide` has the wrong size.
void widen(std::span<const std::byte> stored, std::span<std::byte> wide, std::uint32_t parameter);

}  // namespace penstock
