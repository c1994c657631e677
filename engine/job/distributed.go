package job

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/plan"
)

// Distributed returns what a plan of a step is made of, but for where it works and how it is cut. The
// name may be left out where the job has one step. Input, query and output are the step's; limits and
// retries come from the program that runs the tasks.
func (j *Job) Distributed(step string) (r distributed.Request, err error) {
	j.EnsureDefaults()
	if err := j.Validate(); err != nil {
		return r, err
	}
	s, at, err := j.stepNamed(step)
	if err != nil {
		return r, err
	}
	if s.Rollup.State != "" {
		return r, j.stepError(at, errors.New("rollup: the states of a distributed step are not kept; run it by mpga run"))
	}
	q, err := s.query()
	if err == nil {
		err = s.checkAlone()
	}
	if err != nil {
		return r, j.stepError(at, err)
	}
	r = distributed.Request{Name: j.Name + "." + s.Name, Statement: q.text, Overflow: q.overflow,
		Deterministic: q.deterministic, TimeZone: q.zone, Output: s.Output.Path}
	if r.Scan, err = s.Input.options(); err != nil {
		return r, j.stepError(at, err)
	}
	if err := s.Input.refuse("not supported by a distributed step"); err != nil {
		return r, j.stepError(at, err)
	}
	if r.Layout, err = s.sinkOptions(); err != nil {
		return r, j.stepError(at, err)
	}
	r.Tables = map[string]plan.Table{inputTable: {Files: s.From}}
	return r, nil
}

// stepNamed returns a step and its index.
func (j *Job) stepNamed(name string) (*Step, int, error) {
	names := make([]string, len(j.Steps))
	for i := range j.Steps {
		if j.Steps[i].Name == name || name == "" && len(j.Steps) == 1 {
			return &j.Steps[i], i, nil
		}
		names[i] = j.Steps[i].Name
	}
	if name == "" {
		return nil, 0, fmt.Errorf("job %s has %d steps, of which a plan takes one: %s", j.Name,
			len(names), strings.Join(names, ", "))
	}
	return nil, 0, fmt.Errorf("job %s has no step %s; it has %s", j.Name, name, strings.Join(names, ", "))
}
