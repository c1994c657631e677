// What Go passes to the kernel that packs keys; launch_keys.go declares the same structs. Plain C.
#ifndef MPGA_KERNELS_PARAMS_KEYS_H
#define MPGA_KERNELS_PARAMS_KEYS_H

#include "params.h"

enum {
  kKeysThreads = 256,
  kKeyPartsMax = 8
};

// KeyPart of pack_keys.go.
typedef struct {
  const void* values;
  const u32* valid;  // null: no value is NULL
  u64 base, range, null_code;
  u32 type, word, shift, null_word;
  int null_bit;
  u32 unused;
} KeyPart;

typedef struct {
  void* keys;
  u64 rows;
  const u64* count;  // of rows, if it is less; null: all
  u32* outside;
  u32 key_bytes, num_parts;
  KeyPart parts[kKeyPartsMax];
} KeysLaunch;

#endif
