package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// kubelet runs pods as processes of this machine, on which claims are mounted at the paths that the pods
// have them at.
type kubelet struct {
	binary string          // of mpga, which the image has in its PATH
	claims map[string]bool // that there are
	temp   string          // of volumes that are empty at first
	faults func(*corev1.Pod, int) fault
	before func(*corev1.Pod) error // is called before the process of a task; nil does nothing

	pods clientcorev1.PodInterface
	work sync.WaitGroup // of pods

	mu      sync.Mutex
	cancels map[string]context.CancelFunc // of pods that run, by name
	earlier map[string]int                // pods that there were, by Job and index
	ended   []process                     // of tasks
	errs    []error                       // that no cluster would have
}

// process is a process of a task that has ended.
type process struct {
	pod    string
	job    string
	index  string
	code   int
	stdout string
	stderr string
}

// fault is what befalls the task of a pod.
type fault struct {
	kind  string        // "" is nothing; "kill", "evict", "lose" or "twin"
	after time.Duration // the start of its process
}

// run runs pods until the context ends.
func (k *kubelet) run(ctx context.Context, events watch.Interface) {
	defer k.work.Wait()
	k.cancels, k.earlier = make(map[string]context.CancelFunc), make(map[string]int)
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-events.ResultChan():
			if pod, ok := event.Object.(*corev1.Pod); ok {
				k.take(ctx, event.Type, pod)
			}
		}
	}
}

// take starts a pod that is new, and ends a pod that is deleted.
func (k *kubelet) take(ctx context.Context, event watch.EventType, pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch event {
	case watch.Added:
		key := pod.Labels[batchv1.JobNameLabel] + " " + pod.Annotations[batchv1.JobCompletionIndexAnnotation]
		nth := k.earlier[key]
		k.earlier[key]++
		var running context.Context
		running, k.cancels[pod.Name] = context.WithCancel(ctx)
		k.work.Go(func() { k.note(k.runPod(running, pod.DeepCopy(), nth)) })
	case watch.Deleted:
		k.cancels[pod.Name]()
	}
}

func (k *kubelet) note(err error) {
	if err == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.errs = append(k.errs, err)
}

// runPod runs the containers of a pod, one after the other, and tells the API server how they end.
func (k *kubelet) runPod(ctx context.Context, pod *corev1.Pod, nth int) (err error) {
	temp, err := os.MkdirTemp(k.temp, pod.Name+"-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	pod.Status.Phase = corev1.PodRunning
	if err := k.tell(ctx, pod); err != nil {
		return err
	}
	for i := range pod.Spec.InitContainers {
		p, err := k.runContainer(ctx, pod, &pod.Spec.InitContainers[i], temp, fault{}, nil)
		if err != nil {
			return err
		}
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, statusOf(pod.Spec.InitContainers[i].Name, p))
		if p.code != 0 {
			pod.Status.Phase = corev1.PodFailed
			return k.tell(ctx, pod)
		}
	}
	if k.before != nil {
		k.note(k.before(pod))
	}
	f := k.faults(pod, nth)
	told := false
	lose := func() error {
		told = true
		pod.Status.Phase = corev1.PodFailed
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager"})
		return k.tell(ctx, pod)
	}
	p, err := k.runContainer(ctx, pod, &pod.Spec.Containers[0], temp, f, lose)
	if err != nil || told {
		return err
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{statusOf(pod.Spec.Containers[0].Name, p)}
	switch {
	case f.kind == "evict" && p.code == killed:
		return lose()
	case p.code == 0:
		pod.Status.Phase = corev1.PodSucceeded
	default:
		pod.Status.Phase = corev1.PodFailed
	}
	return k.tell(ctx, pod)
}

// statusOf returns the status of a container whose process has ended.
func statusOf(container string, p process) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(p.code), Message: p.stderr}}}
}

// tell writes the status of a pod, unless the pod is deleted.
func (k *kubelet) tell(ctx context.Context, pod *corev1.Pod) error {
	now, err := k.pods.Get(ctx, pod.Name, metav1.GetOptions{})
	if err == nil {
		now.Status = *pod.Status.DeepCopy()
		_, err = k.pods.UpdateStatus(ctx, now, metav1.UpdateOptions{})
	}
	if apierrors.IsNotFound(err) || ctx.Err() != nil {
		return nil
	}
	return err
}

