// Makes outputs of windows of the outputs that their chains were compiled to: a row becomes several of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <penstock/chain.hpp>
#include <transforms/chain/window.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// Which of a program's chains are of windows.
class WindowedChains {
 public:
  explicit WindowedChains(std::span<const FieldChain> chains);
  std::uint32_t windows() const { return static_cast<std::uint32_t>(windows_.size()); }
  /// `leaders`: by output. Throws Error: invalid_argument or shape, for window_valid() of no window, and for outputs
  /// whose rows cannot be one behind the other.
  void apply(std::span<const std::optional<std::uint32_t>> leaders, std::span<Output> outputs) const;

 private:
  void apply(std::uint32_t number, Output& output) const;

  std::vector<FieldChain> chains_;
  std::vector<ChainWindow> windows_;
  std::vector<std::uint32_t> numbers_;  // by chain
};

}  // namespace penstock
