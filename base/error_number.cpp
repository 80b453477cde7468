#include <cerrno>

#include <base/error_number.hpp>

namespace penstock {

std::string error_number_name(int number) {
  switch (number) {  // strerrorname_np() is there from glibc 2.32 on
    case EPERM:
      return "EPERM";
    case ENOENT:
      return "ENOENT";
    case EINTR:
      return "EINTR";
    case EIO:
      return "EIO";
    case ENXIO:
      return "ENXIO";
    case EBADF:
      return "EBADF";
    case EAGAIN:
      return "EAGAIN";
    case ENOMEM:
      return "ENOMEM";
    case EACCES:
      return "EACCES";
    case EFAULT:
      return "EFAULT";
    case EBUSY:
      return "EBUSY";
    case EEXIST:
      return "EEXIST";
    case EXDEV:
      return "EXDEV";
    case ENODEV:
      return "ENODEV";
    case ENOTDIR:
      return "ENOTDIR";
    case EISDIR:
      return "EISDIR";
    case EINVAL:
      return "EINVAL";
    case ENFILE:
      return "ENFILE";
    case EMFILE:
      return "EMFILE";
    case ENOTTY:
      return "ENOTTY";
    case EFBIG:
      return "EFBIG";
    case ENOSPC:
      return "ENOSPC";
    case ESPIPE:
      return "ESPIPE";
    case EROFS:
      return "EROFS";
    case ENOSYS:
      return "ENOSYS";
    case EOVERFLOW:
      return "EOVERFLOW";
    case EOPNOTSUPP:
      return "EOPNOTSUPP";
    case ETIMEDOUT:
      return "ETIMEDOUT";
    case ECANCELED:
      return "ECANCELED";
    case ESTALE:
      return "ESTALE";
    case EDQUOT:
      return "EDQUOT";
    default:
      return std::to_string(number);
  }
}

}  // namespace penstock
