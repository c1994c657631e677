// Package cuda brings the machine code of the GPU kernels into a program:
//
//	import _ "github.com/mpga/mpga/kernels/cuda"
//
// Without this import a program finds no GPU, and the CPU does all work. The files are what
// kernels/build has made of the CUDA sources in package kernels.
package cuda

import (
	"embed"

	"github.com/mpga/mpga/internal/cubin"
)

//go:embed *.zip.zst
var archives embed.FS

func init() { cubin.Archives = archives }
