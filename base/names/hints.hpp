// Maps names of other libraries, and earlier names of penstock, to penstock's current names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// A name that penstock does not have. Errors about unknown names use only this table.
struct Hint {
  std::string_view where;   ///< the kind of name: "module", "Loader", "parameter", "step", "Dataset", "stats", ...
  std::string_view theirs;  ///< the unknown name; for steps in lower case and without underscores
  std::string_view ours;    ///< the name to use instead; empty if none is needed
  std::string_view note;    ///< describes `ours`, or why no name is needed; may be empty
};
std::span<const Hint> hints();

/// Returns ": use OURS (NOTE)", or an empty text if the table does not contain the name.
std::string hint_for(std::string_view where, std::string_view theirs);

}  // namespace penstock
