#include <remote/http/request.hpp>

namespace penstock {

std::string_view HttpResponse::header(std::string_view lower_case_name) const {
  for (auto at = headers.rbegin(); at != headers.rend(); ++at) {
    if (at->first == lower_case_name) return at->second;
  }
  return {};
}

}  // namespace penstock
