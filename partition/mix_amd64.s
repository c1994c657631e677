//go:build !portable

#include "textflag.h"

// func mixVectors(words, out *uint64, n int, seed uint64)
//
// out[i] = Mix64(words[i] ^ seed), 8 words a step. n > 0 is a multiple of 8; out may be words.
TEXT ·mixVectors(SB), NOSPLIT, $0-32
	MOVQ         words+0(FP), SI
	MOVQ         out+8(FP), DI
	MOVQ         n+16(FP), CX
	VPBROADCASTQ seed+24(FP), Z10
	MOVQ         $0xff51afd7ed558ccd, AX // mix64A
	VPBROADCASTQ AX, Z11
	MOVQ         $0xc4ceb9fe1a85ec53, AX // mix64B
	VPBROADCASTQ AX, Z12

loop:
	VPXORQ    (SI), Z10, Z0
	VPSRLQ    $33, Z0, Z1
	VPXORQ    Z1, Z0, Z0
	VPMULLQ   Z11, Z0, Z0
	VPSRLQ    $33, Z0, Z1
	VPXORQ    Z1, Z0, Z0
	VPMULLQ   Z12, Z0, Z0
	VPSRLQ    $33, Z0, Z1
	VPXORQ    Z1, Z0, Z0
	VMOVDQU64 Z0, (DI)
	ADDQ      $64, SI
	ADDQ      $64, DI
	SUBQ      $8, CX
	JNZ       loop
	VZEROUPPER
	RET
