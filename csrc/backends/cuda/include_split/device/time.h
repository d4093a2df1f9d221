// NVRTC has what device code may use of <time.h>.
