// What Go passes to the kernels that decompress; launch_decompress.go declares the same structs.
// Plain C.
#ifndef MPGA_KERNELS_PARAMS_DECOMPRESS_H
#define MPGA_KERNELS_PARAMS_DECOMPRESS_H

#include "params.h"

enum {
  kChunksThreads = 512,
  kDecompressThreads = 64,
  kChunkSize = 64 << 10  // of a chunk, decompressed, but for the last of a block
};

// BlockStatus of decompress.go.
enum { kBlockDone, kBlockOutside, kBlockEnds, kBlockRefers, kBlockLong, kBlockShort, kBlockCrosses };

// Block of decompress.go.
typedef struct {
  u64 from, to;
  u32 bytes, size, first_chunk, unused;
} Block;

// Elements that are decompressed by themselves.
typedef struct {
  u64 from, to;
  u32 bytes, size;
  u32 block, unused;  // all bits of block set: a chunk of no block
} Chunk;

typedef struct {
  const u8* packed;  // and PackedPad bytes more
  u64 packed_bytes;
  u8* plain;
  u64 plain_bytes;
  const Block* blocks;
  u64 count;
  Chunk* chunks;
  u64 num_chunks;
  u32* status;  // by block
} DecompressLaunch;

#endif
