package cpurun

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ErrNoCompiler: there is no g++ to compile the kernels with.
var ErrNoCompiler = errors.New("no g++ to compile the kernels with")

// sharedBytesMax is the dynamic shared memory that a kernel may ask for: as much as a device of
// compute capability 9.0 has, which has the most.
const sharedBytesMax = 227 << 10

// The check for null members finds thread_local variables at null with g++ 12; memory at null is
// found by the other sanitizer.
var compilerFlags = []string{
	"-std=c++17", "-O1", "-g1", "-pthread", "-fno-extern-tls-init", "-fno-strict-aliasing", "-ffp-contract=off",
	"-fsanitize=address,undefined", "-fno-sanitize=null", "-fno-sanitize-recover=all",
	"-Wall", "-Wno-unknown-pragmas", "-Wno-unused-function", "-Wno-unused-variable", "-Wno-unused-but-set-variable",
}

var (
	kernelPattern = regexp.MustCompile(`\[\[gnu::used\]\]\s+void\s+(\w+)\s*\(`)
	sharedPattern = regexp.MustCompile(
		`extern\s+thread_local\s+(?:alignas\(\d+\)\s+)?([\w:]+(?:\s+[\w:]+)*)\s+(\w+)\s*\[\s*\]`)
)

var built struct {
	mu       sync.Mutex
	programs map[string]func() (string, error)
}

// Build compiles the executor with files of kernels, and returns the program. The program is made
// once, and kept in the user's cache under the hash of everything that it was made from.
func Build(files ...string) (string, error) {
	built.mu.Lock()
	defer built.mu.Unlock()
	if built.programs == nil {
		built.programs = map[string]func() (string, error){}
	}
	key := strings.Join(files, "\n")
	once, ok := built.programs[key]
	if !ok {
		once = sync.OnceValues(func() (string, error) { return build(files) })
		built.programs[key] = once
	}
	return once()
}

func build(files []string) (string, error) {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		return "", ErrNoCompiler
	}
	source, err := sourceDir()
	if err != nil {
		return "", err
	}
	units := make([]string, len(files))
	sum := sha256.New()
	for i, file := range files {
		if units[i], err = unit(compiler, source, file); err != nil {
			return "", err
		}
		sum.Write([]byte(units[i]))
	}
	for _, own := range []string{"cuda.h", "executor.cc"} {
		text, err := os.ReadFile(filepath.Join(source, own))
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	version, err := exec.Command(compiler, "--version").Output()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(sum, "%s %q", version, compilerFlags)

	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	program := filepath.Join(cache, "mpga-cpurun", fmt.Sprintf("%x", sum.Sum(nil)[:8]))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	return program, compile(compiler, string(version), source, units, program)
}

// sourceDir finds the executor's own files, from a working directory inside the module.
func sourceDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "kernels", "cpurun", "src"), nil
		}
	}
	return "", errors.New("the working directory is not inside the module")
}

// unit returns a file of kernels as one preprocessed text, with what registers its kernels and
// defines its dynamic shared memory.
func unit(compiler, source, file string) (string, error) {
	text, err := output(exec.Command(compiler, "-std=c++17", "-E", "-x", "c++",
		"-include", filepath.Join(source, "cuda.h"), file))
	if err != nil {
		return "", err
	}
	var tail []string
	for _, found := range kernelPattern.FindAllSubmatch(text, -1) {
		tail = append(tail,
			fmt.Sprintf("static cpurun::Kernel cpurun_%[1]s(\"%[1]s\", cpurun::Entry<&%[1]s>{});\n",
				found[1]))
	}
	for _, found := range sharedPattern.FindAllSubmatch(text, -1) {
		tail = append(tail,
			fmt.Sprintf(
				"alignas(1024) __attribute__((weak)) thread_local %[1]s %[2]s[%[3]d / sizeof(%[1]s)];\n"+
					"static cpurun::SharedMemory cpurun_%[2]s([] { return (void*)%[2]s; }, sizeof(%[2]s));\n",
				found[1], found[2], sharedBytesMax))
	}
	slices.Sort(tail)
	for _, line := range slices.Compact(tail) {
		text = append(text, line...)
	}
	return string(text), nil
}

// compile makes the program. Objects are kept beside it, since programs share files.
func compile(compiler, version, source string, units []string, program string) error {
	kept := filepath.Dir(program)
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(kept, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	executor, err := output(exec.Command(compiler,
		append(slices.Clone(compilerFlags), "-E", filepath.Join(source, "executor.cc"))...))
	if err != nil {
		return err
	}
	units = append(slices.Clone(units), string(executor))
	objects := make([]string, len(units))
	errs := make([]error, len(units))
	var group sync.WaitGroup
	free := make(chan struct{}, 2)
	for i, text := range units {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %s", version, compilerFlags, text))
		objects[i] = filepath.Join(kept, fmt.Sprintf("%x.o", sum[:8]))
		if _, err := os.Stat(objects[i]); err == nil {
			continue
		}
		group.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			errs[i] = compileUnit(compiler, text, filepath.Join(dir, fmt.Sprint(i)), objects[i])
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	linked := filepath.Join(dir, "program")
	if _, err := output(exec.Command(compiler,
		slices.Concat(compilerFlags, []string{"-o", linked}, objects)...)); err != nil {
		return err
	}
	return os.Rename(linked, program)
}

// compileUnit compiles a preprocessed text, by files of its own, so that objects that are kept are
// whole.
func compileUnit(compiler, text, own, object string) error {
	if err := os.WriteFile(own+".ii", []byte(text), 0o644); err != nil {
		return err
	}
	if _, err := output(exec.Command(compiler,
		append(slices.Clone(compilerFlags), "-c", "-o", own+".o", own+".ii")...)); err != nil {
		return err
	}
	return os.Rename(own+".o", object)
}

// output runs a compiler, whose complaints become the error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd.Args[len(cmd.Args)-1], err, complaints.String())
	}
	return out, nil
}
