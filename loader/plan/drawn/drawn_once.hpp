// Draws entries by weight without replacement: an epoch in which none comes twice, heavier ones sooner.
#pragma once

#include <cstdint>

#include <penstock/formats/views/shared_numbers.hpp>
#include <penstock/loader/plan/part_table.hpp>

namespace penstock {

/// Fills `order` with the first entries of an epoch, as many as it holds; so many have parts. Of large tables on all
/// cores, with nothing beside `order` but some megabytes.
void draw_once(const PartTable& parts, std::uint64_t key, SharedNumbers& order);

}  // namespace penstock
