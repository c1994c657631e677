package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/lab/bench"
)

// decodeFlags say what is decoded.
type decodeFlags struct {
	total    string
	blocks   []string
	pageRows []int64
	strings  []string
	repeats  int

	stringPages []int64 // strings, in bytes
}

func newDecodeCommand() *cobra.Command {
	var f decodeFlags
	cmd := &cobra.Command{
		Use:   "decode",
		Short: "Measure how fast a GPU decodes Parquet",
		Long: `Measure how fast the first GPU decompresses blocks of the snappy format, decodes pages of Parquet, and numbers
strings, that are in its memory already, by the median time between two events of the device. All bytes are checked.`,
		Example: `  mpga-lab decode --bytes 1GiB --blocks 64KiB,1MiB --page-rows 20000,500000`,
		Args:    wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDecode(cmd.OutOrStdout(), &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.total, "bytes", "512MiB", "decode to `SIZE` in all")
	flags.StringSliceVar(&f.blocks, "blocks", []string{"64KiB", "256KiB", "1MiB"},
		"`LIST` of sizes of decompressed blocks")
	flags.Int64SliceVar(&f.pageRows, "page-rows", []int64{20_000, 131_072, 500_000},
		"`LIST` of numbers of rows of a page")
	flags.StringSliceVar(&f.strings, "string-pages", []string{"128KiB", "1MiB"}, "`LIST` of sizes of pages of strings")
	flags.IntVar(&f.repeats, "repeats", 9, "`N` runs, of which the median is shown")
	return cmd
}

func runDecode(w io.Writer, f *decodeFlags) error {
	total, err := parseBlockSize("--bytes", f.total)
	if err != nil {
		return err
	}
	if f.repeats < 1 {
		return usagef("--repeats %d: want 1 or more", f.repeats)
	}
	var blocks []int64
	for _, text := range f.blocks {
		n, err := parseBlockSize("--blocks", text)
		if err != nil {
			return err
		}
		blocks = append(blocks, n)
	}
	for _, text := range f.strings {
		n, err := parseBlockSize("--string-pages", text)
		if err != nil {
			return err
		}
		f.stringPages = append(f.stringPages, n)
	}
	for _, n := range f.pageRows {
		if n < 1 || n > 1<<27 {
			return usagef("--page-rows %d: want 1 to 2^27", n)
		}
	}
	return withRunner(f.repeats, func(device kernels.Device, runner *bench.Runner) error {
		fmt.Fprintf(w, "%s, %s decoded\n", device.Properties().Name, humanize.IBytes(uint64(total)))
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		return errors.Join(measureBlocks(t, runner, total, blocks), measurePages(t, runner, total, f.pageRows),
			measureStrings(t, runner, total, f.stringPages), t.Flush())
	})
}

// measureBlocks prints how fast blocks are decompressed, beside one thread of the CPU.
func measureBlocks(t io.Writer, runner *bench.Runner, total int64, blocks []int64) error {
	fmt.Fprintln(t, "snappy\tblock\tratio\tms\tGB/s\ta thread GB/s\t")
	for _, plain := range bench.Plains {
		for _, block := range blocks {
			r, err := runner.Decompress(plain, total, block)
			if err != nil {
				return fmt.Errorf("%s in blocks of %d B: %w", plain.Name, block, err)
			}
			fmt.Fprintf(t, "%s\t%s\t%.2f\t%.2f\t%.1f\t%.2f\t\n", plain.Name, humanize.IBytes(uint64(block)), r.Ratio,
				float64(r.Nanos)/1e6, float64(r.Plain)/float64(r.Nanos), float64(r.Plain)/float64(r.ThreadNanos))
		}
	}
	return nil
}

// measurePages prints how fast pages of 8-byte values are decoded.
func measurePages(t io.Writer, runner *bench.Runner, total int64, pageRows []int64) error {
	fmt.Fprintln(t, "\t\t\t\t\t\t\npages\trows\tratio\tms\tGB/s\tG rows/s\t")
	for _, kind := range bench.PageKinds {
		for _, rows := range pageRows {
			r, err := runner.DecodePages(kind, total/8, rows)
			if err != nil {
				return fmt.Errorf("%s, %d rows a page: %w", kind.Name, rows, err)
			}
			fmt.Fprintf(t, "%s\t%d\t%.2f\t%.2f\t%.1f\t%.2f\t\n", kind.Name, rows, float64(8*r.Rows)/float64(r.Encoded),
				float64(r.Nanos)/1e6, float64(8*r.Rows)/float64(r.Nanos), float64(r.Rows)/float64(r.Nanos))
		}
	}
	return nil
}

// measureStrings prints how fast plain strings get their numbers: where none is known, and where all are.
func measureStrings(t io.Writer, runner *bench.Runner, total int64, pages []int64) error {
	fmt.Fprintln(t, "\t\t\t\t\t\t\nstrings\tpage\tM strings\tnew ms\tknown ms\tGB/s\t")
	for _, kind := range bench.StringKinds {
		for _, page := range pages {
			r, err := runner.NumberStrings(kind, total, page)
			if err != nil {
				return fmt.Errorf("%s, pages of %d B: %w", kind.Name, page, err)
			}
			fmt.Fprintf(t, "%s\t%s\t%.1f\t%.2f\t%.2f\t%.1f\t\n", kind.Name, humanize.IBytes(uint64(page)), float64(r.Strings)/1e6,
				float64(r.New)/1e6, float64(r.Known)/1e6, float64(r.Bytes)/float64(r.Known))
		}
	}
	return nil
}

// parseBlockSize parses a size from 1 KiB to 2 GiB.
func parseBlockSize(flag, text string) (int64, error) {
	n, err := parseSize(flag, text)
	if err == nil && (n < 1<<10 || n > 2<<30 || n%8 != 0) {
		err = usagef("%s %q: want a size from 1KiB to 2GiB, a multiple of 8 bytes", flag, text)
	}
	return n, err
}
