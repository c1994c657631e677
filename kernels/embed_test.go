package kernels

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/mpga/mpga/kernels/cuda"
)

// pythonList returns the words of a list in build.py.
func pythonList(t *testing.T, script, name string) []string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + ` = (?:MACHINES \+ )?\[(.*)\]$`).FindStringSubmatch(script)
	if m == nil {
		t.Fatalf("build.py has no list %s", name)
	}
	return strings.Fields(strings.NewReplacer(`"`, "", ",", " ").Replace(m[1]))
}

// Would catch a source, the compiler's version or a flag that changed without make kernels.
func TestEmbeddedKernelsAreBuiltFromTheSources(t *testing.T) {
	b, err := os.ReadFile("build/build.py")
	if err != nil {
		t.Fatal(err)
	}
	script := string(b)
	version := regexp.MustCompile(`(?m)^VERSION = "(.*)"$`).FindStringSubmatch(script)[1]
	targets := append(pythonList(t, script, "MACHINES"), pythonList(t, script, "TARGETS")...)

	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n", version, strings.Join(targets, " "), strings.Join(pythonList(t, script, "FLAGS"), " "))
	var names, sources []string
	for _, pattern := range []string{"*.cu", "*.cuh", "*.h"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	for _, name := range names {
		if name == "driver.h" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
		if source, ok := strings.CutSuffix(name, ".cu"); ok {
			sources = append(sources, source)
		}
	}
	stamp, err := os.ReadFile("cuda/stamp")
	if err != nil {
		t.Fatal(err)
	}
	if want := hex.EncodeToString(h.Sum(nil)) + "\n"; string(stamp) != want {
		t.Errorf("the archives in cuda are of other sources, compiler or flags (stamp %.12s, want %.12s): run make kernels", stamp, want)
	}

	var have, want []string
	for _, target := range targets {
		archive, err := archiveOf(target)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.File {
			have = append(have, target+"/"+f.Name)
		}
		for _, source := range sources {
			want = append(want, target+"/"+source)
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("the archives in cuda hold %d files, want %d", len(have), len(want))
	}
}

func TestEmbeddedImage(t *testing.T) {
	for capability, target := range map[int]string{70: "compute_75", 75: "sm_75", 80: "sm_80", 87: "sm_86", 89: "sm_86", 90: "sm_90", 103: "sm_100", 121: "sm_120", 130: "compute_75"} {
		if got := imageTarget(capability); got != target {
			t.Errorf("compute capability %d: %s, want %s", capability, got, target)
		}
	}
	for _, kernel := range []string{"table_reset", "aggregate_shared_k4_sum_u32", "table_insert_kn_general"} {
		image, err := embeddedImage(kernel, 90)
		if err != nil || !bytes.Contains(image, []byte(kernel)) {
			t.Errorf("%s: %d B without its name, %v", kernel, len(image), err)
		}
	}
	if _, err := embeddedImage("no_such_kernel", 90); err == nil {
		t.Error("a kernel that does not exist was found")
	}
}
