// NVRTC has what device code may use of <stdlib.h>.
