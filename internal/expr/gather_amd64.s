//go:build !portable

#include "textflag.h"

// func gatherBitsVectors(out *uint64, table *[16]uint64, codes *int32, n int)
//
// Bit i of out = bit codes[i] % 1024 of table, 16 rows a step. n > 0 is a multiple of 16.
TEXT ·gatherBitsVectors(SB), NOSPLIT, $0-32
	MOVQ         out+0(FP), DI
	MOVQ         table+8(FP), BX
	MOVQ         codes+16(FP), SI
	MOVQ         n+24(FP), CX
	VMOVDQU64    (BX), Z10
	VMOVDQU64    64(BX), Z11
	MOVL         $31, AX
	VPBROADCASTD AX, Z12

loop:
	VMOVDQU32 (SI), Z0
	VPSRLD    $5, Z0, Z1
	VPERMI2D  Z11, Z10, Z1
	VPANDND   Z12, Z0, Z0  // 31 less the bit, so that it becomes the sign
	VPSLLVD   Z0, Z1, Z1
	VPMOVD2M  Z1, K1
	KMOVW     K1, AX
	MOVW      AX, (DI)
	ADDQ      $64, SI
	ADDQ      $2, DI
	SUBQ      $16, CX
	JNZ       loop

	VZEROUPPER
	RET
