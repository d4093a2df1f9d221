// NVRTC has what device code may use of <stddef.h>.
