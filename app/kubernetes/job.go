package kubernetes

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mpga/mpga/engine/distributed"
)

// about says what a task of a stage does.
var about = map[string]string{
	distributed.StagePartial: "partial: a task reads a split of the input, and writes the states of its groups.",
	distributed.StageCombine: "combine: a task merges the states of neighbouring splits.",
	distributed.StageMerge:   "merge: a task merges the states of some partitions of the keys to rows.",
	distributed.StageCommit:  "commit: the one task makes the output of the rows, whole or not at all.",
}

// aboutRows says the same of plans whose rows go to other tasks.
var aboutRows = map[string]string{
	distributed.StagePartial: "partial: a task reads a split of the input, and writes its rows by the hash of keys.",
	distributed.StageCombine: "combine: a task joins the rows of some partitions, and writes the states of their groups.",
	distributed.StageMerge:   "merge: a task makes rows of some partitions.",
	distributed.StageCommit:  about[distributed.StageCommit],
}

// taskFlag is the flag of a stage's command that says which task it is; "" of the stage of one task.
var taskFlag = map[string]string{
	distributed.StagePartial: "--split",
	distributed.StageCombine: "--node",
	distributed.StageMerge:   "--task",
	distributed.StageCommit:  "",
}

// job writes a stage.
func (r *renderer) job(at int) written {
	stage := r.plan.Stages[at]
	o := &r.opt
	var wait written
	if at > 0 {
		wait = r.wait(r.plan.Stages[at-1].Name)
	}
	gpus := 0
	if at == 0 {
		gpus = o.GPUs
	}
	what := about
	if r.plan.Exchange != nil {
		what = aboutRows
	}
	var gpuLimit, podHints written
	if gpus > 0 {
		gpuLimit = "nvidia.com/gpu: " + number(gpus)
	}
	if stores(r.plan)["az"] {
		podHints = `# azure.workload.identity/use: "true" # AKS`
	}
	return fill(jobTemplate, map[string]written{
		"about": written(what[stage.Name]), "name": quote(r.jobName(stage.Name)),
		"namespace": r.namespace(), "labels": r.labels(stage.Name), "podHints": podHints,
		"tasks": r.tasks(at), "limits": r.limits(at), "account": r.accountName(), "nodes": r.nodes(gpus > 0),
		"uid": number(o.User.UID), "gid": number(o.User.GID),
		"wait": wait, "container": r.container(r.taskArgs(stage.Name, gpus)),
		"cpu": quote(o.CPU), "memory": written(quantity(o.Memory)), "temp": written(quantity(o.Temp)), "gpus": gpuLimit,
		"volumes": r.volumes(),
	})
}

