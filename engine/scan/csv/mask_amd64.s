//go:build !portable

#include "textflag.h"

// EQUAL writes the bytes of Y0 and Y1 that equal c, a bit for each, to out.
#define EQUAL(c, out) \
	VPCMPEQB  c, Y0, Y2; \
	VPCMPEQB  c, Y1, Y3; \
	VPMOVMSKB Y2, AX;    \
	VPMOVMSKB Y3, BX;    \
	SHLQ      $32, BX;   \
	ORQ       BX, AX;    \
	MOVQ      AX, out

// func maskTextAVX2(masks []textMask, text []byte, delimiter, quote byte)
TEXT ·maskTextAVX2(SB), NOSPLIT, $0-50
	MOVQ masks_base+0(FP), DI
	MOVQ masks_len+8(FP), CX
	MOVQ text_base+24(FP), SI
	VPBROADCASTB delimiter+48(FP), Y4
	VPBROADCASTB quote+49(FP), Y6
	MOVL $10, AX
	MOVQ AX, X5
	VPBROADCASTB X5, Y5
	TESTQ CX, CX
	JZ   done

loop:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	EQUAL(Y4, 0(DI))
	EQUAL(Y5, 8(DI))
	EQUAL(Y6, 16(DI))
	ADDQ $64, SI
	ADDQ $24, DI
	DECQ CX
	JNZ  loop

done:
	VZEROUPPER
	RET

// POSITION writes the place of the lowest bit of R8 and clears it. Without bits it writes what the
// next mask, or nobody, will overwrite.
#define POSITION(out) \
	TZCNTQ R8, AX;     \
	ADDL   DX, AX;     \
	MOVL   AX, out;    \
	BLSRQ  R8, R8

#define POSITIONS4(at) \
	POSITION(at+0(DI));  \
	POSITION(at+4(DI));  \
	POSITION(at+8(DI));  \
	POSITION(at+12(DI))

// func writePositionsBMI1(out []uint32, set []uint64, base uint32) (n int)
//
// Bits are written by eight, so that the branches are about the number of eights, which varies little.
TEXT ·writePositionsBMI1(SB), NOSPLIT, $0-64
	MOVQ out_base+0(FP), DI
	MOVQ set_base+24(FP), SI
	MOVQ set_len+32(FP), CX
	MOVL base+48(FP), DX
	INCL DX
	MOVQ DI, R10
	TESTQ CX, CX
	JZ   done

loop:
	MOVQ    (SI), R8
	POPCNTQ R8, R9
	LEAQ    (DI)(R9*4), R11

eight:
	POSITIONS4(0)
	POSITIONS4(16)
	ADDQ $32, DI
	TESTQ R8, R8
	JNZ  eight
	MOVQ R11, DI
	ADDL $64, DX
	ADDQ $8, SI
	DECQ CX
	JNZ  loop

done:
	SUBQ R10, DI
	SHRQ $2, DI
	MOVQ DI, n+56(FP)
	RET
