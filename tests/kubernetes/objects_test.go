package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	psaapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// namespace is where kubectl would put what says no namespace.
const namespace = "default"

// strict refuses fields that are unknown or there twice.
var strict = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// objectsOf reads the objects of YAML, as kubectl apply does with --validate=strict.
func objectsOf(text []byte) (objects []runtime.Object, err error) {
	for documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if asJSON, err := yaml.ToJSON(document); err == nil && string(asJSON) == "null" {
			continue // comments alone
		}
		object, _, err := strict.Decode(document, nil, nil)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}

// admit does with an object what an API server does before it stores a new one: it fills in defaults,
// validates, and refuses pods that the policy of a namespace does not allow; here, the strictest. Warnings,
// which kubectl shows, are errors.
func admit(object runtime.Object) (runtime.Object, error) {
	legacyscheme.Scheme.Default(object)
	warnings := new(warningList)
	ctx := warning.WithWarningRecorder(context.Background(), warnings)
	var stored runtime.Object
	var err error
	switch o := object.(type) {
	case *corev1.ServiceAccount:
		ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{APIVersion: "v1", Resource: "serviceaccounts"})
		stored, err = create(ctx, o, new(core.ServiceAccount), serviceaccount.Strategy, new(corev1.ServiceAccount))
	case *batchv1.Job:
		if err := checkSecurity(&o.Spec.Template); err != nil {
			return nil, err
		}
		ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{APIGroup: "batch", APIVersion: "v1", Resource: "jobs"})
		stored, err = create(ctx, o, new(batch.Job), job.Strategy, new(batchv1.Job))
	default:
		err = fmt.Errorf("%T: mpga writes none", object)
	}
	if err == nil && len(*warnings) > 0 {
		err = fmt.Errorf("warnings: %q", *warnings)
	}
	return stored, err
}

type warningList []string

func (l *warningList) AddWarning(_, text string) { *l = append(*l, text) }

// create is what an API server does with an object of a kind, by the kind's strategy. internal and stored
// are empty objects of its types.
func create(ctx context.Context, object metav1.Object, internal runtime.Object, strategy rest.RESTCreateStrategy, stored runtime.Object) (runtime.Object, error) {
	if object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	rest.FillObjectMetaSystemFields(object)
	if err := legacyscheme.Scheme.Convert(object, internal, nil); err != nil {
		return nil, err
	}
	if err := rest.BeforeCreate(strategy, genericapirequest.WithNamespace(ctx, object.GetNamespace()), internal); err != nil {
		return nil, err
	}
	return stored, legacyscheme.Scheme.Convert(internal, stored, nil)
}

// restricted is the strictest of the policies of pod security.
var restricted = psaapi.LevelVersion{Level: psaapi.LevelRestricted, Version: psaapi.LatestVersion()}

// checkSecurity refuses a pod that the policy does not allow.
func checkSecurity(template *corev1.PodTemplateSpec) error {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	var reasons []string
	for _, result := range evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec) {
		if !result.Allowed {
			reasons = append(reasons, result.ForbiddenReason+": "+result.ForbiddenDetail)
		}
	}
	if len(reasons) > 0 {
		return fmt.Errorf("pod security %s: %s", restricted, strings.Join(reasons, "; "))
	}
	return nil
}
