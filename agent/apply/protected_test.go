package apply_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/apply/wave"
)

// TestMarksOfOtherTools: an object that Flux, Argo CD, Plural or Helm may not delete is not
// deleted by the service that took it over either, wherever the mark stands.
func TestMarksOfOtherTools(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	rendered := map[string]struct {
		mark  string
		stays bool
	}{
		"none":            {"annotations: {example.test/prune: disabled}", false},
		"flux":            {"annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}", true},
		"flux-label":      {"labels: {kustomize.toolkit.fluxcd.io/prune: Disabled}", true},
		"flux-enabled":    {"annotations: {kustomize.toolkit.fluxcd.io/prune: enabled}", false},
		"argo-prune":      {`annotations: {argocd.argoproj.io/sync-options: "PruneLast=true, Prune=false"}`, true},
		"argo-delete":     {"annotations: {argocd.argoproj.io/sync-options: Delete=false}", true},
		"plural":          {"annotations: {deployment.plural.sh/sync-options: Prune=false}", true},
		"helm":            {"annotations: {helm.sh/resource-policy: keep}", true},
		"axle":            {"annotations: {" + wave.PruneAnnotation + `: "false"}`, true},
		"axle-over-flux":  {"annotations: {" + wave.PruneAnnotation + `: "true", kustomize.toolkit.fluxcd.io/prune: disabled}`, false},
		"live-flux":       {"", true},
		"live-axle":       {"", true},
		"live-flux-label": {"", true},
	}
	var names []string
	for name := range rendered {
		names = append(names, name)
	}
	slices.Sort(names)
	var docs []string
	for _, name := range names {
		docs = append(docs, configMap(name, "v", rendered[name].mark))
	}
	keep := []string{configMap("z1", "v"), configMap("z2", "v"), configMap("z3", "v"), configMap("z4", "v"), configMap("z5", "v"),
		configMap("z6", "v"), configMap("z7", "v"), configMap("z8", "v"), configMap("z9", "v")}
	b.pass(service, append(docs, keep...)...)
	for name, body := range map[string]string{
		"live-flux":       `{"metadata":{"annotations":{"kustomize.toolkit.fluxcd.io/prune":"disabled"}}}`,
		"live-axle":       `{"metadata":{"annotations":{"` + wave.PruneAnnotation + `":"false"}}}`,
		"live-flux-label": `{"metadata":{"labels":{"kustomize.toolkit.fluxcd.io/prune":"disabled"}}}`,
	} {
		if _, err := b.admin.CoreV1().ConfigMaps(service.Namespace).Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	service.TarballDigest, service.PruneApproval = "d2", 1 // many go at once
	if result := b.pass(service, keep...); result.Phase != apply.PhaseApplied {
		t.Fatalf("the prune: %+v", result)
	}
	for name, want := range rendered {
		if _, err := b.configMap(service.Namespace, name); apierrors.IsNotFound(err) == want.stays {
			t.Errorf("%s: %v, want it to stay: %v", name, err, want.stays)
		}
	}
}

// TestConfirmedPrunes: Prune=confirm and Delete=confirm hold a prune and a drain until a person
// releases them.
func TestConfirmedPrunes(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	confirm := configMap("asks", "v", "annotations: {argocd.argoproj.io/sync-options: Prune=confirm}")
	drained := configMap("asks-too", "v", "annotations: {argocd.argoproj.io/sync-options: Delete=confirm}")
	b.pass(service, confirm, drained, configMap("other", "v"))
	service.TarballDigest = "d2"
	result := b.pass(service, drained)
	if result.Sync != apply.SyncHeld || result.Reason != apply.ReasonPruneHeld || !strings.Contains(result.Message, "ConfigMap") || !strings.Contains(result.Message, "Prune=confirm") || b.count(service.Namespace) != 3 {
		t.Errorf("unconfirmed: %+v", result)
	}
	service.PruneApproval = 1
	if result = b.pass(service, drained); result.Phase != apply.PhaseApplied || b.count(service.Namespace) != 1 {
		t.Errorf("confirmed: %+v", result)
	}
	left, err := b.engine.Drain(t.Context(), b.permit(b.engine, service), service)
	if err != nil || left.Done || !strings.Contains(left.Message, "Delete=confirm") || b.count(service.Namespace) != 1 {
		t.Errorf("an unconfirmed drain: %+v, %v", left, err)
	}
	service.Released = true
	if left, err = b.engine.Drain(t.Context(), b.permit(b.engine, service), service); err != nil || !left.Done || b.count(service.Namespace) != 0 {
		t.Errorf("a confirmed drain: %+v, %v", left, err)
	}
}

// TestMarksWithoutEffect: somebody who relied on a mark of another tool learns that it has no
// effect, once a mark.
func TestMarksWithoutEffect(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	var docs []string
	for i := range 3 {
		docs = append(docs, configMap(fmt.Sprintf("m%d", i), "v", "annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}"))
	}
	docs = append(docs, configMap("once", "v", "annotations: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}"),
		configMap("merged", "v", "annotations: {kustomize.toolkit.fluxcd.io/ssa: Merge, kustomize.toolkit.fluxcd.io/reconcile: enabled}"))
	result := b.pass(service, docs...)
	var said []string
	for _, p := range result.Problems {
		if p.Warning {
			said = append(said, p.Message)
		}
	}
	if result.Sync != apply.SyncSynced || len(said) != 2 || !strings.Contains(said[0], "m0 has kustomize.toolkit.fluxcd.io/reconcile: disabled (and 2 more objects)") ||
		!strings.Contains(said[1], "once has kustomize.toolkit.fluxcd.io/ssa: ifnotpresent") {
		t.Errorf("%v, %q", result.Sync, said)
	}
}
