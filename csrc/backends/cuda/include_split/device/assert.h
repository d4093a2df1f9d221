// NVRTC has what device code may use of <assert.h>.
