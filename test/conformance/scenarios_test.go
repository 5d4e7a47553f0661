package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/axle-cd/axle/internal/eventually"
)

// client is one way into a cluster, and the namespace to work in.
type client struct {
	kubernetes.Interface
	config    *rest.Config
	namespace string
	warnings  *warnings
	said      []string
}

// say records an answer; both ways must give the same records.
func (c *client) say(format string, args ...any) {
	c.said = append(c.said, strings.ReplaceAll(fmt.Sprintf(format, args...), c.namespace, "NAMESPACE"))
}

// fault notes how a call went: the status that the API server gave.
func (c *client) fault(what string, err error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		s := status.Status()
		c.say("%s: %d %s %s", what, s.Code, s.Reason, s.Message)
		return
	}
	c.say("%s: %v", what, err)
}

func (c *client) config1(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": "test"}}, Data: data}
}

type warnings struct{ all []string }

func (w *warnings) HandleWarningHeader(code int, _ string, text string) {
	w.all = append(w.all, fmt.Sprint(code, " ", text))
}

// scenarios are a client's operations on an API server, modelled on the suite's own
// tests. Their answers are compared between the ways.
var scenarios = map[string]func(context.Context, *client) error{
	"the life of an object":          life,
	"a watch from a version on":      watching,
	"a list in chunks":               chunks,
	"server-side apply":              serverSide,
	"the four kinds of patches":      patches,
	"a table":                        table,
	"a new kind and its discovery":   definition,
	"validation and warnings":        validation,
	"many deleted, and a dry run":    collection,
	"protobuf and a large object":    protobuf,
	"an informer":                    informer,
	"answers of paths that are none": paths,
}

func life(ctx context.Context, c *client) error {
	maps := c.CoreV1().ConfigMaps(c.namespace)
	made, err := maps.Create(ctx, c.config1("one", map[string]string{"a": "1"}), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = maps.Create(ctx, c.config1("one", nil), metav1.CreateOptions{})
	c.fault("again", err)
	made.Data["a"] = "2"
	changed, err := maps.Update(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	_, err = maps.Update(ctx, made, metav1.UpdateOptions{})
	c.fault("an old version", err)
	got, err := maps.Get(ctx, "one", metav1.GetOptions{})
	if err != nil {
		return err
	}
	c.say("%v, newer %v", got.Data, got.ResourceVersion == changed.ResourceVersion && got.UID == made.UID)
	wrong := types.UID("wrong")
	err = maps.Delete(ctx, "one", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	c.say("delete another: a conflict %v", apierrors.IsConflict(err)) // the message quotes the object's own UID
	c.fault("delete", maps.Delete(ctx, "one", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &made.UID}}))
	_, err = maps.Get(ctx, "one", metav1.GetOptions{})
	c.fault("get", err)
	return nil
}

func watching(ctx context.Context, c *client) error {
	maps := c.CoreV1().ConfigMaps(c.namespace)
	before, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	watch, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: before.ResourceVersion, FieldSelector: "metadata.name=seen"})
	if err != nil {
		return err
	}
	defer watch.Stop()
	for i := range 3 {
		object := c.config1("seen", map[string]string{"step": fmt.Sprint(i)})
		switch i {
		case 0:
			_, err = maps.Create(ctx, object, metav1.CreateOptions{})
		case 1:
			_, err = maps.Update(ctx, object, metav1.UpdateOptions{})
		case 2:
			err = maps.Delete(ctx, "seen", metav1.DeleteOptions{})
		}
		if err != nil {
			return err
		}
		event, ok := <-watch.ResultChan()
		if !ok {
			return errors.New("the watch ended")
		}
		object, ok = event.Object.(*corev1.ConfigMap)
		if !ok {
			return fmt.Errorf("the watch sent %T", event.Object)
		}
		c.say("%s %s %v", event.Type, object.Name, object.Data)
	}
	_, err = maps.Watch(ctx, metav1.ListOptions{ResourceVersion: "nonsense"})
	c.fault("from nowhere", err)
	return nil
}

func chunks(ctx context.Context, c *client) error {
	maps := c.CoreV1().ConfigMaps(c.namespace)
	for i := range 23 {
		if _, err := maps.Create(ctx, c.config1(fmt.Sprintf("item-%02d", i), nil), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for next := ""; ; {
		page, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "of=test", Limit: 7, Continue: next})
		if err != nil {
			return err
		}
		left := int64(-1)
		if page.RemainingItemCount != nil {
			left = *page.RemainingItemCount
		}
		c.say("%d items from %s, %d left", len(page.Items), page.Items[0].Name, left)
		if next = page.Continue; next == "" {
			break
		}
	}
	_, err := maps.List(ctx, metav1.ListOptions{Limit: 7, Continue: "nonsense"})
	c.fault("a token of nobody", err)
	return nil
}

