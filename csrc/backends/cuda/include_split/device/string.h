// NVRTC has what device code may use of <string.h>.
