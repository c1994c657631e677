// Package cubin is where the machine code of the kernels is registered by the package that embeds
// it, and found by the package that loads it. Programs without the code are 5 MB smaller.
package cubin

import "io/fs"

// Archives has TARGET.zip.zst for each target that there is machine code for; nil in a program
// without GPU code. Set by an init function.
var Archives fs.FS
