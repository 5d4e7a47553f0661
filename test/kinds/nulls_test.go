package kinds

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/sdk/manifest"
)

// unread is a Secret that the files of an example do not have.
var unread = regexp.MustCompile(`Secret ([-a-z]+)/([-a-z]+) is not among the files`)

// nulled is the example of a kind, whose values become null one by one.
type nulled struct {
	*server
	*definition
	t       *testing.T
	object  map[string]any
	secrets string
	tried   int
}

// read is the object as axle apply reads it.
func (n *nulled) read() ([]manifest.Item, error) {
	n.t.Helper()
	text, err := yaml.Marshal(n.object)
	if err != nil {
		n.t.Fatal(err)
	}
	file := filepath.Join(n.t.TempDir(), "object.yaml")
	if err := os.WriteFile(file, []byte(string(text)+n.secrets), 0o600); err != nil {
		n.t.Fatal(err)
	}
	items, err := manifest.Read([]string{file}, nil)
	for i := range items {
		items[i].Where = ""
	}
	return items, err
}

// readable gives the example the Secrets that it names, and reports whether axle apply
// reads it then.
func (n *nulled) readable() bool {
	n.t.Helper()
	for range 3 {
		_, err := n.read()
		if err == nil {
			return true
		}
		secret := unread.FindStringSubmatch(err.Error())
		if secret == nil {
			return false
		}
		n.secrets += fmt.Sprintf("\n---\napiVersion: v1\nkind: Secret\nmetadata: {namespace: %s, name: %s}\nstringData: {username: a, password: b, token: c, secret: d, url: https://e, client-secret: f, clientSecret: g}\n", secret[1], secret[2])
	}
	return false
}

// serves is the spec of the object as the API server has it.
func (n *nulled) serves() (any, error) {
	u := &unstructured.Unstructured{Object: n.object}
	u = u.DeepCopy()
	u.SetNamespace("")
	if !n.cluster() {
		u.SetNamespace(n.namespace)
	}
	have, err := n.resource(n.definition, n.namespace).Create(n.t.Context(), u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: "Strict"})
	if err != nil {
		return nil, err
	}
	return have.Object["spec"], nil
}

// field compares a field that is null with one that is not there.
func (n *nulled) field(at string, of map[string]any, name string) {
	n.t.Helper()
	n.tried++
	had, set := of[name]
	defer func() {
		if delete(of, name); set {
			of[name] = had
		}
	}()
	delete(of, name)
	without, refusesWithout := n.read()
	serves, refuses := n.serves()
	of[name] = nil
	with, refusesWith := n.read()
	nullServes, nullRefuses := n.serves()
	if (refuses == nil) != (nullRefuses == nil) || !cmp.Equal(serves, nullServes) {
		n.t.Errorf("%s: the API server has %v %v, and %v %v with null", at, serves, refuses, nullServes, nullRefuses)
	}
	if (refusesWithout == nil) != (refusesWith == nil) {
		n.t.Errorf("%s: axle apply answers %v, and %v with null", at, refusesWithout, refusesWith)
	}
	if diff := cmp.Diff(without, with, protocmp.Transform()); diff != "" {
		n.t.Errorf("%s: with null, axle apply sends (-without +null):\n%s", at, diff)
	}
}

// element makes an element of a list null, which both refuse.
func (n *nulled) element(at string, list []any) {
	n.t.Helper()
	n.tried++
	had := list[0]
	defer func() { list[0] = had }()
	list[0] = nil
	if _, err := n.serves(); err == nil {
		n.t.Errorf("%s: the API server takes null", at)
	}
	if _, err := n.read(); err == nil {
		n.t.Errorf("%s: axle apply takes null", at)
	}
}

func (n *nulled) walk(at string, value any, s *fieldSchema) {
	n.t.Helper()
	if s == nil || s.Open {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			n.field(at+"."+name, value, name)
			n.walk(at+"."+name, value[name], s.Properties[name])
		}
		if s.AdditionalProperties != nil {
			n.field(at+".nothing", value, "nothing")
		}
	case []any:
		if len(value) > 0 {
			n.element(at+"[0]", value)
			n.walk(at+"[0]", value[0], s.Items)
		}
	}
}

// A null in a manifest is to axle apply what it is to the API server: a field that is not
// there, and no element of a list.
func TestNullsAreReadAsTheAPIServerReadsThem(t *testing.T) {
	s := serve(t)
	tried, kinds := 0, 0
	for _, d := range definitions(t) {
		_, object := example(t, d)
		n := &nulled{server: s, definition: d, t: t, object: object}
		if !n.readable() {
			continue // the operator's, or one that does not act
		}
		t.Run(d.kind(), func(t *testing.T) {
			n.t = t
			n.walk("spec", object["spec"], specOf(d))
		})
		tried, kinds = tried+n.tried, kinds+1
	}
	if tried < 250 || kinds < 15 {
		t.Errorf("only %d nulls of %d kinds", tried, kinds)
	}
}
