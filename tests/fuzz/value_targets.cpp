#include <array>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

std::span<const Target> value_targets() {
  static constexpr std::array kTargets{
      Target{"chain", chain},         Target{"jpeg_codec", jpeg_codec}, Target{"jpt_codec", jpt_codec},
      Target{"messages", messages},   Target{"las_codec", las_codec},   Target{"laz_codec", laz_codec},
      Target{"npy_codec", npy_codec}, Target{"off_codec", off_codec},   Target{"pcd_codec", pcd_codec},
      Target{"ply_codec", ply_codec}, Target{"png_codec", png_codec},   Target{"points_codec", points_codec},
      Target{"state", state},         Target{"text_codec", text_codec}, Target{"webp_codec", webp_codec},
      Target{"xyz_codec", xyz_codec},
  };
  return kTargets;
}

}  // namespace penstock::fuzz
