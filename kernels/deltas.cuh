// A warp reads Parquet's DELTA_BINARY_PACKED: integers as the differences of neighbours, in blocks of
// miniblocks. A block has a least difference, and its miniblocks, each of a width of its own, have how much
// larger the differences are. Sums wrap.
//
//   head   values of a block, miniblocks of a block, values, the first value
//   block  the least difference, the width of each miniblock, the miniblocks
#ifndef MPGA_KERNELS_DELTAS_CUH
#define MPGA_KERNELS_DELTAS_CUH

#include "loads.cuh"
#include "window.cuh"

constexpr u32 kDeltaBlockMax = 1 << 24;
constexpr u32 kMinisMax = 32;     // of a block: a lane each
constexpr u32 kLaneDeltas = 4;    // that a lane has of a chunk
constexpr u32 kChunkDeltas = 32 * kLaneDeltas;
constexpr u32 kVarintMax = 10;    // bytes

struct DeltaHead {
  u64 first;
  u32 at;  // of the first block
  u32 block, mini, minis, values;
};

__device__ __forceinline__ u64 unzigzag(u64 v) { return v >> 1 ^ (0 - (v & 1)); }

// Reads an unsigned integer of 7 bits a byte by a function of the bytes from at to end. It returns false
// where there is none.
template <class ByteAt>
__device__ __forceinline__ bool read_varint(ByteAt byte_at, u32* at, u32 end, u64* value) {
  *value = 0;
#pragma unroll 1
  for (u32 i = 0; i < kVarintMax && *at < end; i++) {
    const u64 b = byte_at((*at)++);
    *value |= (b & 127) << 7 * i;
    if (b < 128) return i + 1 < kVarintMax || b <= 1;
  }
  return false;
}

// Reads the head of values that begin at a byte of data, which ends at a byte.
__device__ __forceinline__ bool read_delta_head(const u8* data, u32 at, u32 end, DeltaHead* head) {
  const auto byte_at = [&](u32 i) { return u64(__ldg(data + i)); };
  u64 block, minis, values, first;
  if (!read_varint(byte_at, &at, end, &block) || !read_varint(byte_at, &at, end, &minis) ||
      !read_varint(byte_at, &at, end, &values) || !read_varint(byte_at, &at, end, &first) || block == 0 ||
      block > kDeltaBlockMax || minis == 0 || minis > kMinisMax || block % (8 * minis) != 0 || values > 0x7fffffff) {
    return false;
  }
  *head = {unzigzag(first), at, u32(block), u32(block / minis), u32(minis), u32(values)};
  return true;
}

// The bits from a bit of the window on.
__device__ __forceinline__ u64 window_bits(const u32* window, u64 bit, u32 width) {
  if (width == 0) return 0;
  const u32* words = window + bit / 32;
  const u32 shift = u32(bit % 32);
  const u32 a = words[0], b = words[1], c = words[2];
  const u64 bits = u64(__funnelshift_r(b, c, shift)) << 32 | __funnelshift_r(a, b, shift);
  return bits & (~u64(0) >> (64 - width));
}

// Reads all values but the first, and gives them to take(values, n, first) by chunks: a lane has n values,
// which are behind first others, and are followed by the values of the next lane. It returns false where data
// ends before the last value, or take returns false; *end is behind the last miniblock. Without Values nothing
// is given. window is of kWindowWords + 2. All lanes call it.
template <bool Values, class Take>
__device__ __forceinline__ bool read_deltas(const u8* data, u32 bytes, const DeltaHead& head, u32* window, u32* end, Take take) {
  const u32 lane = lane_id();
  u32 at = head.at, left = head.values > 0 ? head.values - 1 : 0;
  u64 value = head.first;
  u64 skew = 0, reach = 0;  // of the window's begin before data, and how far from data on it goes
  const auto show = [&](u64 from, u64 to) {  // has the window show bytes of data
    if (to <= reach) return;
    load_window(window, data + from, data + bytes);
    skew = (reinterpret_cast<u64>(data + from) & 3) - from;
    reach = from + 4 * (kWindowWords - 1);
  };
  const auto byte_at = [&](u32 i) {
    const u64 byte = i + skew;
    return u64(window[byte / 4] >> 8 * (byte % 4) & 0xff);
  };
#pragma unroll 1
  while (left > 0) {
    show(at, u64(at) + kVarintMax + kMinisMax);
    u64 least;
    if (!read_varint(byte_at, &at, bytes, &least) || bytes - at < head.minis) return false;
    least = unzigzag(least);
    const u32 here = min(left, head.block), used = (here + head.mini - 1) / head.mini;
    const u32 width = lane < used ? u32(byte_at(at + lane)) : 0;
    at += head.minis;
    if (__any_sync(kAllLanes, width > 64)) return false;
    const u64 mini_bytes = u64(head.mini / 8) * width;
    u64 behind = mini_bytes;
#pragma unroll
    for (u32 d = 1; d < 32; d *= 2) {
      const u64 before = __shfl_up_sync(kAllLanes, behind, d);
      if (lane >= d) behind += before;
    }
    const u64 begin = at + behind - mini_bytes;  // of the lane's miniblock
    // Some writers cut off the values of the last miniblock that nobody needs.
    const u32 needed = lane + 1 < used ? head.mini : lane < used ? here - lane * head.mini : 0;
    if (__any_sync(kAllLanes, lane < used && begin + (u64(needed) * width + 7) / 8 > bytes)) return false;
    const u64 next = at + __shfl_sync(kAllLanes, behind, 31);
#pragma unroll 1
    for (u32 base = 0; Values && base < here; base += kChunkDeltas) {
      const u32 mine = base + kLaneDeltas * lane, n = mine < here ? min(here - mine, kLaneDeltas) : 0;
      const u32 mini = n > 0 ? mine / head.mini : 0;
      const u32 bits = __shfl_sync(kAllLanes, width, mini);
      const u64 from = (__shfl_sync(kAllLanes, begin, mini) * 8) + u64(mine - mini * head.mini) * bits;
      const u64 to = n > 0 ? from + n * bits : 0;
      const u32 last = (min(here - base, kChunkDeltas) - 1) / kLaneDeltas;
      show(__shfl_sync(kAllLanes, from, 0) / 8, (__shfl_sync(kAllLanes, to, last) + 7) / 8);
      u64 values[kLaneDeltas], sum = 0;
#pragma unroll
      for (u32 i = 0; i < kLaneDeltas; i++) {
        if (i < n) sum += least + window_bits(window, from + i * bits + skew * 8, bits);
        values[i] = sum;
      }
      u64 before = sum;
#pragma unroll
      for (u32 d = 1; d < 32; d *= 2) {
        const u64 lower = __shfl_up_sync(kAllLanes, before, d);
        if (lane >= d) before += lower;
      }
      const u64 all = __shfl_sync(kAllLanes, before, 31);
      before += value - sum;
#pragma unroll
      for (u32 i = 0; i < kLaneDeltas; i++) values[i] += before;
      value += all;
      if (!take(values, n, head.values - left + mine)) return false;
    }
    left -= here;
    at = u32(min(next, u64(bytes)));
  }
  *end = at;
  return true;
}

#endif
