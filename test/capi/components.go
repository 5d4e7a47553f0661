package capi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/test/kube"
)

const definition = "CustomResourceDefinition"

// components are the definitions and webhooks of a file, with the address at which the
// webhooks answer and the authority that vouches for it. The rest of the file is of the pod
// that the manager would be, and of cert-manager.
func components(file, webhooks, authority string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all, err := kubeapply.Documents(text)
	if err != nil {
		return nil, err
	}
	var needed []*unstructured.Unstructured
	for _, o := range all {
		switch o.GetKind() {
		case definition:
			err = redirect(o.Object, webhooks, authority, "spec", "conversion", "webhook", "clientConfig")
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			err = redirectAll(o.Object, webhooks, authority)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", kubeapply.Name(o), file, err)
		}
		needed = append(needed, o)
	}
	return needed, nil
}

func redirectAll(object map[string]any, webhooks, authority string) error {
	list, _, err := unstructured.NestedSlice(object, "webhooks")
	if err != nil {
		return err
	}
	for _, webhook := range list {
		fields, ok := webhook.(map[string]any)
		if !ok {
			return errors.New("a webhook is no object")
		}
		if err := redirect(fields, webhooks, authority, "clientConfig"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(object, list, "webhooks")
}

// redirect replaces the Service of a webhook, which no process is behind.
func redirect(object map[string]any, webhooks, authority string, fields ...string) error {
	config, found, err := unstructured.NestedMap(object, fields...)
	if err != nil || !found {
		return err
	}
	path, _, err := unstructured.NestedString(config, "service", "path")
	if err != nil {
		return err
	}
	target := map[string]any{"url": webhooks + path, "caBundle": base64.StdEncoding.EncodeToString([]byte(authority))}
	return unstructured.SetNestedMap(object, target, fields...)
}

// Install applies objects to a management cluster, in order, and returns when all kinds are
// served that are defined there.
func Install(ctx context.Context, management *kube.Cluster, objects []*unstructured.Unstructured) error {
	applier, err := kubeapply.New(management.Config())
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := applier.Apply(ctx, o, "capi"); err != nil {
			return err
		}
	}
	return eventually.Wait(ctx, startLimit, func() error { return established(ctx, applier.Client) })
}

func established(ctx context.Context, client dynamic.Interface) error {
	list, err := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range list.Items {
		if !isTrue(o.Object, "Established") {
			return fmt.Errorf("the kind %s is not served yet", o.GetName())
		}
	}
	return nil
}

// isTrue says whether an object has a condition that is true.
func isTrue(object map[string]any, condition string) bool {
	list, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == condition && c["status"] == "True" {
			return true
		}
	}
	return false
}
