// Turns compiled outputs into outputs of windows. A row then consists of several rows of the original output.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <penstock/chain.hpp>
#include <transforms/chain/window.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// The chains of a program that have windows.
class WindowedChains {
 public:
  explicit WindowedChains(std::span<const FieldChain> chains);
  std::uint32_t windows() const { return static_cast<std::uint32_t>(windows_.size()); }
  /// Changes `outputs` to windows. `leaders` is indexed by output. Throws Error: invalid_argument or shape, for
  /// window_valid() without a window, and for outputs whose rows cannot be concatenated.
  void apply(std::span<const std::optional<std::uint32_t>> leaders, std::span<Output> outputs) const;

 private:
  void apply(std::uint32_t number, Output& output) const;

  std::vector<FieldChain> chains_;
  std::vector<ChainWindow> windows_;
  std::vector<std::uint32_t> numbers_;  // indexed by chain
};

}  // namespace penstock
