#include <nlohmann/json.hpp>

#include <base/printable.hpp>
#include <formats/tar/left_out.hpp>

namespace penstock {

void TarLeftOut::add(const TarMember& member) {
  constexpr std::string_view kNoValues = "5DV";  // directories, GNU lists of directories, labels
  const bool hidden = member.name[member.name.rfind('/') + 1] == '.';
  if (hidden || kNoValues.find(member.type) != std::string_view::npos) return;
  if (count_++ == 0) first_ = one_line(member.name);
}

std::string TarLeftOut::attributes(std::optional<std::uint64_t> after_end) const {
  nlohmann::json attributes = nlohmann::json::object();
  if (count_ != 0) attributes = {{"left_out", count_}, {"left_out_example", first_}};
  if (after_end)
    attributes["warnings"] = {"non-zero bytes follow the end of the archive at offset " + std::to_string(*after_end) +
                              "; they are not read"};
  return attributes.dump();
}

}  // namespace penstock
