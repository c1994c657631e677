// Makes pages plain: values behind a head that says how many they are.
//
//   launch  a block of kExpandThreads for each page; differences are read by its first warp
//   reads   pages, memory    writes  memory
#include "deltas.cuh"
#include "pages.cuh"
#include "params_expand.h"

template <class Word>
__device__ __forceinline__ bool expand_deltas(
    const Expansion& page, const u8* data, const DeltaHead& head, u32* window, u8* out) {
  if (head.values == 0) return true;
  Word* words = reinterpret_cast<Word*>(out);
  if (lane_id() == 0) words[0] = Word(head.first);
  u32 end;
  return read_deltas<true>(data, page.bytes, head, window, &end, [&](const u64* values, u32 n, u32 first) {
#pragma unroll
    for (u32 i = 0; i < kLaneDeltas; i++) {
      if (i < n) words[first + i] = Word(values[i]);
    }
    return true;
  });
}

// Strings from a byte of a page on, whose lengths a warp has, to plain strings.
struct StringCopy {
  const u8* data;
  u8* out;
  u64 from, bytes;  // of the strings that come next, and of data
  u64 to, room;

  // The lengths of n strings are the lane's. It returns false where strings go beyond data or the room.
  __device__ __forceinline__ bool take(const u64* lengths, u32 n) {
    u64 sum = 0;
#pragma unroll
    for (u32 i = 0; i < kLaneDeltas; i++) sum += i < n ? u32(lengths[i]) : 0;
    u64 behind = sum;
    u32 before = n;
#pragma unroll
    for (u32 d = 1; d < 32; d *= 2) {
      const u64 lower = __shfl_up_sync(kAllLanes, behind, d);
      const u32 fewer = __shfl_up_sync(kAllLanes, before, d);
      if (lane_id() >= d) {
        behind += lower;
        before += fewer;
      }
    }
    const u64 all = __shfl_sync(kAllLanes, behind, 31);
    const u32 strings = __shfl_sync(kAllLanes, before, 31);
    if (all > bytes - from || all + 4 * u64(strings) > room - to) return false;
    u64 source = from + behind - sum, target = to + (behind - sum) + 4 * (before - n);
#pragma unroll 1
    for (u32 i = 0; i < kLaneDeltas; i++) {
      const u32 length = i < n ? u32(lengths[i]) : 0;
#pragma unroll 1
      for (u32 of = 0; of < 32; of++) {
        if (__shfl_sync(kAllLanes, n, of) <= i) break;  // the lanes behind it have no more
        const u32 its = __shfl_sync(kAllLanes, length, of);
        const u64 begin = __shfl_sync(kAllLanes, source, of), at = __shfl_sync(kAllLanes, target, of);
        if (lane_id() < 4) out[at + lane_id()] = u8(its >> 8 * lane_id());
#pragma unroll 1
        for (u32 b = lane_id(); b < its; b += 32) out[at + 4 + b] = __ldg(data + begin + b);
      }
      source += length;
      target += 4 + u64(length);
    }
    from += all;
    to += all + 4 * u64(strings);
    return true;
  }
};

// Ends strings at a byte, behind which other lanes may have written.
__device__ __forceinline__ void end_strings(const Expansion& page, u8* out, u64 to) {
  __syncwarp();
  if (page.room - to >= 4 && lane_id() < 4) out[to + lane_id()] = 0xff;
}

__device__ __forceinline__ bool expand_strings(
    const Expansion& page, const u8* data, const DeltaHead& head, u32* window, u8* out) {
  u32 begin, end;
  const auto skip = [](const u64*, u32, u32) { return true; };
  if (!read_deltas<false>(data, page.bytes, head, window, &begin, skip)) return false;
  StringCopy copy = {data, out, begin, page.bytes, 0, page.room};
  const auto take = [&](const u64* lengths, u32 n, u32) { return copy.take(lengths, n); };
  const u64 first[kLaneDeltas] = {head.first};
  if (head.values > 0 && (!take(first, lane_id() == 0 ? 1 : 0, 0) ||
                          !read_deltas<true>(data, page.bytes, head, window, &end, take))) {
    return false;
  }
  end_strings(page, out, copy.to);
  return true;
}

// Values of which data has the first bytes, then the second bytes, and so on. All threads of the block
// call it. It returns how many there are, or kExpandedDamaged.
__device__ __forceinline__ u32 expand_split(const Expansion& page, const u8* data, u32 bytes, u8* out) {
  if (page.width == 0 || bytes % page.width != 0) return kExpandedDamaged;
  const u32 n = bytes / page.width;
  if (n > page.most || bytes > page.room) return kExpandedDamaged;
#pragma unroll 4
  for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
    u64 value = 0;
#pragma unroll 1
    for (u32 b = 0; b < page.width; b++) value |= u64(__ldg(data + u64(b) * n + i)) << 8 * b;
    if (page.width == 8) {
      reinterpret_cast<u64*>(out)[i] = value;
    } else if (page.width == 4) {
      reinterpret_cast<u32*>(out)[i] = u32(value);
    } else {
      for (u32 b = 0; b < page.width; b++) out[u64(i) * page.width + b] = u8(value >> 8 * b);
    }
  }
  return n;
}

extern "C" __global__ void __launch_bounds__(kExpandThreads) expand_pages(const __grid_constant__ ExpandLaunch p) {
  __shared__ u32 window[kWindowWords + 2];
  const Expansion page = p.pages[blockIdx.x];
  if (page.from > p.memory_bytes || page.bytes > p.memory_bytes - page.from || page.to % kExpandedHead != 0 ||
      page.to > p.memory_bytes || page.room > p.memory_bytes - page.to ||
      kExpandedHead > p.memory_bytes - page.to - page.room || page.width > 8) {
    return;
  }
  const u8* data = p.memory + page.from;
  u8* out = p.memory + page.to + kExpandedHead;
  u32 values = kExpandedDamaged, at;
  const bool found = find_values(page.levels, data, page.bytes, &at);
  if (found && page.encoding == kByteStreamSplit) {
    values = expand_split(page, data + at, page.bytes - at, out);
  } else if (threadIdx.x >= 32) {
    return;
  } else {
    DeltaHead head;
    bool ok = found && read_delta_head(data, at, page.bytes, &head) && head.values <= page.most;
    if (page.encoding == kDeltaLengthByteArray) {
      ok = ok && expand_strings(page, data, head, window, out);
      if (!ok) end_strings(page, out, 0);
    } else {
      ok = ok && u64(head.values) * page.width <= page.room &&
           (page.width == 4 ? expand_deltas<u32>(page, data, head, window, out)
                            : page.width == 8 && expand_deltas<u64>(page, data, head, window, out));
    }
    if (ok) values = head.values;
  }
  if (threadIdx.x == 0) *reinterpret_cast<uint4*>(out - kExpandedHead) = make_uint4(values, 0, 0, 0);
}
