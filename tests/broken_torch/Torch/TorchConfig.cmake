# As PyTorch's own does where a library is missing that it was built with.
message(FATAL_ERROR "Your installed PyTorch uses CUDA but I cannot find the CUDA libraries.")
