//go:build !portable

#include "textflag.h"

// func snappyElementsAVX2(out, packed []byte, to, from int, tables *snappyTables) (toEnd, fromEnd int)
//
// Decodes elements until one comes that is near the end of out or packed, has its length in more than a
// byte behind its tag, or copies from before out; len(out)-to >= 80, len(packed)-from >= 72. An element is
// 64 bytes moved from where its kind says, of which the next one overwrites what is not its own. What the
// next tag waits for is 8 cycles: a load, where a copy and where a literal ends, and which of them it is.
TEXT ·snappyElementsAVX2(SB), NOSPLIT, $0-88
	MOVQ out_base+0(FP), R10
	MOVQ out_len+8(FP), R9
	MOVQ packed_base+24(FP), BX
	MOVQ packed_len+32(FP), R8
	MOVQ to+48(FP), DI
	MOVQ from+56(FP), SI
	MOVQ tables+64(FP), R11
	ADDQ R10, DI
	ADDQ BX, SI
	LEAQ -80(R10)(R9*1), R9    // the last place to write an element to
	LEAQ -72(BX)(R8*1), R8     // the last place to read one from
	MOVL $3, R13
	MOVL $4, R14

loop:
	CMPQ    SI, R8
	JHI     done
	CMPQ    DI, R9
	JHI     done
	MOVBLZX (SI), AX           // tag
	MOVL    1(SI), CX          // the number behind it
	ANDNL   R13, AX, DX        // 3 - kind
	SHRXL   DX, R14, DX        // of a copy: 1, 2, 4 bytes of offset
	LEAQ    1(SI)(DX*1), DX
	MOVL    AX, R12
	SHRL    $2, R12
	LEAQ    2(SI)(R12*1), R12
	MOVQ    (R11)(AX*8), BX
	TESTL   $3, AX
	CMOVQEQ R12, DX            // the next tag
	BZHIL   BX, CX, CX
	SHRQ    $8, BX
	MOVBLZX BX, R12            // length
	SHRQ    $24, BX
	ADDQ    BX, CX             // offset
	CMPQ    CX, R12
	JCS     near
	MOVQ    DI, BX
	SUBQ    CX, BX
	JCS     done
	CMPQ    BX, R10
	JCS     done
	LEAQ    1(SI), CX
	TESTL   $3, AX
	CMOVQEQ CX, BX
	MOVQ    DX, SI
	VMOVDQU (BX), Y0
	VMOVDQU 32(BX), Y1
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	ADDQ    R12, DI
	JMP     loop

near: // the element is longer than its offset
	TESTL $3, AX
	JEQ   literal
	MOVQ  DI, BX
	SUBQ  CX, BX
	CMPQ  BX, R10
	JCS   done
	TESTQ CX, CX
	JEQ   done
	MOVQ  DX, SI
	ADDQ  DI, R12              // where the copy ends
	CMPQ  CX, $16
	JCC   far
	MOVBLZX 2304(R11)(CX*1), DX
	SHLQ    $4, CX
	VMOVDQU (BX), X0
	VPSHUFB 2048(R11)(CX*1), X0, X0

repeat:
	VMOVDQU X0, (DI)
	ADDQ    DX, DI
	CMPQ    DI, R12
	JCS     repeat
	MOVQ    R12, DI
	JMP     loop

far:
	VMOVDQU (BX), X0
	VMOVDQU X0, (DI)
	ADDQ    $16, BX
	ADDQ    $16, DI
	CMPQ    DI, R12
	JCS     far
	MOVQ    R12, DI
	JMP     loop

literal: // of 61 bytes and more; a tag of 60 << 2 has its length less 1 in a byte
	CMPL    AX, $(60<<2)
	JNE     done
	MOVBLZX 1(SI), AX
	LEAQ    1(DI)(AX*1), R12
	CMPQ    R12, R9
	JHI     done
	LEAQ    3(SI)(AX*1), DX
	CMPQ    DX, R8
	JHI     done
	ADDQ    $2, SI

move:
	VMOVDQU (SI), Y0
	VMOVDQU Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	CMPQ    DI, R12
	JCS     move
	MOVQ    R12, DI
	MOVQ    DX, SI
	JMP     loop

done:
	VZEROUPPER
	MOVQ packed_base+24(FP), BX
	SUBQ R10, DI
	SUBQ BX, SI
	MOVQ DI, toEnd+72(FP)
	MOVQ SI, fromEnd+80(FP)
	RET
