// NVRTC has what device code may use of <stdbool.h>.
