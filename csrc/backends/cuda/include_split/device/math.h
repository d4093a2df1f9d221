// NVRTC has what device code may use of <math.h>.
