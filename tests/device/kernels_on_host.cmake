# penstock_kernels_on_host: the very source of the kernels, compiled for the processor. With CUDA's own headers for
# float16 and bfloat16 where they are, else with those of cuda_absent/.
set(here ${CMAKE_CURRENT_LIST_DIR})
set(kernels ${here}/../../device/cuda/image_kernel.cu ${here}/../../device/cuda/point_kernel.cu
  ${here}/../../device/cuda/resample_kernel.cu)
set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX
  # They read words from bytes, and are under the warnings that nvcc gives; only nvcc can be told to unroll. GCC 12's
  # loop vectorizer (-O3) stores four elements that lie anywhere as if they lay at a multiple of their size.
  COMPILE_OPTIONS "-include;${here}/cuda_on_host.hpp;-fno-strict-aliasing;-fno-tree-loop-vectorize;-fno-tree-slp-vectorize;-Wno-unknown-pragmas;-Wno-conversion;-Wno-sign-conversion")
add_library(penstock_kernels_on_host OBJECT EXCLUDE_FROM_ALL ${kernels} ${here}/cuda_on_host.cpp)
target_compile_options(penstock_kernels_on_host PRIVATE -ffp-contract=off)
target_include_directories(penstock_kernels_on_host PRIVATE $<TARGET_PROPERTY:penstock_device,INTERFACE_INCLUDE_DIRECTORIES>)
find_path(PENSTOCK_CUDA_HEADERS cuda_fp16.h HINTS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
if(PENSTOCK_CUDA_HEADERS)
  target_include_directories(penstock_kernels_on_host SYSTEM PRIVATE ${PENSTOCK_CUDA_HEADERS})
else()
  target_include_directories(penstock_kernels_on_host PRIVATE ${here}/cuda_absent)
endif()
target_link_libraries(penstock_kernels_on_host PRIVATE penstock_options Threads::Threads)
