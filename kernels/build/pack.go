// Command build packs what build.py has compiled into what package cuda embeds, or compares the
// two.
//
//	go run ./kernels/build [-check] DIRECTORY
//
// DIRECTORY has an uncompressed archive TARGET.zip for each target; kernels/cuda/TARGET.zip.zst is
// the same archive compressed as a whole, since the machine code of one kernel is much like that of
// the next: 4 MB, where members compressed one by one took 10.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// embedded is where the kernels are embedded from, seen from the repository.
const embedded = "kernels/cuda"

// windowBytes reaches from each kernel of a target to all others.
const windowBytes = 8 << 20

func main() {
	check := flag.Bool("check", false, "compare with what is embedded, and write nothing")
	flag.Parse()
	if err := run(flag.Arg(0), *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(directory string, check bool) error {
	archives, err := filepath.Glob(filepath.Join(directory, "*.zip"))
	if err != nil {
		return err
	}
	if len(archives) == 0 {
		return fmt.Errorf("%s has no archives", directory)
	}
	for _, path := range archives {
		archive, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		packed := filepath.Join(embedded, filepath.Base(path)+".zst")
		if check {
			err = compare(archive, packed)
		} else {
			err = pack(archive, packed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func pack(archive []byte, packed string) error {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(windowBytes))
	if err != nil {
		return err
	}
	out := w.EncodeAll(archive, nil)
	fmt.Printf("%s: %d B of %d\n", packed, len(out), len(archive))
	return os.WriteFile(packed, out, 0o666)
}

func compare(archive []byte, packed string) error {
	in, err := os.ReadFile(packed)
	if err != nil {
		return err
	}
	r, err := zstd.NewReader(nil)
	if err != nil {
		return err
	}
	defer r.Close()
	have, err := r.DecodeAll(in, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", packed, err)
	}
	if !bytes.Equal(have, archive) {
		return fmt.Errorf("%s differs from its sources: run make kernels", packed)
	}
	fmt.Printf("%s: %d B are as compiled\n", packed, len(have))
	return nil
}
