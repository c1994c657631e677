package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/bench"
)

// benchDecompressFlags say what is decompressed.
type benchDecompressFlags struct {
	total   string
	chunks  []string
	repeats int
}

func newBenchDecompressCommand() *cobra.Command {
	var f benchDecompressFlags
	cmd := &cobra.Command{
		Use:   "decompress",
		Short: "Measure how fast a GPU decompresses snappy",
		Long: `Measure how fast the first GPU decompresses chunks of the snappy format that are in its memory already,
by the median time between two events of the device, beside one thread of the CPU. All bytes are checked.`,
		Example: `  mpga bench decompress --bytes 1GiB --chunks 64KiB,1MiB`,
		Args:    wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runBenchDecompress(cmd.OutOrStdout(), &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.total, "bytes", "512MiB", "decompress to `SIZE` in all")
	flags.StringSliceVar(&f.chunks, "chunks", []string{"64KiB", "256KiB", "1MiB"}, "`LIST` of sizes of decompressed chunks")
	flags.IntVar(&f.repeats, "repeats", 9, "`N` runs, of which the median is shown")
	return cmd
}

func runBenchDecompress(w io.Writer, f *benchDecompressFlags) (err error) {
	total, err := benchSize("--bytes", f.total)
	if err != nil {
		return err
	}
	if f.repeats < 1 {
		return usagef("--repeats %d: want 1 or more", f.repeats)
	}
	var chunks []int64
	for _, text := range f.chunks {
		n, err := benchSize("--chunks", text)
		if err != nil {
			return err
		}
		chunks = append(chunks, n)
	}
	device, err := kernels.Open(kernels.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	runner, err := bench.NewRunner(device, f.repeats)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()

	fmt.Fprintf(w, "%s, %s decompressed\n", device.Properties().Name, humanize.IBytes(uint64(total)))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "bytes\tchunk\tratio\tms\tGB/s\ta thread GB/s\t")
	for _, plain := range bench.Plains {
		for _, chunk := range chunks {
			r, err := runner.Decompress(plain, total, chunk)
			if err != nil {
				return fmt.Errorf("%s in chunks of %d B: %w", plain.Name, chunk, err)
			}
			fmt.Fprintf(t, "%s\t%s\t%.2f\t%.2f\t%.1f\t%.2f\t\n", plain.Name, humanize.IBytes(uint64(chunk)), r.Ratio,
				float64(r.Nanos)/1e6, float64(r.Plain)/float64(r.Nanos), float64(r.Plain)/float64(r.ThreadNanos))
		}
	}
	return t.Flush()
}

// benchSize parses a size from 1 KiB to 2 GiB.
func benchSize(flag, text string) (int64, error) {
	n, err := parseSize(flag, text)
	if err == nil && (n < 1<<10 || n > 2<<30 || n%8 != 0) {
		err = usagef("%s %q: want a size from 1KiB to 2GiB, a multiple of 8 bytes", flag, text)
	}
	return n, err
}