func serverSide(ctx context.Context, c *client) error {
	deployments := c.AppsV1().Deployments(c.namespace)
	apply := func(manager string, replicas int, force bool) {
		body := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":%d,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:1"}]}}}}`, replicas)
		got, err := deployments.Patch(ctx, "web", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: manager, Force: &force})
		if err != nil {
			c.fault(manager, err)
			return
		}
		var owners []string
		for _, owner := range got.ManagedFields {
			owners = append(owners, owner.Manager+" "+string(owner.Operation))
		}
		slices.Sort(owners)
		c.say("%s: %d replicas, owned by %v", manager, *got.Spec.Replicas, owners)
	}
	apply("first", 1, false)
	apply("second", 2, false)
	apply("second", 2, true)
	apply("first", 2, false)
	return nil
}

func patches(ctx context.Context, c *client) error {
	deployments := c.AppsV1().Deployments(c.namespace)
	labels := map[string]string{"app": "web"}
	_, err := deployments.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	for _, p := range []struct {
		kind types.PatchType
		body string
	}{
		{types.JSONPatchType, `[{"op":"replace","path":"/spec/replicas","value":3}]`},
		{types.JSONPatchType, `[{"op":"test","path":"/spec/replicas","value":9}]`},
		{types.MergePatchType, `{"metadata":{"annotations":{"a":"b"}}}`},
		{types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1"}]}}}}`},
		{"application/nonsense", `{}`},
	} {
		got, err := deployments.Patch(ctx, "web", p.kind, []byte(p.body), metav1.PatchOptions{})
		if err != nil {
			c.fault(string(p.kind), err)
			continue
		}
		c.say("%s: %d replicas, %d containers, %v", p.kind, *got.Spec.Replicas, len(got.Spec.Template.Spec.Containers), got.Annotations)
	}
	scale, err := deployments.GetScale(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.Spec.Replicas = 5
	scale, err = deployments.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{})
	c.say("scaled to %d, %v", scale.Spec.Replicas, err)
	return nil
}

func table(ctx context.Context, c *client) error {
	if _, err := c.CoreV1().ConfigMaps(c.namespace).Create(ctx, c.config1("row", map[string]string{"a": "", "b": ""}), metav1.CreateOptions{}); err != nil {
		return err
	}
	var got metav1.Table
	raw, err := c.CoreV1().RESTClient().Get().Namespace(c.namespace).Resource("configmaps").Name("row").
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").DoRaw(ctx)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return err
	}
	for _, column := range got.ColumnDefinitions {
		c.say("column %s %s", column.Name, column.Type)
	}
	for _, row := range got.Rows {
		c.say("row %v", row.Cells[:2])
	}
	return nil
}

func definition(ctx context.Context, c *client) error {
	all, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return err
	}
	group := c.namespace + ".axle.test"
	crds := all.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	crd := &unstructured.Unstructured{}
	if err := crd.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.%s"},"spec":{"group":%q,"scope":"Namespaced","names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","listKind":"GadgetList"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer","minimum":1}}},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}}`, group, group)); err != nil {
		return err
	}
	if _, err := crds.Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		return err
	}
	gadgets := all.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "gadgets"}).Namespace(c.namespace)
	gadget := func(size int) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1", "kind": "Gadget", "metadata": map[string]any{"name": "g"}, "spec": map[string]any{"size": int64(size)},
		}}
	}
	if err := eventually.Wait(ctx, time.Minute, func() error {
		_, err := gadgets.Create(ctx, gadget(3), metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	_, err = gadgets.Update(ctx, gadget(0), metav1.UpdateOptions{})
	c.fault("too small", err)
	got, err := gadgets.Patch(ctx, "g", types.MergePatchType, []byte(`{"status":{"ready":true}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	c.say("spec %v status %v", got.Object["spec"], got.Object["status"])
	if err := eventually.Wait(ctx, time.Minute, func() error {
		found, err := c.Discovery().ServerResourcesForGroupVersion(group + "/v1")
		if err == nil && len(found.APIResources) != 2 {
			err = fmt.Errorf("%d resources are found", len(found.APIResources))
		}
		return err
	}); err != nil {
		return err
	}
	groups, resources, err := c.Discovery().ServerGroupsAndResources()
	c.say("discovery knows it: %v, %v", slices.ContainsFunc(groups, func(g *metav1.APIGroup) bool { return g.Name == group }) && len(resources) > 10, err)
	c.fault("delete", crds.Delete(ctx, crd.GetName(), metav1.DeleteOptions{}))
	return nil
}

