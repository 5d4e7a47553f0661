package poll

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// keepGenerated puts the live values of an object of this service where a
// template generates another one each time: a password that a chart made stays
// what it was. An object that does not exist, or is somebody else's, gets what
// was rendered.
func (l *Loop) keepGenerated(ctx context.Context, service string, object *unstructured.Unstructured, pointers []string) error {
	if len(pointers) == 0 {
		return nil
	}
	key := render.LookupKey{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
	if key.Namespace == "" {
		key.Namespace = l.namespaceOf(service)
	}
	text, err := l.Cluster.Lookup(ctx, key)
	if err != nil {
		return errcode.New(errcode.Unavailable, "%s %s has generated values, and the live object cannot be read: %w", key.Kind, key.Name, err)
	}
	if len(text) == 0 {
		return nil
	}
	var live map[string]any
	if err := json.Unmarshal(text, &live); err != nil {
		return errcode.New(errcode.Unavailable, "%s %s cannot be read: %w", key.Kind, key.Name, err)
	}
	owner, _, _ := unstructured.NestedString(live, "metadata", "annotations", kubeobj.ServiceAnnotation)
	if owner != service {
		return nil
	}
	for _, p := range pointers {
		if value, ok := at(live, p); ok {
			put(object.Object, p, value)
		}
	}
	return nil
}

func (l *Loop) namespaceOf(service string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.services[service]; s != nil {
		return s.namespace
	}
	return ""
}

// at follows a JSON pointer.
func at(value any, pointer string) (any, bool) {
	for _, step := range steps(pointer) {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(v) {
				return nil, false
			}
			value = v[n]
		default:
			return nil, false
		}
	}
	return value, true
}

// put sets what a JSON pointer names, where the path to it is there.
func put(object map[string]any, pointer string, value any) {
	all := steps(pointer)
	if len(all) == 0 {
		return
	}
	last := all[len(all)-1]
	parent, ok := at(object, pointer[:strings.LastIndex(pointer, "/")])
	if !ok {
		return
	}
	switch p := parent.(type) {
	case map[string]any:
		p[last] = value
	case []any:
		if n, err := strconv.Atoi(last); err == nil && n >= 0 && n < len(p) {
			p[n] = value
		}
	}
}

func steps(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts
}