const (
	killed = 128 + int(syscall.SIGKILL)

	// grace is how long a process has to end after SIGTERM, as the pods' terminationGracePeriodSeconds says.
	grace = 30 * time.Second
)

// runContainer runs the process of a container to its end. lose tells that the node is lost, whose
// processes go on.
func (k *kubelet) runContainer(ctx context.Context, pod *corev1.Pod, c *corev1.Container, temp string, f fault, lose func() error) (p process, err error) {
	args, env, err := k.commandOf(pod, c, temp)
	if err != nil {
		return p, err
	}
	p = process{pod: pod.Name, job: pod.Labels[batchv1.JobNameLabel], index: pod.Annotations[batchv1.JobCompletionIndexAnnotation]}
	first, err := start(ctx, args, env)
	if err != nil {
		return p, err
	}
	if f.kind == "twin" {
		twin, err := start(ctx, args, env)
		if err != nil {
			return p, err
		}
		defer func() {
			twin.wait()
			k.record(c, process{p.pod, p.job, p.index, twin.code(), twin.stdout.String(), twin.stderr.String()})
		}()
	}
	switch f.kind {
	case "kill", "evict":
		time.Sleep(f.after)
		_ = first.cmd.Process.Kill() // it may have ended
	case "lose":
		time.Sleep(f.after)
		k.note(lose())
	}
	first.wait()
	p.code, p.stdout, p.stderr = first.code(), first.stdout.String(), first.stderr.String()
	k.record(c, p)
	return p, nil
}

// record keeps what the process of a task has done.
func (k *kubelet) record(c *corev1.Container, p process) {
	if c.Name == "wait" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = append(k.ended, p)
}

// commandOf returns the command of a container and its variables, which the command has the values of.
func (k *kubelet) commandOf(pod *corev1.Pod, c *corev1.Container, temp string) (args, env []string, err error) {
	if len(c.EnvFrom) > 0 {
		return nil, nil, fmt.Errorf("pod %s: there are neither secrets nor config maps", pod.Name)
	}
	values := map[string]string{"PATH": filepath.Dir(k.binary)}
	for _, v := range c.Env {
		values[v.Name] = v.Value
		if v.ValueFrom != nil {
			if values[v.Name], err = fieldpath.ExtractFieldPathAsString(pod, v.ValueFrom.FieldRef.FieldPath); err != nil {
				return nil, nil, err
			}
		}
	}
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	for _, arg := range append(append([]string{}, c.Command...), c.Args...) {
		args = append(args, expansion.Expand(arg, expansion.MappingFuncFor(values)))
	}
	for _, m := range c.VolumeMounts {
		if err := k.mount(pod, m, args, temp); err != nil {
			return nil, nil, err
		}
	}
	if args[0] != "mpga" {
		return nil, nil, fmt.Errorf("the image has no %q", args[0])
	}
	args[0] = k.binary
	return args, env, nil
}

// mount makes a volume be where the arguments name it. Claims are there already.
func (k *kubelet) mount(pod *corev1.Pod, m corev1.VolumeMount, args []string, temp string) error {
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.Name != m.Name:
		case v.EmptyDir != nil:
			for i, arg := range args {
				if flag, value, ok := strings.Cut(arg, "="); ok && value == m.MountPath {
					args[i] = flag + "=" + temp
				}
			}
			return nil
		case v.PersistentVolumeClaim != nil && k.claims[v.PersistentVolumeClaim.ClaimName]:
			_, err := os.Stat(m.MountPath)
			return err
		}
	}
	return fmt.Errorf("pod %s: nothing to mount at %s", pod.Name, m.MountPath)
}

// running is a process that was started.
type running struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

// start starts a process in an empty directory, as a container has it. It ends with the context: by
// SIGTERM, then by SIGKILL.
func start(ctx context.Context, args, env []string) (*running, error) {
	r := &running{cmd: exec.CommandContext(ctx, args[0], args[1:]...)}
	r.cmd.Env, r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = env, "/", &r.stdout, &r.stderr
	r.cmd.Cancel = func() error { return r.cmd.Process.Signal(syscall.SIGTERM) }
	r.cmd.WaitDelay = grace
	return r, r.cmd.Start()
}

func (r *running) wait() { _ = r.cmd.Wait() } // its state tells how it has ended

// code returns the exit code that a container has.
func (r *running) code() int {
	status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