func validation(ctx context.Context, c *client) error {
	body := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"odd"},"data":{"a":"b"},"unknown":1}`)
	for _, mode := range []string{"Strict", "Warn", "Ignore"} {
		err := c.CoreV1().RESTClient().Post().Namespace(c.namespace).Resource("configmaps").
			Param("fieldValidation", mode).Param("dryRun", "All").SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
		c.fault(mode, err)
	}
	_, err := c.CoreV1().ConfigMaps(c.namespace).Create(ctx, c.config1("No_Name!", nil), metav1.CreateOptions{})
	c.fault("a bad name", err)
	_, err = c.CoreV1().ConfigMaps("nowhere-"+c.namespace).Create(ctx, c.config1("a", nil), metav1.CreateOptions{})
	c.fault("no such namespace", err)
	c.say("warnings %q", c.warnings.all)
	return nil
}

func collection(ctx context.Context, c *client) error {
	maps := c.CoreV1().ConfigMaps(c.namespace)
	for i := range 6 {
		object := c.config1(fmt.Sprint("many-", i), nil)
		object.Labels["half"] = fmt.Sprint(i % 2)
		if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	count := func(when string) error {
		list, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "of=test"})
		if err == nil {
			c.say("%s: %d", when, len(list.Items))
		}
		return err
	}
	dry := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	c.fault("a dry run", maps.DeleteCollection(ctx, dry, metav1.ListOptions{LabelSelector: "of=test"}))
	if err := count("after it"); err != nil {
		return err
	}
	c.fault("a half", maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "half in (1)"}))
	return count("after that")
}

func protobuf(ctx context.Context, c *client) error {
	config := rest.CopyConfig(c.config)
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"
	binary, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	large := strings.Repeat("0123456789abcdef", 60<<10) // 960 KiB, near the limit of an object
	maps := binary.CoreV1().ConfigMaps(c.namespace)
	if _, err := maps.Create(ctx, c.config1("large", map[string]string{"all": large}), metav1.CreateOptions{}); err != nil {
		return err
	}
	got, err := maps.Get(ctx, "large", metav1.GetOptions{})
	if err != nil {
		return err
	}
	c.say("it came back whole: %v", got.Data["all"] == large)
	_, err = maps.Create(ctx, c.config1("larger", map[string]string{"all": large + large}), metav1.CreateOptions{})
	c.say("too large is refused: %v", err != nil)
	_, err = maps.Create(ctx, c.config1("huge", map[string]string{"all": strings.Repeat(large, 4)}), metav1.CreateOptions{})
	c.say("far too large: %v %v", apierrors.IsRequestEntityTooLargeError(err), err != nil)
	return nil
}

func informer(ctx context.Context, c *client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace(c.namespace))
	lister := factory.Core().V1().ConfigMaps()
	added := make(chan string, 10)
	if _, err := lister.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		if m := object.(*corev1.ConfigMap); m.Labels["of"] == "test" {
			added <- m.Name
		}
	}}); err != nil {
		return err
	}
	if _, err := c.CoreV1().ConfigMaps(c.namespace).Create(ctx, c.config1("early", nil), metav1.CreateOptions{}); err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	defer cancel()
	for _, name := range []string{"early", "late"} {
		select {
		case got := <-added:
			c.say("the informer saw %s", got)
		case <-ctx.Done():
			return ctx.Err()
		}
		if name == "early" {
			if _, err := c.CoreV1().ConfigMaps(c.namespace).Create(ctx, c.config1("late", nil), metav1.CreateOptions{}); err != nil {
				return err
			}
		}
	}
	got, err := lister.Lister().ConfigMaps(c.namespace).Get("late")
	if err == nil {
		c.say("and has %s", got.Name)
	}
	return err
}

func paths(ctx context.Context, c *client) error {
	for _, path := range []string{"/api/v1/nothing", "/apis/nobody.example/v1/things", "/version", "/healthz/ping", "/openapi/v3", "/api/v1/namespaces/" + c.namespace + "/configmaps/a%20b"} {
		raw, err := c.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(ctx)
		if err != nil {
			c.fault(path, err)
			continue
		}
		if path == "/openapi/v3" {
			raw = raw[:20]
		}
		c.say("%s: %s", path, raw)
	}
	return nil
}
