package testrun

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/secreterror"
)

// requestLimit is the deadline of every request except for logs.
const requestLimit = 30 * time.Second

// maxPods is how long the list of a test's pods may be, whoever wrote them.
const maxPods = 8 << 20

// client makes the requests that tests need. It can only be made from a permit.
type client struct {
	rest   rest.Interface
	permit tenancy.Permit
}

func newClient(permit tenancy.Permit) (*client, error) {
	cfg, err := permit.REST()
	if err != nil {
		return nil, err
	}
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	cfg.AcceptContentTypes, cfg.ContentType = "application/json", "application/json"
	cfg.GroupVersion, cfg.APIPath = &schema.GroupVersion{}, "/unused"
	cfg.QPS = -1
	// A log stays open; every other request has its own deadline.
	cfg.Timeout = 0
	c, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	return &client{c, permit}, nil
}

// resources are the kinds that a test may consist of, by group and kind.
var resources = map[schema.GroupKind]string{
	{Group: "batch", Kind: "Job"}:                      "jobs",
	{Kind: "Pod"}:                                      "pods",
	{Kind: "ConfigMap"}:                                "configmaps",
	{Kind: "Secret"}:                                   "secrets",
	{Kind: "Service"}:                                  "services",
	{Kind: "ServiceAccount"}:                           "serviceaccounts",
	{Kind: "PersistentVolumeClaim"}:                    "persistentvolumeclaims",
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}: "roles",
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}: "rolebindings",
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:       "networkpolicies",
	{Group: "apps", Kind: "Deployment"}:                       "deployments",
}

// pathOf returns the API path of an object, if it may be there.
func (c *client) pathOf(object *unstructured.Unstructured, namespace string) (string, error) {
	gvk := object.GroupVersionKind()
	resource := resources[gvk.GroupKind()]
	if resource == "" {
		return "", errcode.New(errcode.Invalid, "%s %s is marked as a test: only Jobs, Pods, and the namespaced objects that they need can be tests; remove the annotation", gvk.Kind, object.GetName())
	}
	if object.GetName() == "" {
		return "", errcode.New(errcode.Invalid, "a %s that is marked as a test has no metadata.name", gvk.Kind)
	}
	ref := kubeobj.Ref{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: object.GetName()}
	if err := c.permit.MayWrite(kubeobj.Kind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Resource: resource, Namespaced: true}, ref); err != nil {
		return "", fmt.Errorf("%s, which tests need: %w", ref, err)
	}
	root := "/apis/" + gvk.Group + "/" + gvk.Version
	if gvk.Group == "" {
		root = "/api/" + gvk.Version
	}
	return root + "/namespaces/" + url.PathEscape(namespace) + "/" + resource + "/" + url.PathEscape(object.GetName()), nil
}

// get reads an object; nil without an error if it does not exist.
func (c *client) get(ctx context.Context, path string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	raw, err := c.rest.Get().AbsPath(path).MaxRetries(0).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(raw)
}

// create creates an object that does not exist.
func (c *client) create(ctx context.Context, path string, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	body, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	raw, err := c.rest.Post().AbsPath(path[:strings.LastIndexByte(path, '/')]).Param("fieldManager", kubeobj.FieldManager).
		MaxRetries(0).Body(body).Do(ctx).Raw()
	if err != nil {
		return nil, secreterror.OfKind(object.GroupVersionKind().Group, object.GetKind(), err)
	}
	made := &unstructured.Unstructured{}
	return made, made.UnmarshalJSON(raw)
}

// remove deletes an object and what it owns, if it still has the expected uid.
func (c *client) remove(ctx context.Context, path string, uid types.UID) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	policy := metav1.DeletePropagationBackground
	body, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta: metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}, PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if err != nil {
		return err
	}
	err = c.rest.Delete().AbsPath(path).MaxRetries(0).Body(body).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone, or replaced by another one
	}
	return err
}

// pods returns the pods that a Job created.
func (c *client) pods(ctx context.Context, namespace string, job types.UID) ([]corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	body, err := c.rest.Get().AbsPath("/api/v1/namespaces/"+namespace+"/pods").Param("labelSelector", "controller-uid="+string(job)).
		Param("limit", "50").MaxRetries(0).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var list corev1.PodList
	if err := bounded.ReadJSON(body, &list, maxPods); err != nil {
		return nil, fmt.Errorf("the pods of a test: %w", err)
	}
	return list.Items, nil
}

// log opens a container's log with timestamps, from a time on.
func (c *client) log(ctx context.Context, namespace, pod, container, since string) (io.ReadCloser, error) {
	request := c.rest.Get().AbsPath("/api/v1/namespaces/"+namespace+"/pods/"+pod+"/log").Param("container", container).
		Param("follow", "true").Param("timestamps", "true")
	if since != "" {
		request = request.Param("sinceTime", since)
	}
	return request.MaxRetries(0).Stream(ctx)
}
