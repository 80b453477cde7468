// Decides what the outputs of a loader deliver for samples without their field: LoaderOptions::missing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <penstock/schema.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// Writes "raise" in quotes, or the number.
std::string text_of(const MissingRows& rows);

/// The outputs of a program, and how they depend on each other.
struct LedOutputs {
  std::span<Output> outputs;
  std::span<const std::uint32_t> order;                   ///< leaders before the outputs that follow them
  std::span<const std::optional<std::uint32_t>> leaders;  ///< by output: the one that it follows
};

/// Sets Output::missing, `fill`, `unfilled` and `needed_leaders`. `otherwise` is for outputs that `by_output` does not
/// name. Outputs that describe their leader, such as lengths(), take over its rule: zeros, or no items. Throws Error:
/// invalid_argument, naming the output,
/// - for a name in `by_output` that is not an output
/// - for a number or Missing::empty in `by_output` that cannot make a row
/// - for an output that follows a filled one, but is neither filled nor empty
void treat_missing(const LedOutputs& led, const MissingRows& otherwise, std::span<const MissingRowsOf> by_output);

}  // namespace penstock
