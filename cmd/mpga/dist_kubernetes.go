package main

import (
	"bytes"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/app/kubernetes"
)

// kubernetesFlags are the flags of mpga dist kubernetes.
type kubernetesFlags struct {
	taskFlags
	opt          kubernetes.Options
	user         string
	memory, temp string
	envFrom      []string
	volumes      []string
	nodeSelector []string
	tolerations  []string
}

func newDistKubernetesCommand() *cobra.Command {
	var f kubernetesFlags
	cmd := &cobra.Command{
		Use:   "kubernetes --plan PLAN --image IMAGE",
		Short: "Write the tasks of a plan as Jobs of Kubernetes",
		Long: `Write the tasks of a plan as YAML for Kubernetes 1.29 or newer: a Job for each stage, with an index for each task,
a service account, and comments. A later stage waits for the stage before it, so that one kubectl apply does all.
The work directory has the plan for the pods. Paths of the plan that are no URLs are to be on volumes:
--volume CLAIM:/path mounts a claim where this machine has its files. docs/kubernetes.md tells more.`,
		Example: `  mpga dist kubernetes --plan plan.json --image registry/mpga:1.2 --parallelism 100 > jobs.yaml
  kubectl apply -f jobs.yaml
  mpga dist kubernetes --plan plan.json --image registry/mpga:1.2 --volume shared:/shared --run-as 1000 --cpu 4 --memory 16GiB | kubectl apply -f -`,
		Args: wantArgs(cobra.NoArgs),
		RunE: f.run,
	}
	f.register(cmd)
	return cmd
}

func (f *kubernetesFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	themed(flags, themePlan, func() { f.registerPlan(cmd) })
	themed(flags, themeTasks, func() {
		flags.IntVar(&f.opt.Parallelism, "parallelism", 10,
			"run `N` pods of the first stage at a time; of later stages a quarter, as their pods wait, but all with --suspend")
		flags.IntVar(&f.opt.Retries, "retries", 3, "try a task again `N` times, after exit codes other than 0 and 2")
		flags.IntVar(&f.opt.MaxFailed, "max-failed", 0,
			"let `N` tasks of a stage run out of attempts before the other tasks are ended, too")
		flags.DurationVar(&f.opt.Deadline, "deadline", 24*time.Hour,
			"end every Job after `TIME`, waiting included; 0 never does")
		flags.DurationVar(&f.opt.TTL, "ttl", 24*time.Hour,
			"delete a Job that has ended, and its logs, after `TIME`; 0 never does")
		flags.BoolVar(&f.opt.Suspend, "suspend", false, "suspend later stages until they are resumed, so that no pod waits")
	})
	themed(flags, themeCluster, func() { f.registerCluster(cmd) })
	themed(flags, themeResources, func() {
		flags.StringVar(&f.opt.CPU, "cpu", "2", "give a pod `N` processors, such as 4 or 500m")
		flags.StringVar(&f.memory, "memory", "4GiB", "give a pod `SIZE` of memory, of which mpga uses 80%")
		flags.StringVar(&f.temp, "temp-size", "20GiB",
			"give a pod `SIZE` of the node's disk, for what does not fit the memory")
		flags.IntVar(&f.opt.GPUs, "gpus", 0, "give a pod of the first stage `N` GPUs of NVIDIA")
	})
}

// registerCluster adds the flags of what a cluster has.
func (f *kubernetesFlags) registerCluster(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.opt.Image, "image", "", "run the image `NAME`, which has this version of mpga in its PATH")
	flags.StringVar(&f.opt.PullPolicy, "pull-policy", "IfNotPresent",
		"pull the image: `WORD` is IfNotPresent, Always or Never")
	flags.StringVarP(&f.opt.Namespace, "namespace", "n", "", "put the Jobs into the namespace `NAME` (default kubectl's)")
	flags.StringVar(&f.opt.ServiceAccount, "service-account", "",
		"run pods as the account `NAME`, which exists (default one that is written, too)")
	flags.StringArrayVar(&f.envFrom, "env-from", nil,
		"set variables from `KIND/NAME`: secret/NAME or configmap/NAME; may be repeated")
	flags.StringArrayVar(&f.volumes, "volume", nil,
		"mount a claim: `CLAIM:/path`, or CLAIM:/path:ro to read only; may be repeated")
	flags.StringArrayVar(&f.nodeSelector, "node-selector", nil, "use nodes with the label `KEY=VALUE`; may be repeated")
	flags.StringArrayVar(&f.tolerations, "toleration", nil,
		"use nodes with the taint `KEY[=VALUE][:EFFECT]`, too; may be repeated")
	flags.StringVar(&f.user, "run-as", "65532:65532",
		"run mpga as the user `UID[:GID]`, who can write the work directory and the output")
	cmdflags.Complete(cmd, map[string][]string{"pull-policy": {"IfNotPresent", "Always", "Never"}})
}

func (f *kubernetesFlags) run(cmd *cobra.Command, _ []string) error {
	if f.opt.Image == "" {
		return usagef("dist kubernetes: name the image with --image")
	}
	if err := f.options(); err != nil {
		return err
	}
	p, err := f.readPlan(cmd.Context())
	if err != nil {
		return err
	}
	if err := f.opt.Validate(p); err != nil {
		return usageError{err}
	}
	var text bytes.Buffer
	if err := kubernetes.Render(&text, p, f.opt); err != nil {
		return err
	}
	return writeText(cmd.OutOrStdout(), text.String())
}

// options reads the flags that have a form of their own.
func (f *kubernetesFlags) options() (err error) {
	if f.opt.Memory, err = parseSize("--memory", f.memory); err != nil {
		return err
	}
	if f.opt.Temp, err = parseSize("--temp-size", f.temp); err != nil {
		return err
	}
	if f.opt.User, err = kubernetes.ParseUser(f.user); err != nil {
		return usagef("--run-as %w", err)
	}
	if f.opt.EnvFrom, err = parseEach("--env-from", f.envFrom, kubernetes.ParseEnvFrom); err != nil {
		return err
	}
	if f.opt.Volumes, err = parseEach("--volume", f.volumes, kubernetes.ParseVolume); err != nil {
		return err
	}
	if f.opt.NodeSelector, err = parseEach("--node-selector", f.nodeSelector, kubernetes.ParseLabel); err != nil {
		return err
	}
	f.opt.Tolerations, err = parseEach("--toleration", f.tolerations, kubernetes.ParseToleration)
	return err
}

// parseEach reads the values of a flag that may be repeated.
func parseEach[T any](flag string, texts []string, parse func(string) (T, error)) (values []T, err error) {
	for _, text := range texts {
		v, err := parse(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s %w", flag, err)}
		}
		values = append(values, v)
	}
	return values, nil
}
