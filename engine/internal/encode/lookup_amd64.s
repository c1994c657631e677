//go:build !portable

#include "textflag.h"

// func lookUpAVX512(out *uint64, table *[16]uint64, indexes *uint32, n int) (largest uint32)
//
// out[i] = table[indexes[i] % 16], 8 rows a step. n > 0 is a multiple of 8.
TEXT ·lookUpAVX512(SB), NOSPLIT, $0-36
	MOVQ      out+0(FP), DI
	MOVQ      table+8(FP), BX
	MOVQ      indexes+16(FP), SI
	MOVQ      n+24(FP), CX
	VMOVDQU64 (BX), Z10
	VMOVDQU64 64(BX), Z11
	VPXOR     Y13, Y13, Y13 // largest indexes

loop:
	VMOVDQU   (SI), Y0
	VPMAXUD   Y0, Y13, Y13
	VPMOVZXDQ Y0, Z0
	VPERMI2Q  Z11, Z10, Z0
	VMOVDQU64 Z0, (DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	SUBQ      $8, CX
	JNZ       loop

	VEXTRACTI128 $1, Y13, X0
	VPMAXUD      X0, X13, X13
	VPSHUFD      $0x4E, X13, X0
	VPMAXUD      X0, X13, X13
	VPSHUFD      $0xB1, X13, X0
	VPMAXUD      X0, X13, X13
	VMOVD        X13, AX
	VZEROUPPER
	MOVL         AX, largest+32(FP)
	RET
