package operator_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

// data waits until a Secret has values that suit, and returns them.
func (b *bed) data(name, namespace, what string, suits func(map[string][]byte) bool) map[string][]byte {
	b.Helper()
	s := &corev1.Secret{}
	eventually.For(b, limit, "Secret "+namespace+"/"+name+" "+what, func() error {
		if err := b.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: name}, s); err != nil {
			return err
		}
		if !suits(s.Data) {
			return fmt.Errorf("has %q", s.Data)
		}
		return nil
	})
	return s.Data
}

func (b *bed) noSecret(name, namespace string) {
	b.Helper()
	eventually.For(b, limit, "no Secret "+namespace+"/"+name, func() error {
		err := b.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &corev1.Secret{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
}

const generatedSecret = `apiVersion: deployments.plural.sh/v1alpha1
kind: GeneratedSecret
metadata: {name: db, namespace: %[1]s}
spec:
  template:
    password: "{{ 24 | randAlphaNum }}"
    url: "postgres://{{ configuration.user }}@%[2]s/db"
  configurationRef: {name: admin}
  destinations: [{name: db}%[3]s]`

func TestGeneratedSecret(t *testing.T) {
	b := newBed(t)
	b.writable(b.namespace)
	stop := b.operate()
	has := func(key, value string) func(map[string][]byte) bool {
		return func(data map[string][]byte) bool { return string(data[key]) == value }
	}
	b.apply(fmt.Sprintf(generatedSecret, b.namespace, "one", ""))
	g := &v1alpha1.GeneratedSecret{ObjectMeta: meta1("db", b.namespace)}
	b.want(g, "Synchronized", "False", "NotFound", "Secret")
	b.secret("admin", b.namespace, map[string]string{"user": "ann"})
	b.synchronized(g)
	first := b.data("db", b.namespace, "is rendered", has("url", "postgres://ann@one/db"))
	kept := string(first["password"])
	if len(kept) != 24 || g.Status.RenderedTemplateSecretRef.Name != "gs-db" {
		t.Errorf("password %q, status %+v", kept, g.Status)
	}
	b.data("gs-db", b.namespace, "has the same", has("password", kept))

	// Without a change, and after a restart, nothing is written.
	version := func() string {
		s := &corev1.Secret{}
		if err := b.Get(b.Context(), client.ObjectKey{Namespace: b.namespace, Name: "db"}, s); err != nil {
			t.Fatal(err)
		}
		return s.ResourceVersion
	}
	was := version()
	stop()
	calls := b.gate.count()
	stop = b.operate()
	b.touch(g)
	b.apply(fmt.Sprintf(generatedSecret, b.namespace, "two", ""))
	b.synchronized(g)
	b.data("db", b.namespace, "has the new template, and its password", func(data map[string][]byte) bool {
		return string(data["url"]) == "postgres://ann@two/db" && string(data["password"]) == kept
	})
	b.secret("admin", b.namespace, map[string]string{"user": "bob"})
	b.data("db", b.namespace, "has the new configuration, and its password", func(data map[string][]byte) bool {
		return string(data["url"]) == "postgres://bob@two/db" && string(data["password"]) == kept
	})
	if calls != b.gate.count() || was == version() {
		t.Errorf("%d calls of the hub", b.gate.count()-calls)
	}

	// Who deletes or changes one gets it back with the same values, even the first one.
	for _, name := range []string{"db", "gs-db"} {
		if err := b.Delete(b.Context(), &corev1.Secret{ObjectMeta: meta1(name, b.namespace)}); err != nil {
			t.Fatal(err)
		}
		b.data(name, b.namespace, "is back", has("password", kept))
	}

	// The Secret of somebody else is left alone.
	b.secret("theirs", b.namespace, map[string]string{"a": "b"})
	b.apply(fmt.Sprintf(generatedSecret, b.namespace, "two", ", {name: theirs}"))
	b.want(g, "Synchronized", "False", "Error", "was not written for this object")
	b.data("theirs", b.namespace, "is as it was", has("a", "b"))

	// Another namespace needs a grant that names the Secret and has write.
	b.writable(b.foreign)
	b.opened(b.foreign)
	b.apply(fmt.Sprintf(generatedSecret, b.namespace, "two", ", {name: db, namespace: "+b.foreign+"}"))
	b.want(g, "Synchronized", "False", "Error", "write true")
	grant := "apiVersion: axle-cd.github.io/v1alpha1\nkind: ReferenceGrant\nmetadata: {name: allow, namespace: " + b.foreign + "}\n" +
		"spec: {from: [{group: deployments.plural.sh, kind: GeneratedSecret, namespace: " + b.namespace + "}], to: [{group: '', kind: Secret%s}]}"
	b.apply(fmt.Sprintf(grant, ""))
	b.touch(g)
	b.want(g, "Synchronized", "False", "Error", "write true")
	b.apply(fmt.Sprintf(grant, ", name: db, write: true"))
	b.synchronized(g)
	b.data("db", b.foreign, "is written", has("password", kept))

	// A destination that is not declared any more goes.
	b.apply(fmt.Sprintf(generatedSecret, b.namespace, "two", ""))
	b.synchronized(g)
	b.noSecret("db", b.foreign)

	// A template that cannot be rendered changes nothing.
	b.apply(strings.ReplaceAll(fmt.Sprintf(generatedSecret, b.namespace, "three", ""), "24 | randAlphaNum", "(1..2000000000) | join"))
	b.want(g, "Synchronized", "False", "Error", "spec.template.password")
	b.data("db", b.namespace, "is as it was", has("url", "postgres://bob@two/db"))

	// The hub is away, which does not matter.
	b.gate.setDown(true)
	b.deleted(g)
	b.noSecret("db", b.namespace)
	b.noSecret("gs-db", b.namespace)
	b.data("theirs", b.namespace, "is as it was", has("a", "b"))
	b.gate.setDown(false)
	stop()
}

const dearSecret = `apiVersion: deployments.plural.sh/v1alpha1
kind: GeneratedSecret
metadata: {name: dear-%d, namespace: %s}
spec:
  template:
    a: "{%% assign big = 60000 | repeat: 'a' %%}{%% for i in (1..9000) %%}{%% assign x = '(a+a+)+y' | regexMatch: big %%}{%% endfor %%}"`

// TestDearSecretsDelayNobody holds that objects whose templates take more than there is say
// so with the key, and that those of everybody else do not wait for them.
func TestDearSecretsDelayNobody(t *testing.T) {
	b := newBed(t)
	b.writable(b.namespace)
	const dear = 20
	for n := range dear {
		b.apply(fmt.Sprintf(dearSecret, n, b.namespace))
	}
	defer b.operate()()
	b.secret("admin", b.namespace, map[string]string{"user": "ann"})
	b.apply(fmt.Sprintf(generatedSecret, b.namespace, "one", ""))
	b.synchronized(&v1alpha1.GeneratedSecret{ObjectMeta: meta1("db", b.namespace)})
	for n := range dear {
		b.want(&v1alpha1.GeneratedSecret{ObjectMeta: meta1(fmt.Sprintf("dear-%d", n), b.namespace)}, "Synchronized", "False", "Error", "spec.template.a: invalid template: regexMatch: the template takes more than 10000 steps")
	}
}
