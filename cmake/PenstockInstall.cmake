# Installs headers, the shared library, the command, and a package that exports penstock::penstock and penstock::torch.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The headers that programs may include, and what these include: no third-party library shows in them, so that a user's
# program needs no package but penstock. consumer_build_and_run fails where one includes what is not in this list.
set(public_headers
  base/error.hpp
  base/memory.hpp
  device/device.hpp
  device/file_reads.hpp
  device/jpeg_decoder.hpp
  device/passes.hpp
  formats/dataset.hpp
  formats/extent.hpp
  formats/index.hpp
  formats/mosaic.hpp
  formats/open_options.hpp
  formats/open_progress.hpp
  formats/packed/join.hpp
  formats/places/store_counts.hpp
  formats/schema.hpp
  formats/views/number_table.hpp
  formats/views/sample_bits.hpp
  formats/views/sample_list.hpp
  formats/views/shared_numbers.hpp
  formats/views/views.hpp
  loader/batch/batch.hpp
  loader/batch/field.hpp
  loader/value_options.hpp
  loader/choices/draws.hpp
  loader/windows/column.hpp
  loader/choices/lengths.hpp
  loader/choices/only.hpp
  loader/choices/sort.hpp
  loader/choices/split.hpp
  loader/choices/values.hpp
  loader/dataset_record.hpp
  loader/ledger/audit.hpp
  loader/length_buckets.hpp
  loader/loader.hpp
  loader/draws.hpp
  loader/mixture.hpp
  loader/mixture_file.hpp
  loader/mixture_options.hpp
  loader/model/demands.hpp
  loader/model/gains.hpp
  loader/model/simulation.hpp
  loader/options.hpp
  loader/node/node_cache_stats.hpp
  loader/plan/batch_limits.hpp
  loader/plan/length_table.hpp
  loader/plan/state.hpp
  loader/read/read_engine.hpp
  loader/time/histogram.hpp
  loader/time/levels.hpp
  loader/time/read_span.hpp
  loader/time/stats.hpp
  loader/time/step_time.hpp
  loader/time/trace.hpp
  loader/time/verdict.hpp
  loader/choices/token_blocks.hpp
  loader/tokens/token_options.hpp
  loader/work/row_account.hpp
  pack/convert.hpp
  pack/pack_source.hpp
  pack/recoding.hpp
  pack/verify.hpp
  pack/writer.hpp
  staging/options.hpp
  staging/stage.hpp
  transforms/account.hpp
  transforms/chain/chain.hpp
  transforms/chain/common_steps.hpp
  transforms/chain/interpolation.hpp
  transforms/chain/own_steps.hpp
  transforms/chain/ragged_steps.hpp
  transforms/chain/step.hpp
  transforms/chain/step_values.hpp
  transforms/chain/window.hpp
  transforms/clouds/codecs/cloud.hpp
  transforms/clouds/codecs/cloud_recoder.hpp
  transforms/clouds/samplers/sampler.hpp
  transforms/clouds/steps/center.hpp
  transforms/clouds/steps/cloud_decode.hpp
  transforms/clouds/steps/dropout.hpp
  transforms/clouds/steps/finite.hpp
  transforms/clouds/steps/followers.hpp
  transforms/clouds/steps/jitter.hpp
  transforms/clouds/steps/layout.hpp
  transforms/clouds/steps/pad.hpp
  transforms/clouds/steps/rotate.hpp
  transforms/clouds/steps/sample.hpp
  transforms/clouds/steps/scale.hpp
  transforms/clouds/steps/shift.hpp
  transforms/clouds/steps/shuffle.hpp
  transforms/clouds/steps/surface.hpp
  transforms/clouds/steps/unit.hpp
  transforms/codec.hpp
  transforms/geometry.hpp
  transforms/image/codecs/pixel_recoder.hpp
  transforms/image/jpeg/recoder.hpp
  transforms/image/steps/auto_augment.hpp
  transforms/image/steps/center_crop.hpp
  transforms/image/steps/color_jitter.hpp
  transforms/image/steps/flips.hpp
  transforms/image/steps/gaussian_blur.hpp
  transforms/image/steps/image_decode.hpp
  transforms/image/steps/numbers.hpp
  transforms/image/steps/pad_image.hpp
  transforms/image/steps/random_affine.hpp
  transforms/image/steps/random_color.hpp
  transforms/image/steps/random_crop.hpp
  transforms/image/steps/random_erasing.hpp
  transforms/image/steps/random_resized_crop.hpp
  transforms/image/steps/random_rotation.hpp
  transforms/image/steps/resize.hpp
  transforms/mix.hpp
  transforms/parallel.hpp
  transforms/program/output.hpp
  transforms/program/program.hpp
  transforms/random.hpp
  transforms/tensor.hpp
  transforms/transform.hpp)
foreach(header IN LISTS public_headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock/${folder})
endforeach()
# The libtorch adapter needs PyTorch where it is used, not here.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bindings/torch/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock/torch
  FILES_MATCHING PATTERN "*.hpp" PATTERN "examples" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/penstock/penstock.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock)
install(TARGETS penstock EXPORT penstockTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(PENSTOCK_WITH_CUDA)
  install(TARGETS penstock_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(PENSTOCK_WITH_REMOTE)
  install(TARGETS penstock_remote_library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
install(EXPORT penstockTargets NAMESPACE penstock:: DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/penstockConfig.cmake.in ${PROJECT_BINARY_DIR}/penstockConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/penstockConfig.cmake ${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/PenstockTorch.cmake DESTINATION ${package})
if(PENSTOCK_BUILD_COMMAND)
  file(RELATIVE_PATH library_from_command /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_property(TARGET penstock_command APPEND PROPERTY INSTALL_RPATH $ORIGIN/${library_from_command})
  install(TARGETS penstock_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
