// The hashes of the device, for a test that compares them with package partition's vectors.
#include "../../hash.cuh"

extern "C" __global__ void hash_all(const u64* words, const u32* offsets, u32 count, u64* out) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const u64* mine = words + offsets[i];  // seed, words
  u32 n = offsets[i + 1] - offsets[i];
  out[3 * i] = mix64(mine[1] ^ mine[0]);
  out[3 * i + 1] = hash_words(mine + 1, n - 1, mine[0]);
  const u32 mixed = mix32(u32(mine[1]));
  out[3 * i + 2] = unmix32(mixed) == u32(mine[1]) ? mixed : ~0ull;
}
