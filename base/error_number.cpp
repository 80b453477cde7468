#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include <base/error_number.hpp>

namespace penstock {

std::string error_number_name(int number) {
  // strerrorname_np() exists only since glibc 2.32.
  static constexpr std::pair<int, const char*> kNames[] = {
      {EPERM, "EPERM"},         {ENOENT, "ENOENT"},       {EINTR, "EINTR"},         {EIO, "EIO"},
      {ENXIO, "ENXIO"},         {EBADF, "EBADF"},         {EAGAIN, "EAGAIN"},       {ENOMEM, "ENOMEM"},
      {EACCES, "EACCES"},       {EFAULT, "EFAULT"},       {EBUSY, "EBUSY"},         {EEXIST, "EEXIST"},
      {EXDEV, "EXDEV"},         {ENODEV, "ENODEV"},       {ENOTDIR, "ENOTDIR"},     {EISDIR, "EISDIR"},
      {EINVAL, "EINVAL"},       {ENFILE, "ENFILE"},       {EMFILE, "EMFILE"},       {ENOTTY, "ENOTTY"},
      {EFBIG, "EFBIG"},         {ENOSPC, "ENOSPC"},       {ESPIPE, "ESPIPE"},       {EROFS, "EROFS"},
      {ENOSYS, "ENOSYS"},       {ENOPKG, "ENOPKG"},       {EOVERFLOW, "EOVERFLOW"}, {EOPNOTSUPP, "EOPNOTSUPP"},
      {ETIMEDOUT, "ETIMEDOUT"}, {ECANCELED, "ECANCELED"}, {ESTALE, "ESTALE"},       {EDQUOT, "EDQUOT"}};
  const auto* known = std::ranges::find(kNames, number, &std::pair<int, const char*>::first);
  return known != std::end(kNames) ? known->second : std::to_string(number);
}

}  // namespace penstock