// tasks writes how many tasks there are, how many run at a time, and how often each is tried.
func (r *renderer) tasks(at int) written {
	stage := r.plan.Stages[at]
	if taskFlag[stage.Name] == "" {
		return "backoffLimit: " + number(r.opt.Retries) + " # attempts after the first\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "completionMode: Indexed # JOB_COMPLETION_INDEX is the number of the task\n")
	fmt.Fprintf(&b, "completions: %d\n", stage.Tasks)
	fmt.Fprintf(&b, "parallelism: %d # pods at a time\n", r.atOnce(at))
	fmt.Fprintf(&b, "backoffLimitPerIndex: %d # attempts of a task after its first\n", r.opt.Retries)
	fmt.Fprintf(&b, "maxFailedIndexes: %d # tasks that may run out of attempts before the Job ends\n",
		min(r.opt.MaxFailed, stage.Tasks))
	return written(b.String())
}

// nodes writes which nodes may run the pods.
func (r *renderer) nodes(gpus bool) written {
	var b strings.Builder
	if len(r.opt.NodeSelector) == 0 {
		b.WriteString("nodeSelector: {}\n")
	} else {
		b.WriteString("nodeSelector:\n")
		for _, l := range r.opt.NodeSelector {
			fmt.Fprintf(&b, "  %s: %s\n", quote(l.Key), quote(l.Value))
		}
	}
	tolerations := r.opt.Tolerations
	if gpus {
		tolerations = append([]Toleration{{Key: "nvidia.com/gpu", AnyValue: true}}, tolerations...)
	}
	if len(tolerations) == 0 {
		b.WriteString("tolerations: []\n")
		return written(b.String())
	}
	b.WriteString("tolerations:\n")
	for _, t := range tolerations {
		fmt.Fprintf(&b, "- key: %s\n", quote(t.Key))
		if t.AnyValue {
			b.WriteString("  operator: Exists\n")
		} else {
			fmt.Fprintf(&b, "  operator: Equal\n  value: %s\n", quote(t.Value))
		}
		if t.Effect != "" {
			fmt.Fprintf(&b, "  effect: %s\n", quote(t.Effect))
		}
	}
	return written(b.String())
}

// wait writes the init container that ends when the stage before is done. It has the task's
// resources. The two do not run at the same time: a pod asks for the larger of both.
func (r *renderer) wait(before string) written {
	args := []written{"dist", "status", quotedArg("--plan=" + r.plan.File()), quotedArg("--wait=" + before)}
	values := map[string]written{
		"container": r.container(args),
		"cpu":       quote(r.opt.CPU),
		"memory":    written(quantity(r.opt.Memory)),
	}
	return fill(`initContainers:
# Waits for the stage before.
- name: wait
  ${container}
  terminationMessagePolicy: FallbackToLogsOnError
  resources:
    requests:
      cpu: ${cpu}
      memory: ${memory}
    limits:
      cpu: ${cpu}
      memory: ${memory}
`, values)
}

// taskArgs returns the arguments of a task.
func (r *renderer) taskArgs(stage string, gpus int) []written {
	args := []written{"dist", written(stage), quotedArg("--plan=" + r.plan.File())}
	if flag := taskFlag[stage]; flag != "" {
		args = append(args, written(flag+"=$(JOB_COMPLETION_INDEX)"))
	}
	// The directory takes the states that do not fit the memory, and, as large, the pack that is made of
	// them or the parts of packs that are read.
	args = append(args, quotedArg("--temp-dir="+tempDir), quotedArg(fmt.Sprintf("--temp-limit=%dB", r.opt.Temp/2)))
	if gpus > 0 {
		args = append(args, quotedArg("--device="+devices(gpus)))
	}
	return args
}

// devices names the first GPUs of a pod.
func devices(n int) string {
	if n == 1 {
		return "cuda"
	}
	ordinals := make([]string, n)
	for i := range ordinals {
		ordinals[i] = strconv.Itoa(i)
	}
	return "cuda:" + strings.Join(ordinals, ",")
}

// container writes what all containers of a pod have.
func (r *renderer) container(args []written) written {
	var b strings.Builder
	fmt.Fprintf(&b, "image: %s\nimagePullPolicy: %s\ncommand: [mpga]\nargs:\n", quote(r.opt.Image), r.opt.PullPolicy)
	for _, arg := range args {
		fmt.Fprintf(&b, "- %s\n", arg)
	}
	if len(r.opt.EnvFrom) > 0 {
		b.WriteString("envFrom:\n")
	}
	for _, e := range r.opt.EnvFrom {
		kind := map[string]string{"secret": "secretRef", "configmap": "configMapRef"}[e.Kind]
		fmt.Fprintf(&b, "- %s:\n    name: %s\n", kind, quote(e.Name))
	}
	b.WriteString("securityContext:\n  allowPrivilegeEscalation: false\n" +
		"  readOnlyRootFilesystem: true\n  capabilities:\n    drop: [ALL]\n")
	fmt.Fprintf(&b, "volumeMounts:\n- name: temp\n  mountPath: %s\n", tempDir)
	for i, v := range r.opt.Volumes {
		fmt.Fprintf(&b, "- name: claim-%d\n  mountPath: %s\n", i, quote(v.Path))
		if v.ReadOnly {
			b.WriteString("  readOnly: true\n")
		}
	}
	return written(b.String())
}

// volumes writes the claims that are mounted.
func (r *renderer) volumes() written {
	var b strings.Builder
	for i, v := range r.opt.Volumes {
		fmt.Fprintf(&b, "- name: claim-%d\n  persistentVolumeClaim:\n    claimName: %s\n", i, quote(v.Claim))
	}
	return written(b.String())
}
