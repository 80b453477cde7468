#include <utility>

#include <formats/io/hash.hpp>
#include <pack/key_table.hpp>

namespace penstock {

// Returns the slot that holds the key, or the free slot where it belongs.
std::size_t KeyTable::slot_of(std::string_view key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash64(key) & mask;
  while (slots_[slot] != 0 && key_of_(slots_[slot] - 1) != key) slot = (slot + 1) & mask;
  return slot;
}

bool KeyTable::contains(std::string_view key) const {
  return !slots_.empty() && slots_[slot_of(key)] != 0;
}

void KeyTable::insert(std::string_view key, std::uint32_t number) {
  if (used_ * 4 >= slots_.size() * 3) grow();
  slots_[slot_of(key)] = number + 1;
  ++used_;
}

void KeyTable::grow() {
  const std::vector<std::uint32_t> before =
      std::exchange(slots_, std::vector<std::uint32_t>(slots_.empty() ? 64 : slots_.size() * 2));
  const std::size_t mask = slots_.size() - 1;
  for (const std::uint32_t number : before) {
    if (number == 0) continue;
    std::size_t slot = hash64(key_of_(number - 1)) & mask;  // keys are unique, so none need be compared
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = number;
  }
}

}  // namespace penstock
