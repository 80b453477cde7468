// Explains the state of a loader in words.
#pragma once

#include <string>

#include <bench/watch/top.hpp>

namespace penstock {

/// One or two sentences: how much the training loop waited in the whole run, for which stage, and the remedy for the
/// bottleneck. Shorter than Verdict::text, because its numbers are not published.
std::string diagnosis_text(const LoaderUse& use);

}  // namespace penstock
