package provider

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"net"
	"os"
	"reflect"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

const (
	// manager writes the fields that are the provider's.
	manager = "bed-provider"
	// finalizer keeps a BedControlPlane until its API server has ended.
	finalizer = "bed.axle.test/apiserver"
)

// fields are what is to be so in an object. Nil ones are left; without a status, the object
// is not ready and waits for another one.
type fields struct{ spec, status map[string]any }

// work brings what a cluster has nearer to what its objects say. What fails is a condition
// of the object.
func (p *Provider) work(ctx context.Context, key types.NamespacedName) error {
	var errs []error
	for _, part := range []struct {
		kind      kind
		condition string
		make      func(context.Context, types.NamespacedName, *unstructured.Unstructured) (fields, error)
	}{
		{bedControlPlane, "Available", p.controlPlane},
		{bedCluster, "Ready", p.cluster},
		{bedConfig, "Ready", p.config},
		{bedMachine, "Ready", p.machine},
	} {
		for _, o := range p.objects(part.kind, key) {
			want, err := part.make(ctx, key, o)
			if err != nil {
				want.status = map[string]any{"conditions": conditions(o, part.condition, "False", "Failed", err.Error())}
			} else if want.status != nil {
				want.status["conditions"] = conditions(o, part.condition, "True", part.condition, "")
			}
			errs = append(errs, err, p.write(ctx, part.kind, o, want))
		}
	}
	return errors.Join(errs...)
}

// cluster has nothing to make, and is there when its control plane is: as soon as it is, the
// core connects, and tries once more only after 30 s.
func (p *Provider) cluster(_ context.Context, key types.NamespacedName, _ *unstructured.Unstructured) (fields, error) {
	for _, o := range p.objects(bedControlPlane, key) {
		if initialized, _, err := unstructured.NestedBool(o.Object, "status", "initialization", "controlPlaneInitialized"); err != nil || initialized {
			return fields{status: map[string]any{"initialization": map[string]any{"provisioned": true}}}, err
		}
	}
	return fields{}, nil
}

// controlPlane has an API server as long as its object is there.
func (p *Provider) controlPlane(ctx context.Context, key types.NamespacedName, o *unstructured.Unstructured) (fields, error) {
	if o.GetDeletionTimestamp() != nil {
		if err := p.end(key); err != nil {
			return fields{}, err
		}
		return fields{}, p.finalizers(ctx, o, slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == finalizer }))
	}
	if !slices.Contains(o.GetFinalizers(), finalizer) {
		if err := p.finalizers(ctx, o, append(o.GetFinalizers(), finalizer)); err != nil {
			return fields{}, err
		}
	}
	c, err := p.start(ctx, key)
	if err != nil {
		return fields{}, err
	}
	address := c.front.Addr()
	endpoint, err := endpointOf(address)
	if err != nil {
		return fields{}, err
	}
	kubeconfig, err := os.ReadFile(c.Kubeconfig())
	if err == nil {
		kubeconfig = bytes.ReplaceAll(kubeconfig, []byte(c.URL()), []byte("https://"+address))
		err = p.secret(ctx, o, key.Name+"-kubeconfig", kubeconfig)
	}
	if err != nil {
		return fields{}, err
	}
	version, _, err := unstructured.NestedString(o.Object, "spec", "version")
	return fields{
		spec: map[string]any{"controlPlaneEndpoint": endpoint},
		status: map[string]any{
			"initialization": map[string]any{"controlPlaneInitialized": true},
			"version":        version, "externalManagedControlPlane": true,
		},
	}, err
}

func endpointOf(address string) (map[string]any, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(text, 10, 32)
	return map[string]any{"host": host, "port": port}, err
}

// config has the data with which a machine would begin.
func (p *Provider) config(ctx context.Context, _ types.NamespacedName, o *unstructured.Unstructured) (fields, error) {
	return fields{status: map[string]any{
		"initialization": map[string]any{"dataSecretCreated": true},
		"dataSecretName": o.GetName(),
	}}, p.secret(ctx, o, o.GetName(), []byte("#cloud-config\n"))
}

// secret writes a Secret of Cluster API that goes with its owner.
func (p *Provider) secret(ctx context.Context, owner *unstructured.Unstructured, name string, value []byte) error {
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
		"metadata": map[string]any{
			"name": name, "namespace": owner.GetNamespace(),
			"labels": map[string]any{clusterLabel: owner.GetLabels()[clusterLabel]},
			"ownerReferences": []any{map[string]any{
				"apiVersion": owner.GetAPIVersion(), "kind": owner.GetKind(), "name": owner.GetName(), "uid": string(owner.GetUID()), "controller": true,
			}},
		},
		"data": map[string]any{"value": base64.StdEncoding.EncodeToString(value)},
	}}
	_, err := p.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(owner.GetNamespace()).
		Apply(ctx, name, secret, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}

// conditions are those of an object with one that is as it is to be. The time is when it
// changed.
func conditions(o *unstructured.Unstructured, condition, status, reason, message string) []any {
	have, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	want := map[string]any{"type": condition, "status": status, "reason": reason, "message": message}
	for i, item := range have {
		c, ok := item.(map[string]any)
		if !ok || c["type"] != condition {
			continue
		}
		want["lastTransitionTime"] = c["lastTransitionTime"]
		if c["status"] != status {
			want["lastTransitionTime"] = time.Now().UTC().Format(time.RFC3339)
		}
		have[i] = want
		return have
	}
	want["lastTransitionTime"] = time.Now().UTC().Format(time.RFC3339)
	return append(have, want)
}

// write writes the fields that are not so yet.
func (p *Provider) write(ctx context.Context, k kind, o *unstructured.Unstructured, want fields) error {
	for _, part := range []struct {
		name   string
		fields map[string]any
		below  []string
	}{{"spec", want.spec, nil}, {"status", want.status, []string{"status"}}} {
		have, _, err := unstructured.NestedMap(o.Object, part.name)
		if err != nil {
			return err
		}
		patch := map[string]any{}
		for name, value := range part.fields {
			if !reflect.DeepEqual(have[name], value) {
				patch[name] = value
			}
		}
		if len(patch) == 0 {
			continue
		}
		if err := p.patch(ctx, k, o, map[string]any{part.name: patch}, part.below...); err != nil {
			return err
		}
	}
	return nil
}

// finalizers writes all finalizers of an object, unless it has changed.
func (p *Provider) finalizers(ctx context.Context, o *unstructured.Unstructured, all []string) error {
	return p.patch(ctx, bedControlPlane, o, map[string]any{"metadata": map[string]any{"resourceVersion": o.GetResourceVersion(), "finalizers": all}})
}

func (p *Provider) patch(ctx context.Context, k kind, o *unstructured.Unstructured, patch map[string]any, below ...string) error {
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = p.client.Resource(k.resource()).Namespace(o.GetNamespace()).
		Patch(ctx, o.GetName(), types.MergePatchType, text, metav1.PatchOptions{FieldManager: manager}, below...)
	if apierrors.IsNotFound(err) {
		return nil // it went in between
	}
	return err
}
