package kubernetes

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mpga/mpga/engine/distributed"
)

var (
	//go:embed head.yaml
	headTemplate string
	//go:embed account.yaml
	accountTemplate string
	//go:embed job.yaml
	jobTemplate string
)

// renderer writes a plan.
type renderer struct {
	plan *distributed.Plan
	opt  Options
	base string // of names: a letter, then letters, digits and -, so that names are DNS labels
}

// Render writes the Jobs of a plan. The options suit it, as Options.Validate says.
func Render(w io.Writer, p *distributed.Plan, o Options) error {
	r := &renderer{plan: p, opt: o, base: "mpga-" + p.ID}
	parts := []written{r.head()}
	if o.ServiceAccount == "" {
		parts = append(parts, r.account())
	}
	for i := range p.Stages {
		parts = append(parts, r.job(i))
	}
	for _, part := range parts {
		if _, err := io.WriteString(w, string(part)); err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) jobName(stage string) string { return r.base + "-" + stage }

// atOnce returns how many pods of a stage run at a time. K3.
func (r *renderer) atOnce(stage int) int {
	most := r.opt.Parallelism
	if stage > 0 && !r.opt.Suspend {
		most = max(most/4, 1)
	}
	return min(most, r.plan.Stages[stage].Tasks)
}

// head writes what the reader should know.
func (r *renderer) head() written {
	var tasks []string
	for _, s := range r.plan.Stages {
		tasks = append(tasks, fmt.Sprintf("%s %d", s.Name, s.Tasks))
	}
	namespace := ""
	if r.opt.Namespace != "" {
		namespace = " -n " + r.opt.Namespace // which is a DNS label
	}
	return fill(headTemplate, map[string]written{
		"plan": quote(r.plan.File()), "query": quote(shortened(r.plan.Statement)),
		"output": quote(r.plan.Output.Path), "tasks": written(strings.Join(tasks, ", ")),
		"image": quote(r.opt.Image), "version": quote(r.plan.Version),
		"namespace": written(namespace), "selector": written(instanceLabel + "=" + r.base),
		"room": r.room(written(namespace)),
	})
}

// shortened returns the beginning of a statement.
func shortened(statement string) string {
	const most = 300
	if runes := []rune(statement); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return statement
}

// room says what the pods of later stages take while they wait. K3.
func (r *renderer) room(namespace written) written {
	var b strings.Builder
	if r.opt.Suspend {
		b.WriteString("# Later stages are suspended until they are resumed, one after the other:\n#\n")
		for i, s := range r.plan.Stages[1:] {
			fmt.Fprintf(&b, "#   kubectl%s wait --for=condition=Complete --timeout=-1s job/%s\n",
				namespace, r.jobName(r.plan.Stages[i].Name))
			fmt.Fprintf(&b, "#   kubectl%s patch job %s --type=merge -p '{\"spec\":{\"suspend\":false}}'\n",
				namespace, r.jobName(s.Name))
		}
		return written(b.String())
	}
	waiting := 0
	for i := range r.plan.Stages[1:] {
		waiting += r.atOnce(i + 1)
	}
	return written(fmt.Sprintf("# The pods of later stages start at once too, "+
		"wait for the stage before theirs, and hold their room: %d pods at\n"+
		"# most. The cluster, or the quota, must have room for more than that; "+
		"mpga dist kubernetes --suspend makes\n"+
		"# Jobs that hold none.\n", waiting))
}

const (
	nameLabel      = "app.kubernetes.io/name"
	instanceLabel  = "app.kubernetes.io/instance"
	componentLabel = "app.kubernetes.io/component"
)

// labels writes the labels of an object; stage is "" of what belongs to none.
func (r *renderer) labels(stage string) written {
	text := fmt.Sprintf("%s: mpga\n%s: %s\n", nameLabel, instanceLabel, quote(r.base))
	if stage != "" {
		text += fmt.Sprintf("%s: %s\n", componentLabel, stage)
	}
	return written(text)
}

func (r *renderer) namespace() written {
	if r.opt.Namespace == "" {
		return ""
	}
	return "namespace: " + quote(r.opt.Namespace)
}

func (r *renderer) accountName() written {
	if r.opt.ServiceAccount != "" {
		return quote(r.opt.ServiceAccount)
	}
	return quote(r.base)
}

// account writes the service account, with what the clouds call the rights of a store.
func (r *renderer) account() written {
	hints := ""
	uses := stores(r.plan)
	if uses["s3"] {
		hints += "#  eks.amazonaws.com/role-arn: arn:aws:iam::123456789012:role/ROLE # EKS; none with Pod Identity\n"
	}
	if uses["gs"] {
		hints += "#  iam.gke.io/gcp-service-account: NAME@PROJECT.iam.gserviceaccount.com" +
			" # GKE; none where the role is this account's\n"
	}
	if uses["az"] {
		hints += "#  azure.workload.identity/client-id: 00000000-0000-0000-0000-000000000000" +
			" # AKS, with the label of pods below\n"
	}
	annotations := "annotations: {}\n"
	if hints != "" {
		annotations = "annotations: # take the # from the cluster's\n" + hints
	}
	return fill(accountTemplate, map[string]written{
		"account": r.accountName(), "namespace": r.namespace(), "labels": r.labels(""), "annotations": written(annotations),
	})
}

// limits writes when a Job ends, goes and starts.
func (r *renderer) limits(stage int) written {
	var b strings.Builder
	seconds := func(field string, d time.Duration, about string) {
		if d > 0 {
			fmt.Fprintf(&b, "%s: %d # %s\n", field, (d+time.Second-1)/time.Second, about)
		}
	}
	seconds("activeDeadlineSeconds", r.opt.Deadline, "then the Job fails; waiting counts")
	seconds("ttlSecondsAfterFinished", r.opt.TTL, "then the Job and its logs go; mpga dist gc removes files")
	if stage > 0 && r.opt.Suspend {
		b.WriteString("suspend: true\n")
	}
	return written(b.String())
}
