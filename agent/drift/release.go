package drift

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// helmRelease is Flux's kind. Flux's controller creates its workloads, which are in
// none of our inventories and name the release by two labels.
var helmRelease = schema.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}

const (
	releaseName      = "helm.toolkit.fluxcd.io/name"
	releaseNamespace = "helm.toolkit.fluxcd.io/namespace"
)

// releaseWorkloads are the kinds of a release's workloads to request, in order.
var releaseWorkloads = []kubeobj.Kind{
	{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespaced: true},
	{Group: "apps", Version: "v1", Kind: "StatefulSet", Resource: "statefulsets", Namespaced: true},
	{Group: "apps", Version: "v1", Kind: "DaemonSet", Resource: "daemonsets", Namespaced: true},
	{Group: "batch", Version: "v1", Kind: "Job", Resource: "jobs", Namespaced: true},
}

// rootCauseOf finds the root cause of an unhealthy object in the objects that it owns.
func (w *Watcher) rootCauseOf(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref) (rootCause, error) {
	if kind.GroupKind() == helmRelease {
		text, err := w.firstBadWorkload(ctx, kind, ref)
		return rootCause{text: text}, err
	}
	return w.firstBadPod(ctx, kind, ref)
}

// firstBadWorkload names the first unhealthy workload of a release, and the root
// cause in its worst pod; empty if all are healthy.
func (w *Watcher) firstBadWorkload(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*readLimit)
	defer cancel()
	raw, err := w.rest.Get().AbsPath("/apis/"+kind.Group+"/"+kind.Version+"/namespaces/"+url.PathEscape(ref.Namespace), kind.Resource, ref.Name).
		SetHeader("Accept", acceptWhole).MaxRetries(0).Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	var release struct {
		Spec struct {
			TargetNamespace string `json:"targetNamespace"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &release); err != nil {
		return "", err
	}
	namespace := ref.Namespace
	if release.Spec.TargetNamespace != "" {
		namespace = release.Spec.TargetNamespace
	}
	for _, child := range releaseWorkloads {
		text, err := w.badAmong(ctx, child, namespace, ref)
		if apierrors.IsForbidden(err) {
			continue // others may be allowed
		}
		if err != nil || text != "" {
			return text, err
		}
	}
	return "", nil
}

// badAmong checks the workloads of one kind.
func (w *Watcher) badAmong(ctx context.Context, kind kubeobj.Kind, namespace string, release kubeobj.Ref) (string, error) {
	selector := releaseName + "=" + release.Name + "," + releaseNamespace + "=" + release.Namespace
	list, err := few(ctx, w.rest.Get().AbsPath("/apis/"+kind.Group+"/"+kind.Version+"/namespaces/"+url.PathEscape(namespace), kind.Resource).Param("labelSelector", selector))
	if err != nil {
		return "", err
	}
	for _, item := range list {
		object := &unstructured.Unstructured{Object: item}
		object.SetAPIVersion(kind.APIVersion())
		object.SetKind(kind.Kind)
		found := w.cfg.Rules.Of(object)
		if w.cfg.Rules.Expressions(object.GroupVersionKind()) != nil {
			found = health.Of(object) // its CEL rule is not used here
		}
		if found.Status != health.Progressing && found.Status != health.Degraded {
			continue
		}
		text := strings.TrimSuffix(kind.Kind+" "+object.GetName()+": "+found.Message, ": ")
		pod, err := w.firstBadPod(ctx, kind, kubeobj.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: object.GetName()})
		if err == nil && pod.text != "" {
			text += "; " + pod.text
		}
		return short(text), nil
	}
	return "", nil
}
