package kubernetes

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mpga/mpga/engine/distributed"
)

// Options say how the tasks of a plan become Jobs. Lists may be empty, and so may what says what "" or 0 is.
type Options struct {
	Image          string       // has mpga, of the plan's version, in its PATH
	PullPolicy     string       // Always, IfNotPresent or Never
	Namespace      string       // where the Jobs are; "" is kubectl's
	ServiceAccount string       // an account that exists; "" is one of the plan's own, which Render writes
	EnvFrom        []EnvFrom    // secrets and config maps whose entries are variables of mpga
	Volumes        []Volume     // claims that are mounted
	NodeSelector   []Label      // of nodes that may run pods; none is any node
	Tolerations    []Toleration // of taints of nodes
	User           User         // whom mpga runs as

	// Parallelism is how many pods of a stage run at a time; of later stages, whose pods wait, a quarter,
	// unless they are suspended.
	Parallelism int

	Retries int // attempts of a task after its first

	// MaxFailed is how many tasks of a stage may run out of attempts before its Job ends. All tasks are
	// needed; what others have done meanwhile a rerun need not do.
	MaxFailed int

	Deadline time.Duration // ends a Job, waiting included; 0 is none
	TTL      time.Duration // how long a Job that has ended, its pods and their logs are kept; 0 is until they are deleted
	Suspend  bool          // leaves later stages suspended, so that none of their pods waits

	CPU    string // of a pod, as Kubernetes writes it: 2, 0.5 or 500m
	Memory int64  // bytes, of a pod
	Temp   int64  // bytes of disk, of a pod
	GPUs   int    // of each pod of the first stage; the others have no use for any
}

const (
	tempDir = "/tmp" // where a pod has Temp bytes: libraries that ask for no directory find it, too

	// memoryMin is what 80% of are mpga's least memory limit, 128 MiB.
	memoryMin = 160 << 20
	tempMin   = 1 << 20
)

var (
	imagePattern = regexp.MustCompile(`^[!-~]+$`)
	cpuPattern   = regexp.MustCompile(`^([0-9]+(\.[0-9]{1,3})?|[0-9]+m)$`)

	// labelPattern is a DNS label, and subdomainPattern a DNS subdomain, as RFC 1123 has them.
	labelPattern     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	subdomainPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
)

// isSubdomain says whether a text is a name of most objects of Kubernetes.
func isSubdomain(text string) bool { return len(text) <= 253 && subdomainPattern.MatchString(text) }

// Validate reports what is out of its bounds, and what does not suit the plan.
func (o *Options) Validate(p *distributed.Plan) error {
	var errs []error
	check := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(imagePattern.MatchString(o.Image), "image %q: want a name such as registry/mpga:1.2", o.Image)
	check(slices.Contains([]string{"Always", "IfNotPresent", "Never"}, o.PullPolicy),
		"pull policy %q: want Always, IfNotPresent or Never", o.PullPolicy)
	check(o.Namespace == "" || labelPattern.MatchString(o.Namespace),
		"namespace %q: want small letters, digits and -", o.Namespace)
	check(o.ServiceAccount == "" || isSubdomain(o.ServiceAccount),
		"service account %q: want small letters, digits, - and .", o.ServiceAccount)
	check(o.User.UID > 0 && o.User.GID > 0, "user %d:%d: root runs no task", o.User.UID, o.User.GID)
	check(o.Parallelism >= 1 && o.Parallelism <= parallelismMax,
		"parallelism %d: want 1 to %d", o.Parallelism, parallelismMax)
	check(o.Retries >= 0, "retries %d: want 0 or more", o.Retries)
	check(o.MaxFailed >= 0, "%d tasks that may fail: want 0 or more", o.MaxFailed)
	check(o.Deadline == 0 || o.Deadline >= time.Second, "deadline %v: want 1s or more", o.Deadline)
	check(o.TTL == 0 || o.TTL >= time.Second, "time to live %v: want 1s or more", o.TTL)
	check(cpuPattern.MatchString(o.CPU) && strings.ContainsAny(o.CPU, "123456789"),
		"cpu %q: want a number such as 2, 0.5 or 500m", o.CPU)
	check(o.Memory >= memoryMin, "memory %d B: a task takes %s or more", o.Memory, quantity(memoryMin))
	check(o.Temp >= tempMin, "disk %d B: want %s or more", o.Temp, quantity(tempMin))
	check(o.GPUs >= 0, "%d GPUs: want 0 or more", o.GPUs)
	errs = append(errs, checkLabels(o.NodeSelector), checkMounts(o.Volumes), o.checkPaths(p))
	return errors.Join(errs...)
}

// parallelismMax is what Kubernetes allows for an Indexed Job.
const parallelismMax = 100_000

// quantity writes bytes as Kubernetes does.
func quantity(bytes int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 40, "Ti"}, {1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}} {
		if bytes >= unit.bytes && bytes%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", bytes/unit.bytes, unit.name)
		}
	}
	return fmt.Sprint(bytes)
}
