//go:build !portable

#include "textflag.h"

// STEP4 writes those of the 16 values from part*64 on that the low bits of AX have.
#define STEP4(part) \
	KMOVW         AX, K1; \
	VMOVDQU32     part*64(SI), Z0; \
	VPCOMPRESSD.Z Z0, K1, Z0; \
	VMOVDQU32     Z0, (DI); \
	MOVWLZX       AX, DX; \
	POPCNTL       DX, DX; \
	LEAQ          (DI)(DX*4), DI

// STEP8 does with 8 values of 8 bytes.
#define STEP8(part) \
	KMOVW         AX, K1; \
	VMOVDQU64     part*64(SI), Z0; \
	VPCOMPRESSQ.Z Z0, K1, Z0; \
	VMOVDQU64     Z0, (DI); \
	MOVBLZX       AX, DX; \
	POPCNTL       DX, DX; \
	LEAQ          (DI)(DX*8), DI

// func compress4(out, values *byte, words *uint64, n int) (count int)
TEXT ·compress4(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ values+8(FP), SI
	MOVQ words+16(FP), BX
	MOVQ n+24(FP), CX

loop:
	MOVQ  (BX), AX
	TESTQ AX, AX
	JZ    next
	STEP4(0)
	SHRQ  $16, AX
	STEP4(1)
	SHRQ  $16, AX
	STEP4(2)
	SHRQ  $16, AX
	STEP4(3)

next:
	ADDQ $8, BX
	ADDQ $256, SI
	DECQ CX
	JNZ  loop

	VZEROUPPER
	SUBQ out+0(FP), DI
	SHRQ $2, DI
	MOVQ DI, count+32(FP)
	RET

// func compress8(out, values *byte, words *uint64, n int) (count int)
TEXT ·compress8(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ values+8(FP), SI
	MOVQ words+16(FP), BX
	MOVQ n+24(FP), CX

loop:
	MOVQ  (BX), AX
	TESTQ AX, AX
	JZ    next
	STEP8(0)
	SHRQ  $8, AX
	STEP8(1)
	SHRQ  $8, AX
	STEP8(2)
	SHRQ  $8, AX
	STEP8(3)
	SHRQ  $8, AX
	STEP8(4)
	SHRQ  $8, AX
	STEP8(5)
	SHRQ  $8, AX
	STEP8(6)
	SHRQ  $8, AX
	STEP8(7)

next:
	ADDQ $8, BX
	ADDQ $512, SI
	DECQ CX
	JNZ  loop

	VZEROUPPER
	SUBQ out+0(FP), DI
	SHRQ $3, DI
	MOVQ DI, count+32(FP)
	RET
