package kubernetes

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/features"
)

func init() {
	// Times that are of clusters: 1 s to take notice of pods, 10 s to 10 min before another attempt.
	job.SyncJobBatchPeriod = 10 * time.Millisecond
	job.DefaultJobPodFailureBackOff = 10 * time.Millisecond
	job.MaxJobPodFailureBackOff = 100 * time.Millisecond

	// Jobs in memory have no versions, by which the controller would know that it reads old ones.
	if err := utilfeature.DefaultMutableFeatureGate.Set(string(features.StaleControllerConsistencyJob) + "=false"); err != nil {
		panic(err)
	}
}

// cluster is Kubernetes with its objects in memory: the Job controller, and a kubelet of ours.
type cluster struct {
	t      *testing.T
	client *fake.Clientset
	close  func()         // ends the controller and all processes
	work   sync.WaitGroup // of the controller and the kubelet

	versions atomic.Int64 // of pods
}

// newCluster starts a cluster, which ends with the test.
func newCluster(t *testing.T, k *kubelet) *cluster {
	t.Helper()
	c := &cluster{t: t, client: fake.NewSimpleClientset()}
	ctx, stop := context.WithCancel(context.Background())
	c.client.PrependReactor("create", "pods", c.createPod)
	c.client.PrependReactor("update", "pods", c.changePod)
	c.client.PrependReactor("patch", "pods", c.changePod)
	watch, err := c.client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(c.client, 0)
	scheduling := factory.Scheduling().V1beta1()
	controller, err := job.NewController(ctx, c.client, factory.Core().V1().Pods(), factory.Batch().V1().Jobs(), scheduling.Workloads(), scheduling.PodGroups())
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	k.pods = c.client.CoreV1().Pods(namespace)
	c.work.Go(func() { controller.Run(ctx, 2) })
	c.work.Go(func() { k.run(ctx, watch) })
	c.close = sync.OnceFunc(func() {
		stop()
		watch.Stop()
		c.work.Wait()
		factory.Shutdown()
	})
	t.Cleanup(c.close)
	return c
}

// createPod does what an API server does with a new pod: it gives it a name and an identity.
func (c *cluster) createPod(action clienttesting.Action) (bool, runtime.Object, error) {
	pod := action.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
	rest.FillObjectMetaSystemFields(pod)
	pod.Namespace = namespace
	pod.Name = names.SimpleNameGenerator.GenerateName(pod.GenerateName)
	pod.Status.Phase = corev1.PodPending
	pod.ResourceVersion = c.nextVersion()
	return true, pod, c.client.Tracker().Create(action.GetResource(), pod, namespace)
}

func (c *cluster) nextVersion() string { return strconv.FormatInt(c.versions.Add(1), 10) }

// changePod changes a pod, and gives it another version: the controller takes no notice of changes without.
func (c *cluster) changePod(action clienttesting.Action) (bool, runtime.Object, error) {
	_, object, err := clienttesting.ObjectReaction(c.client.Tracker())(action)
	if err != nil {
		return true, nil, err
	}
	pod := object.(*corev1.Pod)
	pod.ResourceVersion = c.nextVersion()
	return true, pod, c.client.Tracker().Update(action.GetResource(), pod, namespace)
}

// apply makes the Jobs of YAML, as kubectl apply -f does. They are returned in the order of the stages.
func (c *cluster) apply(text []byte) (jobs []string) {
	c.t.Helper()
	stored, err := validate(text)
	if err != nil {
		c.t.Fatalf("%v\n%s", err, text)
	}
	for _, object := range stored {
		j, ok := object.(*batchv1.Job)
		if !ok {
			continue // the controller makes pods whether the account is there or not
		}
		if _, err := c.client.BatchV1().Jobs(namespace).Create(context.Background(), j, metav1.CreateOptions{}); err != nil {
			c.t.Fatal(err)
		}
		jobs = append(jobs, j.Name)
	}
	return jobs
}

// delete removes Jobs and their pods, as kubectl delete -f does with the help of the garbage collector.
func (c *cluster) delete(jobs []string) {
	c.t.Helper()
	ctx := context.Background()
	for _, name := range jobs {
		if err := c.client.BatchV1().Jobs(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, pod := range c.podsOf("") {
		_ = c.client.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{}) // the controller may have been faster
	}
}

// podsOf returns the pods of a Job, or of all Jobs.
func (c *cluster) podsOf(job string) []corev1.Pod {
	c.t.Helper()
	opt := metav1.ListOptions{}
	if job != "" {
		opt.LabelSelector = batchv1.JobNameLabel + "=" + job
	}
	list, err := c.client.CoreV1().Pods(namespace).List(context.Background(), opt)
	if err != nil {
		c.t.Fatal(err)
	}
	return list.Items
}

// job returns a Job as it is now.
func (c *cluster) job(name string) *batchv1.Job {
	c.t.Helper()
	j, err := c.client.BatchV1().Jobs(namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return j
}

// resume does what the YAML of suspended stages says with kubectl patch.
func (c *cluster) resume(name string) {
	c.t.Helper()
	j := c.job(name)
	j.Spec.Suspend = new(bool)
	if _, err := c.client.BatchV1().Jobs(namespace).Update(context.Background(), j, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// stuckAfter is when a Job that has not ended is taken for one that never does.
const stuckAfter = time.Minute

// wait returns how a Job has ended: Complete or Failed, and why.
func (c *cluster) wait(name string) batchv1.JobCondition {
	c.t.Helper()
	for started := time.Now(); time.Since(started) < stuckAfter; time.Sleep(10 * time.Millisecond) {
		for _, condition := range c.job(name).Status.Conditions {
			if condition.Status == corev1.ConditionTrue && (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
				return condition
			}
		}
	}
	c.t.Fatalf("%s does not end: %+v\n%s", name, c.job(name).Status, c.podsText())
	return batchv1.JobCondition{}
}

// podsText tells of all pods.
func (c *cluster) podsText() string {
	text := ""
	for _, pod := range c.podsOf("") {
		text += fmt.Sprintf("%s: %s", pod.Name, pod.Status.Phase)
		for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			if s.State.Terminated != nil {
				text += fmt.Sprintf(", %s ended with %d: %s", s.Name, s.State.Terminated.ExitCode, s.State.Terminated.Message)
			}
		}
		text += "\n"
	}
	return text
}
