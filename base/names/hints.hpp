// Lists the names of other libraries, and earlier names of penstock, with those that penstock has.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// One name that penstock does not have. Errors about unknown names are made from this table alone.
struct Hint {
  std::string_view where;   ///< the kind of name: "module", "Loader", "parameter", "step", "Dataset", "stats", ...
  std::string_view theirs;  ///< the unknown name; of steps, in lower case and without underscores
  std::string_view ours;    ///< the name to use instead; empty if none is needed
  std::string_view note;    ///< what `ours` is, or why none is needed; may be empty
};
std::span<const Hint> hints();

/// ": here it is OURS (NOTE)", or nothing if the table has no such name.
std::string hint_for(std::string_view where, std::string_view theirs);

}  // namespace penstock
