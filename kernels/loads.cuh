// Loads of words that need no alignment, from memory that no kernel writes meanwhile.
#ifndef MPGA_KERNELS_LOADS_CUH
#define MPGA_KERNELS_LOADS_CUH

#include "params.h"

// The four bytes from a byte on. It may read seven bytes behind the first.
__device__ __forceinline__ u32 load_word(const u8* at) {
  const u32* words = reinterpret_cast<const u32*>(reinterpret_cast<u64>(at) & ~u64(3));
  return __funnelshift_r(__ldg(words), __ldg(words + 1), u32(reinterpret_cast<u64>(at)) * 8);
}

// The five bytes from a byte on, and up to three more. It may read seven bytes behind the first.
__device__ __forceinline__ u64 load_head(const u8* at) {
  const u32* words = reinterpret_cast<const u32*>(reinterpret_cast<u64>(at) & ~u64(3));
  return (u64(__ldg(words + 1)) << 32 | __ldg(words)) >> (reinterpret_cast<u64>(at) & 3) * 8;
}

// The eight bytes from a byte on. It may read eleven bytes behind the first.
__device__ __forceinline__ u64 load_pair(const u8* at) {
  const u32* words = reinterpret_cast<const u32*>(reinterpret_cast<u64>(at) & ~u64(3));
  const u32 a = __ldg(words), b = __ldg(words + 1), c = __ldg(words + 2);
  const u32 shift = u32(reinterpret_cast<u64>(at)) * 8;
  return u64(__funnelshift_r(b, c, shift)) << 32 | __funnelshift_r(a, b, shift);
}

#endif
