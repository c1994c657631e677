// Counts the rows of each partition (Wang, Shen, Lei, 2025, section 4.2.5).
//
//   launch  any grid; whole warps; shared: 4 bytes a partition
//   reads   rows.keys    writes  cursors: added to
#include "block.cuh"
#include "key.cuh"

template <class Key>
__device__ __forceinline__ void partition_index(const Launch& p) {
  extern __shared__ u32 counts[];
  constexpr u32 kInFlight = 8;
  const u32 partitions = 1u << p.radix_bits, key_words = p.shape.key_bytes / 8;
#pragma unroll 1
  for (u32 i = threadIdx.x; i < partitions; i += blockDim.x) counts[i] = 0;
  __syncthreads();  // counts are 0
  const u64 begin = min(p.rows.count, blockIdx.x * p.rows_per_block);
  const u64 end = min(p.rows.count, begin + p.rows_per_block);
  u64 tile = begin;
#pragma unroll 1
  for (; tile + u64(blockDim.x) * kInFlight <= end; tile += u64(blockDim.x) * kInFlight) {
    Key keys[kInFlight];
#pragma unroll
    for (u32 i = 0; i < kInFlight; i++) keys[i] = Key::load(p.rows.keys, tile + i * blockDim.x + threadIdx.x, key_words);
#pragma unroll
    for (u32 i = 0; i < kInFlight; i++) atomicAdd(counts + partition_of(keys[i].hash(p.seed), p.radix_bits), 1u);
  }
#pragma unroll 1
  for (u64 row = tile + threadIdx.x; row < end; row += blockDim.x) {
    atomicAdd(counts + partition_of(Key::load(p.rows.keys, row, key_words).hash(p.seed), p.radix_bits), 1u);
  }
  __syncthreads();  // counts have all rows
#pragma unroll 1
  for (u32 i = threadIdx.x; i < partitions; i += blockDim.x) {
    if (counts[i] != 0) atomicAdd(p.cursors + i, u64(counts[i]));
  }
}

extern "C" __global__ void __launch_bounds__(1024) partition_index_k4(const __grid_constant__ Launch p) { partition_index<Key4>(p); }
extern "C" __global__ void __launch_bounds__(1024) partition_index_k8(const __grid_constant__ Launch p) { partition_index<Key8>(p); }
extern "C" __global__ void __launch_bounds__(1024) partition_index_kn(const __grid_constant__ Launch p) { partition_index<KeyN>(p); }
