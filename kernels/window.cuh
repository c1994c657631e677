// A part of a page in shared memory, which a warp loads at once and reads by bytes.
#ifndef MPGA_KERNELS_WINDOW_CUH
#define MPGA_KERNELS_WINDOW_CUH

#include "block.cuh"

constexpr u32 kWindowWords = 1024;

// Loads the window that begins with the word of a byte of a page. All lanes call it.
__device__ __forceinline__ void load_window(u32* window, const u8* at, const u8* end) {
  const u32* words = reinterpret_cast<const u32*>(reinterpret_cast<u64>(at) & ~u64(3));
  __syncwarp();  // nobody reads the window before
  for (u32 i = lane_id(); i < kWindowWords; i += 32) {
    if (reinterpret_cast<const u8*>(words + i) < end) window[i] = __ldg(words + i);
  }
  __syncwarp();  // the window is loaded
}

#endif
