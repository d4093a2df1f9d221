// NVRTC has what device code may use of <stdio.h>.
