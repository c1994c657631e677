// The hashes of the device, for a test that compares them with package partition's vectors.
#include "../../hash.cuh"

extern "C" __global__ void hash_all(const u64* words, const u32* offsets, u32 count, u64* out) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const u64* mine = words + offsets[i];  // seed, words
  u32 n = offsets[i + 1] - offsets[i];
  out[2 * i] = mix64(mine[1] ^ mine[0]);
  out[2 * i + 1] = hash_words(mine + 1, n - 1, mine[0]);
}
