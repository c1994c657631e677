// Decompresses chunks of elements of the snappy format, a warp each. No byte outside of a chunk's place is
// written, nor one outside of packed or plain read, whatever the elements say.
//
// The elements that begin in a window of 32 bytes are decompressed together. Each lane parses the element
// that would begin at its byte; jumps over 1, 2, 4 and 8 elements then tell lane i where the i-th begins.
// Of the bytes that the elements stand for, 32 at a time are made, a lane each: from a literal, or from a
// byte before, which, if it is one of the 32, another lane makes.
//
//   launch  blocks of kDecompressThreads, behind snappy_chunks; a warp for each chunk
//   reads   packed, chunks    writes  plain, status
#include "jumps.cuh"
#include "params_decompress.h"
#include "snappy.cuh"

constexpr u32 kSizeMax = 64;  // of a copy; literals of more bytes are copied by themselves
constexpr u32 kRounds = kBegins * kSizeMax / 32;
constexpr u32 kRecent = 2048;
constexpr u32 kDecompressWarps = kDecompressThreads / 32;

// What a warp has at hand.
struct Workplace {
  u8 recent[kRecent];   // the last bytes that it has made, by their place modulo kRecent
  u32 begins[kRounds];  // a bit for each byte that a window stands for: an element begins there
};

// Copies n bytes between places that do not overlap. It may read seven bytes behind them.
__device__ __forceinline__ void copy_literal(u8* to, const u8* from, u32 n, u32 lane) {
  const u32 head = u32(-reinterpret_cast<u64>(to)) & 3;
  if (lane < head) to[lane] = __ldg(from + lane);
  to += head;
  from += head;
  n -= head;
  const u32* source = reinterpret_cast<const u32*>(reinterpret_cast<u64>(from) & ~u64(3));
  const u32 shift = u32(reinterpret_cast<u64>(from) & 3) * 8, words = n / 4;
#pragma unroll 4
  for (u32 i = lane; i < words; i += 32) {
    reinterpret_cast<u32*>(to)[i] = __funnelshift_r(__ldg(source + i), __ldg(source + i + 1), shift);
  }
  if (lane < n % 4) to[4 * words + lane] = __ldg(from + 4 * words + lane);
}

// Piece is one of the elements of a window, by lane: size bytes from a byte of the window's on, of a literal
// at a place of the input, or else from so many bytes before.
struct Piece {
  u32 size, start, from;
};

// Makes the first bytes of a window, which follow on done bytes.
__device__ __forceinline__ void make_bytes(
    const u8* in, u8* out, u32 done, u32 bytes, const Piece& piece, u32 literals, u32 lane, Workplace* w) {
  u32 elements = 0;  // that begin in the rounds before
#pragma unroll 1
  for (u32 first = 0; first < bytes; first += 32) {
    const u32 begins = w->begins[first / 32];
    const u32 element = elements + __popc(begins & ((2u << lane) - 1)) - 1, i = first + lane;
    elements += __popc(begins);
    const u32 start = __shfl_sync(kAllLanes, piece.start, element), size = __shfl_sync(kAllLanes, piece.size, element);
    const u32 from = __shfl_sync(kAllLanes, piece.from, element);
    u32 k = i - start, value = 0, maker = lane;  // the lane that makes the byte
    if (i < bytes) {
      if (literals >> element & 1) {
        value = __ldg(in + from + k);
      } else {
        if (from < size) k %= from;  // the bytes repeat
        const u32 source = done + start + k - from;
        if (source >= done + first) {
          maker = source - done - first;
        } else if (source + kRecent >= done + first + 32) {  // which no lane writes now
          value = w->recent[source % kRecent];
        } else {
          value = out[source];
        }
      }
    }
    if (__any_sync(kAllLanes, maker != lane)) {
      bool more = true;
#pragma unroll 1
      while (more) {  // few bytes are made of bytes that are made of bytes
        const u32 before = __shfl_sync(kAllLanes, maker, maker);
        const u32 first_maker = __shfl_sync(kAllLanes, before, before);
        more = __any_sync(kAllLanes, first_maker != before);
        maker = first_maker;
      }
      value = __shfl_sync(kAllLanes, value, maker);
    }
    if (i < bytes) {
      w->recent[(done + i) % kRecent] = u8(value);
      out[done + i] = u8(value);
    }
    __syncwarp();  // the bytes are written
  }
}

