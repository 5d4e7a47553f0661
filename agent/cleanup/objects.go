package cleanup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/kubepage"
)

// The kinds that are looked at. Gateways are served in one of two versions, or not at all.
var (
	services  = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	ingresses = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}
	gateways  = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}
	older     = schema.GroupVersionResource{Group: gateways.Group, Version: "v1beta1", Resource: gateways.Resource}
	claims    = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	volumes   = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
	pods      = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// remove deletes what the cluster holds at providers, and returns what is left of it.
func (c *Cleaner) remove(ctx context.Context) *agentv1.ReportCleanupRequest {
	p := &pass{Cleaner: c, retained: map[string]bool{}, going: map[string]bool{}}
	p.failed("new ones are not refused", c.refuse(ctx))
	p.each(ctx, func(o *unstructured.Unstructured) {
		if text(o, "spec", "type") == "LoadBalancer" {
			p.delete(ctx, services, o)
		}
	}, services)
	p.each(ctx, func(o *unstructured.Unstructured) { p.delete(ctx, ingresses, o) }, ingresses)
	p.each(ctx, func(o *unstructured.Unstructured) { p.delete(ctx, gateways, o) }, gateways, older)
	before := len(p.problems)
	p.each(ctx, func(o *unstructured.Unstructured) { p.volume(ctx, o) }, volumes)
	if len(p.problems) == before { // otherwise nobody knows which volumes are retained
		p.each(ctx, func(o *unstructured.Unstructured) { p.claim(ctx, o) }, claims)
	}
	if len(p.going) > 0 {
		p.each(ctx, func(o *unstructured.Unstructured) { p.release(ctx, o) }, pods)
	}
	slices.SortFunc(p.left, func(a, b *agentv1.CleanupObject) int {
		return cmp.Or(strings.Compare(a.GetKind(), b.GetKind()), strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	shown := p.left[:min(len(p.left), named)]
	return &agentv1.ReportCleanupRequest{Left: shown, More: int32(len(p.left) - len(shown)), Message: strings.Join(p.problems, "; ")}
}

// pass is what one look at the cluster finds.
type pass struct {
	*Cleaner
	left     []*agentv1.CleanupObject
	problems []string
	// retained are the claims of volumes that stay, going those that are being deleted.
	retained, going map[string]bool
}

func (p *pass) failed(what string, err error) {
	if err != nil {
		p.problems = append(p.problems, fmt.Sprintf("%s: %v", what, err))
	}
}

// each calls back for the objects of a kind, in the first of its versions that is served.
func (p *pass) each(ctx context.Context, do func(*unstructured.Unstructured), versions ...schema.GroupVersionResource) {
	for _, version := range versions {
		err := p.pages(ctx, version, do)
		if apierrors.IsNotFound(err) {
			continue
		}
		p.failed("cannot list "+version.Resource, err)
		return
	}
}

func (p *pass) pages(ctx context.Context, version schema.GroupVersionResource, do func(*unstructured.Unstructured)) error {
	_, err := kubepage.Objects(ctx, p.config.Client, version, "", metav1.ListOptions{}, func(o *unstructured.Unstructured) error {
		do(o)
		return nil
	}, func(err error) error {
		p.failed("left out", err) // its owner holds up nobody else's, and the cluster waits
		return nil
	})
	return err
}

// volume waits for a volume that goes with its claim. One without a claim is deleted.
func (p *pass) volume(ctx context.Context, o *unstructured.Unstructured) {
	claim := key(text(o, "spec", "claimRef", "namespace"), text(o, "spec", "claimRef", "name"))
	switch phase := text(o, "status", "phase"); {
	case text(o, "spec", "persistentVolumeReclaimPolicy") != "Delete":
		p.retained[claim] = true
	case phase == "Available":
		p.delete(ctx, volumes, o)
	default:
		p.wait(o, cmp.Or(text(o, "status", "message"), "is "+cmp.Or(phase, "new")+"; its provisioner deletes the volume once the claim is gone"))
	}
}

// claim deletes a claim, unless its volume stays.
func (p *pass) claim(ctx context.Context, o *unstructured.Unstructured) {
	name := key(o.GetNamespace(), o.GetName())
	if text(o, "spec", "volumeName") != "" && p.retained[name] {
		return
	}
	p.going[name] = true
	p.delete(ctx, claims, o)
}

// release deletes a pod that uses a claim which is being deleted: the claim waits for it. Its
// controller gets no new claim, and what is not there is not scheduled.
func (p *pass) release(ctx context.Context, o *unstructured.Unstructured) {
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumes")
	for _, item := range list {
		volume, _ := item.(map[string]any)
		name, _, _ := unstructured.NestedString(volume, "persistentVolumeClaim", "claimName")
		if _, ephemeral := volume["ephemeral"]; ephemeral {
			own, _ := volume["name"].(string)
			name = o.GetName() + "-" + own
		}
		if p.going[key(o.GetNamespace(), name)] && text(o, "spec", "nodeName") != "" {
			p.delete(ctx, pods, o)
			return
		}
	}
}

// delete requests the deletion of an object, and waits for it.
func (p *pass) delete(ctx context.Context, of schema.GroupVersionResource, o *unstructured.Unstructured) {
	if o.GetDeletionTimestamp() != nil {
		why := "is being deleted"
		if waits := o.GetFinalizers(); len(waits) > 0 {
			why = "waits for " + strings.Join(waits, ", ")
		}
		p.wait(o, why)
		return
	}
	uid, policy := o.GetUID(), metav1.DeletePropagationBackground
	version := of
	version.Version = o.GroupVersionKind().Version
	err := p.config.Dynamic.Resource(version).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &policy})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // gone, or another one by now
		err = nil
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = ctx.Err()
	}
	if err != nil {
		p.wait(o, fmt.Sprintf("cannot be deleted: %v", err))
		return
	}
	p.wait(o, "is being deleted")
}

func (p *pass) wait(o *unstructured.Unstructured, why string) {
	one := &agentv1.CleanupObject{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), Message: why}
	if at := o.GetDeletionTimestamp(); at != nil {
		one.Since = clock.Micros(at.Time)
	}
	p.left = append(p.left, one)
}

func key(namespace, name string) string { return namespace + "/" + name }

// text is a field of an object, empty if there is none.
func text(o *unstructured.Unstructured, fields ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, fields...)
	return value
}
