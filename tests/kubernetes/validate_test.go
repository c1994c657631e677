package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// golden is where the files are that mpga's own tests compare with what it writes.
const golden = "../../app/kubernetes/testdata"

// validate reads objects and has them admitted.
func validate(text []byte) (stored []runtime.Object, err error) {
	objects, err := objectsOf(text)
	if err != nil {
		return nil, err
	}
	for i := range objects {
		o, err := admit(objects[i])
		if err != nil {
			return nil, err
		}
		stored = append(stored, o)
	}
	return stored, nil
}

func goldenFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(golden, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Would catch YAML that an API server refuses, or warns of: a field that it does not know, a value out of
// its bounds, fields that do not go together, and a pod that a restricted namespace does not allow.
func TestKubernetesAdmits(t *testing.T) {
	for name, objects := range map[string]int{"objects": 5, "volumes": 3, "suspended": 5, "clouds": 4} {
		stored, err := validate(goldenFile(t, name))
		if err != nil || len(stored) != objects {
			t.Errorf("%s: %d objects, want %d: %v", name, len(stored), objects, err)
		}
	}
}

// Would catch a check that checks nothing: each change is a mistake that the YAML might have.
func TestKubernetesRefuses(t *testing.T) {
	text := string(goldenFile(t, "volumes"))
	for _, c := range []struct{ old, new, want string }{
		{"completions:", "completion:", `unknown field "spec.completion"`},
		{"maxFailedIndexes:", "maxFailedIndices:", `unknown field "spec.maxFailedIndices"`},
		{"mountPath: /tmp", "path: /tmp", `unknown field "spec.template.spec.containers[0].volumeMounts[0].path"`},
		{"runAsNonRoot: true\n", "runAsNonRoot: true\n        runAsNonRoot: true\n", `key "runAsNonRoot" already set`},
		{"parallelism: 100", `parallelism: "100"`, "cannot unmarshal string"},
		{"memory: 1536Mi", "memory: 1536MiB", "quantities must match"},
		{"kind: Job", "kind: Jobs", `no kind "Jobs" is registered`},
		{"completionMode: Indexed", "completionMode: Index", `spec.completionMode: Unsupported value: "Index"`},
		{"restartPolicy: Never", "restartPolicy: OnFailure", "spec.template.spec.restartPolicy"},
		{"action: FailJob", "action: Fail", `spec.podFailurePolicy.rules[0].action: Unsupported value: "Fail"`},
		{"values: [2]", "values: [0]", "spec.podFailurePolicy.rules[0].onExitCodes.values[0]"},
		{"maxFailedIndexes: 50", "maxFailedIndexes: 501", "spec.maxFailedIndexes: Invalid value: 501"},
		{`name: "mpga-0123456789abcdef-partial"`, `name: "mpga_partial"`, "metadata.name: Invalid value"},
		{`mountPath: "/shared/in"`, `mountPath: "/shared"`, "must be unique"},
		{"imagePullPolicy: Always", "imagePullPolicy: Sometimes", "imagePullPolicy: Unsupported value"},
		{"  parallelism: 100", "  parallelism: -1", "spec.parallelism"},
		{"name: claim-1\n        persistentVolumeClaim", "name: claim-2\n        persistentVolumeClaim", "Not found"},
		{"allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "pod security restricted:latest: allowPrivilegeEscalation != false"},
		{"drop: [ALL]", "drop: [KILL]", "pod security restricted:latest: unrestricted capabilities"},
		{"runAsNonRoot: true", "runAsNonRoot: false", "pod security restricted:latest: runAsNonRoot != true"},
		{"type: RuntimeDefault", "type: Unconfined", "pod security restricted:latest: seccompProfile"},
	} {
		changed := strings.Replace(text, c.old, c.new, 1)
		if changed == text {
			t.Fatalf("the file has no %q", c.old)
		}
		if _, err := validate([]byte(changed)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in place of %q: %v; want %q", c.new, c.old, err, c.want)
		}
	}
}