// Decompresses a chunk by all lanes, and returns its status.
__device__ __forceinline__ u32 decompress(const u8* in, u32 bytes, u8* out, u32 size, u32 lane, Workplace* w) {
  u32 at = 0, done = 0;
  u64 head = lane < bytes ? load_pair(in + lane) : 0;
#pragma unroll 1
  while (at < bytes) {
    const u32 left = bytes - at;
    const Element here = parse_element(head);
    const bool cut = lane >= left || here.exceeds(left - lane);
    const u32 place = find_begin(cut ? kWindow : min(lane + here.bytes(), kWindow));
    const bool has = lane < kBegins && place < min(kWindow, left);
    const u32 count = __popc(__ballot_sync(kAllLanes, has));

    // The lane's element.
    const u32 cuts = __ballot_sync(kAllLanes, cut), literal_places = __ballot_sync(kAllLanes, here.literal);
    const bool literal = literal_places >> place % kWindow & 1;
    const u32 whole = __shfl_sync(kAllLanes, here.bytes(), place % kWindow);
    const u32 offset = __shfl_sync(kAllLanes, here.offset, place % kWindow);
    Piece piece;
    piece.size = __shfl_sync(kAllLanes, u32(here.size), place % kWindow);
    if (!has) piece.size = 0;
    const u32 end = sum_up_to(piece.size);
    piece.start = end - piece.size;
    piece.from = literal ? at + place + whole - piece.size : offset;

    u32 status = kBlockDone;
    if (has) {
      if (cuts >> place & 1) status = kBlockEnds;
      else if (!literal && offset - 1 >= done + piece.start) status = kBlockRefers;
      else if (piece.size > size - done - piece.start) status = kBlockLong;
    }
    const u32 bad = __ballot_sync(kAllLanes, status != kBlockDone);
    if (bad != 0) return __shfl_sync(kAllLanes, status, __ffs(bad) - 1);

    const u32 last = count - 1, last_size = __shfl_sync(kAllLanes, piece.size, last);
    const u32 literals = __ballot_sync(kAllLanes, has && literal);
    const bool apart = (literals >> last & 1) != 0 && last_size > kSizeMax;
    const u32 made = __shfl_sync(kAllLanes, end, last) - (apart ? last_size : 0);
    at += __shfl_sync(kAllLanes, place + whole, last);
    if (at < bytes) head = lane < bytes - at ? load_pair(in + at + lane) : 0;  // on its way meanwhile
    if (has && piece.start < made) atomicOr(&w->begins[piece.start / 32], 1u << piece.start % 32);
    __syncwarp();  // begins are there
    make_bytes(in, out, done, made, piece, literals, lane, w);
    if (lane * 32 < made) w->begins[lane] = 0;
    done += made;
    if (apart) {
      const u8* from = in + __shfl_sync(kAllLanes, piece.from, last);
      copy_literal(out + done, from, last_size, lane);
#pragma unroll 1
      for (u32 i = last_size - min(last_size, kRecent) + lane; i < last_size; i += 32) {
        w->recent[(done + i) % kRecent] = __ldg(from + i);
      }
      done += last_size;
    }
    __syncwarp();  // begins are cleared, and the literal is written
  }
  return done == size ? kBlockDone : kBlockShort;
}

extern "C" __global__ void __launch_bounds__(kDecompressThreads)
    decompress_snappy(const __grid_constant__ DecompressLaunch p) {
  __shared__ Workplace workplaces[kDecompressWarps];
  const u64 i = (u64(blockIdx.x) * kDecompressThreads + threadIdx.x) / 32;
  const u32 lane = lane_id();
  Workplace* w = &workplaces[threadIdx.x / 32];
  w->begins[lane] = 0;
  __syncwarp();  // begins are cleared
  if (i >= p.num_chunks) return;
  const Chunk c = p.chunks[i];
  if (c.block >= p.count) return;  // a chunk of no block
  const u32 status = decompress(p.packed + c.from, c.bytes, p.plain + c.to, c.size, lane, w);
  if (lane == 0 && status != kBlockDone) atomicMax(p.status + c.block, status);
}
