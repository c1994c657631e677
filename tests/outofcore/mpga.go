package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// measured is what `mpga-lab outofcore` tells.
type measured struct {
	Groups, Bytes         int64   // bytes of the input's columns
	Seconds, First, Floor float64 // the median, the run before those that count, and what the link takes
	Stats                 struct {
		Route        string
		ResidentPeak int64 `json:"resident_peak_bytes"`
	}
}

// resultBytes are the bytes of a group: 4 of a key and 8 of a sum.
const resultBytes = 12

// resident returns the most GB that the process had resident, needed the GB of its input and result
// in memory.
func (m *measured) resident() float64 { return float64(m.Stats.ResidentPeak) / 1e9 }
func (m *measured) needed() float64   { return float64(m.Bytes+resultBytes*m.Groups) / 1e9 }

// runMpga measures mpga by mpga-lab, with arguments, and expects a number of groups.
func runMpga(ctx context.Context, o *options, groups float64, args ...string) (m measured, err error) {
	cmd := exec.CommandContext(ctx, o.lab, append([]string{"outofcore", "--json", "--times", fmt.Sprint(o.times)}, args...)...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return m, err
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&m); err != nil {
		return m, err
	}
	if float64(m.Groups) != groups {
		return m, fmt.Errorf("%d groups came out", m.Groups)
	}
	return m, nil
}
