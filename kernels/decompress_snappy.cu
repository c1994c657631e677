// Decompresses chunks of elements of the snappy format, kLanes lanes of a warp each. No byte outside
// of a chunk's place is written, nor one outside of packed or plain read, whatever the elements say.
//
//   launch  blocks of kDecompressThreads, behind snappy_chunks; kLanes threads for each chunk
//   reads   packed, chunks    writes  plain, status
#include "params_decompress.h"
#include "snappy.cuh"

// Copies n bytes between places that do not overlap. It may read seven bytes behind them.
template <u32 kLanes>
__device__ __forceinline__ void copy_literal(u8* to, const u8* from, u32 n, u32 lane) {
  if (n > 4 * kLanes) {  // as words
    const u32 head = u32(-reinterpret_cast<u64>(to)) & 3;
    if (lane < head) to[lane] = __ldg(from + lane);
    to += head;
    from += head;
    n -= head;
    const u32* source = reinterpret_cast<const u32*>(reinterpret_cast<u64>(from) & ~u64(3));
    const u32 shift = u32(reinterpret_cast<u64>(from) & 3) * 8, words = n / 4;
#pragma unroll 4
    for (u32 i = lane; i < words; i += kLanes) {
      reinterpret_cast<u32*>(to)[i] = __funnelshift_r(__ldg(source + i), __ldg(source + i + 1), shift);
    }
    to += 4 * words;
    from += 4 * words;
    n &= 3;
  }
#pragma unroll 1
  for (u32 i = lane; i < n; i += kLanes) to[i] = __ldg(from + i);
}

// Copies n bytes, at most 64, from so many bytes before: the bytes repeat where they are fewer.
template <u32 kLanes>
__device__ __forceinline__ void copy_before(u8* to, u32 offset, u32 n, u32 lane) {
  const u8* from = to - offset;
  if (offset >= n) {
#pragma unroll 1
    for (u32 i = lane; i < n; i += kLanes) to[i] = from[i];
    return;
  }
#pragma unroll 1
  for (u32 i = lane; i < n; i += kLanes) to[i] = from[i % offset];
}

// Decompresses a chunk by all lanes of a group, and returns its status.
template <u32 kLanes>
__device__ __forceinline__ u32 decompress(const u8* in, u32 bytes, u8* out, u32 size, u32 lane, u32 mask) {
  u32 at = 0, done = 0;
  u64 head = bytes > 0 ? load_pair(in) : 0;
#pragma unroll 1
  while (at < bytes) {
    const Element e = parse_element(head);
    if (e.exceeds(bytes - at)) return kBlockEnds;
    if (!e.literal && e.offset - 1 >= done) return kBlockRefers;
    if (e.size > size - done) return kBlockLong;
    const u32 body = at + e.head, n = u32(e.size);
    at += e.bytes();
    if (at < bytes) head = load_pair(in + at);  // on its way while bytes are copied
    if (e.literal) {
      copy_literal<kLanes>(out + done, in + body, n, lane);
    } else {
      __syncwarp(mask);  // the bytes before are written
      copy_before<kLanes>(out + done, e.offset, n, lane);
    }
    done += n;
  }
  return done == size ? kBlockDone : kBlockShort;
}

template <u32 kLanes>
__device__ __forceinline__ void decompress_chunk(const DecompressLaunch& p) {
  const u64 i = (u64(blockIdx.x) * kDecompressThreads + threadIdx.x) / kLanes;
  const u32 lane = threadIdx.x % kLanes;
  const u32 mask = u32((u64(1) << kLanes) - 1) << (threadIdx.x % 32 - lane);
  if (i >= p.num_chunks) return;
  const Chunk c = p.chunks[i];
  if (c.block >= p.count) return;  // a chunk of no block
  const u32 status = decompress<kLanes>(p.packed + c.from, c.bytes, p.plain + c.to, c.size, lane, mask);
  if (lane == 0 && status != kBlockDone) atomicMax(p.status + c.block, status);
}

extern "C" __global__ void __launch_bounds__(kDecompressThreads)
    decompress_snappy_8(const __grid_constant__ DecompressLaunch p) { decompress_chunk<8>(p); }
extern "C" __global__ void __launch_bounds__(kDecompressThreads)
    decompress_snappy_16(const __grid_constant__ DecompressLaunch p) { decompress_chunk<16>(p); }
extern "C" __global__ void __launch_bounds__(kDecompressThreads)
    decompress_snappy_32(const __grid_constant__ DecompressLaunch p) { decompress_chunk<32>(p); }
