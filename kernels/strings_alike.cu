// Gives strings the numbers of the listed strings that they are alike.
//
//   launch  blocks of kStringThreads, a thread for each string, behind strings_add
//   reads   places    writes  numbers
#include "strings.cuh"

extern "C" __global__ void __launch_bounds__(kStringThreads) strings_alike(const __grid_constant__ StringsLaunch p) {
  const u64 i = u64(blockIdx.x) * kStringThreads + threadIdx.x;
  if (i >= p.strings) return;
  const u64 place = p.places[i];
  if (place == kNoPlace || (place & kPlaceAlike) == 0) return;
  p.numbers[i] = p.numbers[u32(place)];
}
