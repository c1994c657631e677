//go:build !portable

#include "textflag.h"

// func largestVectors(codes *int32, n int) uint32
TEXT ·largestVectors(SB), NOSPLIT, $0-20
	MOVQ  codes+0(FP), SI
	MOVQ  n+8(FP), CX
	VPXOR Y0, Y0, Y0

loop:
	VPMAXUD (SI), Y0, Y0
	ADDQ    $32, SI
	SUBQ    $8, CX
	JNZ     loop

	VEXTRACTI128 $1, Y0, X1
	VPMAXUD      X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPMAXUD      X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPMAXUD      X1, X0, X0
	VMOVD        X0, AX
	VZEROUPPER
	MOVL         AX, ret+16(FP)
	RET
