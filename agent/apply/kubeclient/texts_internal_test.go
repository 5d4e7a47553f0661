package kubeclient

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// TestUnknownKindSaysWhatToDo has one case for each reason why a kind is not served.
func TestUnknownKindSaysWhatToDo(t *testing.T) {
	down := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{{Group: "metrics.example.org", Version: "v1"}: errors.New("down")}}
	for name, test := range map[string]struct {
		gvk  schema.GroupVersionKind
		fail error
		code errcode.Code
		want string
	}{
		"another version": {gvk: schema.GroupVersionKind{Group: "batch", Version: "v1beta1", Kind: "CronJob"}, code: errcode.Invalid, want: "serves it in batch/v1: change apiVersion"},
		"another group":   {gvk: schema.GroupVersionKind{Group: "extensions", Version: "v1beta1", Kind: "Ingress"}, code: errcode.Invalid, want: "serves it in networking.k8s.io/v1: change apiVersion"},
		"removed":         {gvk: schema.GroupVersionKind{Group: "policy", Version: "v1beta1", Kind: "PodSecurityPolicy"}, code: errcode.Invalid, want: "removed in Kubernetes 1.25"},
		"mistyped":        {gvk: schema.GroupVersionKind{Version: "v1", Kind: "Configmap"}, code: errcode.Invalid, want: "did you mean ConfigMap?"},
		"newer":           {gvk: schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "IPAddress"}, code: errcode.Invalid, want: "is not served by this cluster's version"},
		"custom":          {gvk: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Widget"}, code: errcode.Invalid, want: "install its CustomResourceDefinition"},
		"custom, another group is down": {gvk: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Widget"}, fail: down, code: errcode.Invalid,
			want: "install its CustomResourceDefinition"},
		"its own group is down": {gvk: schema.GroupVersionKind{Group: "metrics.example.org", Version: "v2", Kind: "Gauge"}, fail: down, code: errcode.Unprocessable, want: "could not list all"},
	} {
		t.Run(name, func(t *testing.T) {
			k := &Kinds{clock: clock.Real{}, known: map[schema.GroupVersionKind]kubeobj.Kind{}, disco: func() ([]kubeobj.Kind, error) {
				return []kubeobj.Kind{{Version: "v1", Kind: "ConfigMap", Resource: "configmaps"}, {Group: "batch", Version: "v1", Kind: "CronJob", Resource: "cronjobs"},
					{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress", Resource: "ingresses"}}, test.fail
			}}
			_, err := k.Lookup(t.Context(), test.gvk)
			if !errcode.Is(err, test.code) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestRemovedKindsNeedNoDefinition goes through the kinds and versions that Kubernetes' deprecation
// guide lists as removed, on a cluster that serves nothing like them: whoever reads that a
// CustomResourceDefinition is missing looks for one that does not exist.
func TestRemovedKindsNeedNoDefinition(t *testing.T) {
	for api, kinds := range map[string]string{
		"extensions/v1beta1":                   "DaemonSet Deployment ReplicaSet NetworkPolicy PodSecurityPolicy Ingress",
		"apps/v1beta1":                         "Deployment StatefulSet",
		"apps/v1beta2":                         "DaemonSet Deployment ReplicaSet StatefulSet",
		"admissionregistration.k8s.io/v1beta1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy",
		"apiextensions.k8s.io/v1beta1":         "CustomResourceDefinition",
		"apiregistration.k8s.io/v1beta1":       "APIService",
		"auditregistration.k8s.io/v1alpha1":    "AuditSink",
		"authentication.k8s.io/v1beta1":        "TokenReview SelfSubjectReview",
		"authorization.k8s.io/v1beta1":         "LocalSubjectAccessReview SelfSubjectAccessReview SubjectAccessReview SelfSubjectRulesReview",
		"autoscaling/v2beta1":                  "HorizontalPodAutoscaler",
		"autoscaling/v2beta2":                  "HorizontalPodAutoscaler",
		"batch/v1beta1":                        "CronJob",
		"certificates.k8s.io/v1beta1":          "CertificateSigningRequest",
		"coordination.k8s.io/v1beta1":          "Lease",
		"discovery.k8s.io/v1beta1":             "EndpointSlice",
		"events.k8s.io/v1beta1":                "Event",
		"flowcontrol.apiserver.k8s.io/v1beta3": "FlowSchema PriorityLevelConfiguration",
		"internal.apiserver.k8s.io/v1alpha1":   "StorageVersion",
		"networking.k8s.io/v1beta1":            "Ingress IngressClass",
		"networking.k8s.io/v1alpha1":           "ClusterCIDR",
		"node.k8s.io/v1beta1":                  "RuntimeClass",
		"policy/v1beta1":                       "PodDisruptionBudget PodSecurityPolicy",
		"rbac.authorization.k8s.io/v1beta1":    "ClusterRole ClusterRoleBinding Role RoleBinding",
		"resource.k8s.io/v1alpha2":             "PodSchedulingContext ResourceClass ResourceClaimParameters ResourceClassParameters",
		"scheduling.k8s.io/v1beta1":            "PriorityClass",
		"settings.k8s.io/v1alpha1":             "PodPreset",
		"storage.k8s.io/v1beta1":               "CSIDriver CSINode StorageClass VolumeAttachment CSIStorageCapacity",
	} {
		for kind := range strings.FieldsSeq(kinds) {
			text := (&Kinds{}).unknown(schema.FromAPIVersionAndKind(api, kind)).Error()
			if strings.Contains(text, "CustomResourceDefinition first") || !strings.Contains(text, "removed in Kubernetes") && !strings.Contains(text, "Kubernetes' own") {
				t.Errorf("%s of %s: %s", kind, api, text)
			}
		}
	}
}

// TestRefusalSaysWhatToDo has answers of API servers as they are.
func TestRefusalSaysWhatToDo(t *testing.T) {
	pods := "core.PodTemplateSpec{ObjectMeta:v1.ObjectMeta{Name:\"\", Labels:map[string]string{\"a\":\"b\"}}, Spec:core.PodSpec{Volumes:[]core.Volume(nil), Note:\"}: \"}}"
	for name, test := range map[string]struct {
		answer, want, never string
	}{
		"a number as text": {answer: "failed to create typed patch object (ns/a; /v1, Kind=ConfigMap): .data.port: expected string, got &value.valueUnstructured{Value:8080}", want: "write the value in quotes"},
		"a label":          {answer: `ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string`, want: "write the value in quotes"},
		"SOPS":             {answer: "failed to create typed patch object (ns/a; /v1, Kind=Secret): .sops: field not declared in schema", want: "encrypted by SOPS", never: "field not declared"},
		"a Job's pods":     {answer: `Job.batch "a" is invalid: spec.template: Invalid value: ` + pods + ": field is immutable", want: "spec.template: Invalid value: field is immutable", never: "PodSpec"},
	} {
		t.Run(name, func(t *testing.T) {
			text := Explain("apply", kubeobj.Ref{Kind: "ConfigMap", Namespace: "ns", Name: "a"}, &apierrors.StatusError{ErrStatus: metav1.Status{Message: test.answer}})
			if !strings.Contains(text, test.want) || test.never != "" && strings.Contains(text, test.never) {
				t.Error(text)
			}
		})
	}
}
