package install

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
)

// place is a release in a namespace of a cluster.
type place struct {
	app                     *command.App
	kubeconfig, kubeContext string
	release, namespace      string

	cluster *kubeapply.Applier
}

// target adds the flags that say where.
func (i *place) target(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&i.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default: $KUBECONFIG or ~/.kube/config)")
	flags.StringVar(&i.kubeContext, "kube-context", "", "context in the kubeconfig")
	flags.StringVar(&i.release, "release", "axle", "name of the release of Helm")
	flags.StringVarP(&i.namespace, "namespace", "n", "axle", "namespace of the control plane; it is created")
}

// kubectl begins a command for the cluster of the release.
func (i *place) kubectl() string { return command.Kubectl(i.kubeconfig, i.kubeContext) }

func (i *place) connect() error {
	config, err := command.Kubeconfig(i.kubeconfig, i.kubeContext)
	if err != nil {
		return err
	}
	i.cluster, err = kubeapply.New(config)
	return err
}

// remove deletes an object if it still belongs to the release, and says whether it did.
func (i *place) remove(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	resource, err := i.cluster.Resource(object)
	if err != nil {
		return false, err
	}
	have, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, errcode.New(errcode.Unavailable, "read %s: %w", kubeapply.Name(object), err)
	}
	if !i.owns(have) {
		return false, nil
	}
	policy, uid := metav1.DeletePropagationForeground, have.GetUID()
	err = resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, errcode.New(errcode.Unavailable, "delete %s: %w", kubeapply.Name(object), err)
	}
	return true, nil
}

// owns reports whether an object carries this release's marks.
func (i *place) owns(object *unstructured.Unstructured) bool {
	annotations := object.GetAnnotations()
	return annotations[releaseAnnotation] == i.release && annotations[releaseNSOfRelease] == i.namespace
}

func (i *place) say(format string, args ...any) {
	if !i.app.Quiet {
		fmt.Fprintf(i.app.Err, format+"\n", args...)
	}
}

// secretOf is a Secret of the release's namespace, nil if there is none.
func (i *place) secretOf(ctx context.Context, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	found, err := i.read(ctx, schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, i.namespace, name, &secret)
	if !found {
		return nil, err
	}
	return &secret, err
}

// read reads one object into a type, and reports whether it is there.
func (i *place) read(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, into any) (bool, error) {
	client := i.cluster.Client.Resource(resource)
	var object *unstructured.Unstructured
	var err error
	if namespace == "" {
		object, err = client.Get(ctx, name, metav1.GetOptions{})
	} else {
		object, err = client.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return false, errcode.New(errcode.Forbidden, "read %s %s: %w", resource.Resource, name, err)
	case err != nil:
		return false, errcode.New(errcode.Unavailable, "read %s %s: %w", resource.Resource, name, err)
	}
	return true, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)
}

// fullName is the name of the chart's objects (axle.name in its helpers).
func (i *place) fullName() string {
	name := i.release
	if !strings.Contains(name, "axle") {
		name += "-axle"
	}
	return strings.TrimSuffix(name[:min(len(name), 40)], "-")
}
