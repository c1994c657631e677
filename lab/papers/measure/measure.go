package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
	"github.com/mpga/mpga/lab/bench"
	"github.com/mpga/mpga/lab/papers"
	"github.com/mpga/mpga/lab/papers/page"
)

// Options say on what figures are measured, and where their report goes.
type Options struct {
	// Device is "cuda", or "host:SIZE" for a GPU's double on the CPU, as in engine.Options. The
	// default is "cuda" where a GPU opens, else "host:2GiB".
	Device string

	// HostBytes is the memory of the GPU's double that Device names, in bytes; 0 if Device names
	// none.
	HostBytes int64

	// Scale is the share of the papers' rows. The default is 1 on a GPU, and 0.001 without.
	Scale float64

	// Repeats is how often kernels run; the median is taken. The default is 7 on a GPU, and 1
	// without.
	Repeats int

	// Dir is the directory of the report, which Run makes.
	Dir string
}

// What options are by default.
const (
	scaleGPU    = 1
	scaleHost   = 1e-3
	repeatsGPU  = 7
	repeatsHost = 1
	hostDevice  = "host:2GiB"
	hostBytes   = 2 << 30 // of hostDevice
)

// measurer measures figures on a device.
type measurer struct {
	device  kernels.Device
	runner  *bench.Runner // nil until the device is known to run
	engines string        // Options.Device of engines: the same device (M2)
	report  papers.Report
	sweeps  map[int]*chart.Panel // of the figures of Wu et al. that share a sweep, by key bytes
	joins   map[string]joinTimes // of the figures of Wu et al. that share a join, by its case
}

// Run measures figures. After each it writes its text to w, and the report so far into Options.Dir;
// in the end the verdicts to w. A figure that fails does not end the others.
func Run(ctx context.Context, w io.Writer, o Options, figures []*papers.Figure) (err error) {
	m, err := open(&o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return err
	}
	return m.all(ctx, w, o.Dir, figures)
}

// open opens the device.
func open(o *Options) (*measurer, error) {
	m := &measurer{sweeps: map[int]*chart.Panel{}, joins: map[string]joinTimes{}}
	if err := m.openDevice(o); err != nil {
		return nil, err
	}
	if err := m.begin(o); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// openDevice opens the device that options name. Without a name it is a GPU, or a GPU's double where no GPU opens.
func (m *measurer) openDevice(o *Options) (err error) {
	m.engines = o.Device
	if o.HostBytes == 0 {
		m.device, err = kernels.Open(kernels.Options{})
		if err == nil {
			m.engines, m.report.Machine.IsGPU = "cuda", true
		}
		if err == nil || o.Device != "" {
			return err
		}
		m.engines = hostDevice
	}
	m.device, err = hostdevice.Open(hostdevice.Options{MemoryLimit: cmp.Or(o.HostBytes, hostBytes)})
	return err
}

// begin fills in what the options leave open, and what the machine is.
func (m *measurer) begin(o *Options) (err error) {
	r, machine := &m.report, &m.report.Machine
	r.Began = time.Now()
	r.Scale, r.Repeats = cmp.Or(o.Scale, scaleHost), cmp.Or(o.Repeats, repeatsHost)
	if machine.IsGPU {
		r.Scale, r.Repeats = cmp.Or(o.Scale, scaleGPU), cmp.Or(o.Repeats, repeatsGPU)
	}
	machine.Processors = runtime.GOMAXPROCS(0)
	if m.runner, err = bench.NewRunner(m.device, r.Repeats); err != nil {
		return err
	}
	if !machine.IsGPU {
		machine.Device = "a GPU's double on the CPU (" + m.engines + ")"
		return nil
	}
	p := m.device.Properties()
	machine.Device = p.Name
	machine.CUDA = fmt.Sprintf("%d.%d", p.DriverVersion/1000, p.DriverVersion%1000/10)
	if machine.Bandwidth, err = m.runner.Bandwidth(); err != nil {
		return err
	}
	machine.Link, err = kernels.LinkSpeed(m.device, 256<<20)
	return err
}

func (m *measurer) close() (err error) {
	if m.runner != nil {
		err = errors.Join(m.runner.Drop(), m.runner.Close())
	}
	return errors.Join(err, m.device.Close())
}

// all measures figures, and writes the report after each.
func (m *measurer) all(ctx context.Context, w io.Writer, dir string, figures []*papers.Figure) error {
	var failed []error
	r := &m.report
	for _, f := range figures {
		r.Left = append(r.Left, f.ID())
	}
	for _, f := range figures {
		result, err := m.measure(ctx, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", f.ID(), err))
		}
		r.Results, r.Left = append(r.Results, result), r.Left[1:]
		if err := errors.Join(page.WriteFigure(w, result), page.WriteFiles(dir, r)); err != nil {
			return err
		}
	}
	return errors.Join(append(failed, page.WriteVerdicts(w, r))...)
}

// measure measures a figure, and judges its claims.
func (m *measurer) measure(ctx context.Context, f *papers.Figure) (*papers.Result, error) {
	result := &papers.Result{Figure: f, Scale: m.report.Scale}
	start := time.Now()
	err := measurements[f.ID()](m, ctx, result)
	if err = errors.Join(err, m.runner.Drop()); err != nil {
		result.Error = err.Error()
	}
	result.Seconds = time.Since(start).Seconds()
	if !m.report.Machine.IsGPU && result.IsTimed() {
		result.Note("Times are those of a GPU's double on the CPU, not of a GPU.")
	}
	result.Judge(&m.report.Machine)
	return result, err
}
