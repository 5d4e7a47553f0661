package generated

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/render"
)

// livingCluster answers lookups by "Kind name".
type livingCluster struct {
	objects map[string]string // YAML
	err     error
	asked   []render.LookupKey
}

func (c *livingCluster) Lookup(_ context.Context, key render.LookupKey) ([]byte, error) {
	c.asked = append(c.asked, key)
	text, ok := c.objects[key.Kind+" "+key.Name]
	if c.err != nil || !ok {
		return nil, c.err
	}
	return yaml.YAMLToJSON([]byte(text))
}

// keep puts live values into rendered objects, given as YAML with the pointers
// that are generated, and returns the objects as JSON by "Kind name".
func keep(t *testing.T, c *livingCluster, rendered map[string][]string) map[string]map[string]any {
	t.Helper()
	var results []render.Object
	var objects []*unstructured.Unstructured
	out := map[string]map[string]any{}
	for text, pointers := range rendered {
		encoded, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(encoded); err != nil {
			t.Fatal(err)
		}
		results = append(results, render.Object{JSON: encoded, Volatile: pointers})
		objects = append(objects, object)
		out[object.GetKind()+" "+object.GetName()] = object.Object
	}
	if err := Keep(t.Context(), c, Service{ID: "s1", Namespace: "shop"}, results, objects); err != nil {
		t.Fatal(err)
	}
	return out
}

// value is an object's value at a pointer.
func value(t *testing.T, objects map[string]map[string]any, name, pointer string) any {
	t.Helper()
	v, ok := at(objects[name], pointer)
	if !ok {
		t.Fatalf("%s has nothing at %s: %v", name, pointer, objects[name])
	}
	return v
}

const (
	ownedBy = "  annotations: {axle-cd.github.io/service: s1}\n"
	secretA = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n"
)

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestLiveValuesAreKept(t *testing.T) {
	live := secretA + ownedBy + "data: {password: " + b64("old-password") + ", binary: /w==}\n"
	tests := map[string]struct {
		live, rendered, generated string
		pointer, want             string
	}{
		"data":                    {live, secretA + "data: {password: " + b64("new-password") + "}\n", "/data/password", "/data/password", b64("old-password")},
		"text of a Secret":        {live, secretA + "stringData: {password: new-password}\n", "/stringData/password", "/stringData/password", "old-password"},
		"bytes that are no text":  {live, secretA + "stringData: {binary: new-password}\n", "/stringData/binary", "/stringData/binary", "new-password"},
		"a new key beside":        {live, secretA + "data: {token: " + b64("new-token-1") + "}\n", "/data/token", "/data/token", b64("new-token-1")},
		"nothing is there":        {"", secretA + "data: {password: " + b64("new-password") + "}\n", "/data/password", "/data/password", b64("new-password")},
		"somebody else's, so far": {strings.Replace(live, "s1}", "s2}", 1), secretA + "data: {password: " + b64("new-password") + "}\n", "/data/password", "/data/password", b64("old-password")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &livingCluster{objects: map[string]string{}}
			if test.live != "" {
				c.objects["Secret a"] = test.live
			}
			got := keep(t, c, map[string][]string{test.rendered: {test.generated}})
			if diff := cmp.Diff(any(test.want), value(t, got, "Secret a", test.pointer)); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			if c.asked[0].Namespace != "shop" {
				t.Errorf("asked in the namespace %q", c.asked[0].Namespace)
			}
		})
	}
}

func TestAnUnreadableObjectEndsThePass(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "Secret", "data": map[string]any{"x": "y"}}}
	err := Keep(t.Context(), &livingCluster{err: errors.New("the server is away")}, Service{ID: "s1"}, []render.Object{{Volatile: []string{"/data/x"}}}, []*unstructured.Unstructured{object})
	if err == nil || !strings.Contains(err.Error(), "the server is away") {
		t.Errorf("got %v, want the reason", err)
	}
}

func TestANewObjectGetsTheValueThatIsInUse(t *testing.T) {
	rendered := func() map[string][]string {
		return map[string][]string{
			secretA + "data: {password: " + b64("new-password") + "}\n":                                                                     {"/data/password"},
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: url}\ndata: {url: \"postgres://u:new-password@db\"}\n":                       {"/data/url"},
			"apiVersion: v1\nkind: Secret\nmetadata: {name: dsn}\ndata: {dsn: " + b64("host=db password=new-password") + "}\n":              {"/data/dsn"},
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {same: new-password, coded: " + b64("new-password") + "}\n":    {"/data/same", "/data/coded"},
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {other: another-random-value, fixed: \"keep new-password\"}\n": {"/data/other"},
		}
	}
	live := secretA + ownedBy + "data: {password: " + b64("old-password") + "}\n"
	got := keep(t, &livingCluster{objects: map[string]string{"Secret a": live}}, rendered())
	for at, want := range map[string]string{
		"ConfigMap url /data/url":     "postgres://u:old-password@db",
		"Secret dsn /data/dsn":        b64("host=db password=old-password"),
		"ConfigMap plain /data/same":  "old-password",
		"ConfigMap plain /data/coded": b64("old-password"),
		"ConfigMap other /data/other": "another-random-value",
		"ConfigMap other /data/fixed": "keep new-password",
	} {
		i := strings.LastIndex(at, " ")
		if diff := cmp.Diff(any(want), value(t, got, at[:i], at[i+1:])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", at, diff)
		}
	}

	// What belongs to another service is never written elsewhere.
	foreign := strings.Replace(live, "s1}", "s2}", 1)
	got = keep(t, &livingCluster{objects: map[string]string{"Secret a": foreign}}, rendered())
	encoded, err := json.Marshal(got["ConfigMap url"])
	if err != nil || strings.Contains(string(encoded), "old-password") {
		t.Errorf("another service's value is in %s (%v)", encoded, err)
	}
}

func TestItemsOfAListAreFoundByTheirNames(t *testing.T) {
	webhook := "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata:\n  name: w\n"
	live := webhook + ownedBy + "webhooks:\n- {name: b, clientConfig: {caBundle: b2xkLWNhLWJ1bmRsZQ==}}\n"
	rendered := webhook + "webhooks:\n- {name: a, clientConfig: {caBundle: bmV3LWNhLWJ1bmRsZQ==}}\n- {name: b, clientConfig: {caBundle: bmV3LWNhLWJ1bmRsZQ==}}\n"
	got := keep(t, &livingCluster{objects: map[string]string{"ValidatingWebhookConfiguration w": live}},
		map[string][]string{rendered: {"/webhooks/0/clientConfig/caBundle", "/webhooks/1/clientConfig/caBundle"}})
	for _, pointer := range []string{"/webhooks/0/clientConfig/caBundle", "/webhooks/1/clientConfig/caBundle"} {
		if got := value(t, got, "ValidatingWebhookConfiguration w", pointer); got != "b2xkLWNhLWJ1bmRsZQ==" {
			t.Errorf("%s is %v, want that of the webhook that is there", pointer, got)
		}
	}
}

func TestAnItemKeepsItsOwnValue(t *testing.T) {
	pod := "apiVersion: v1\nkind: PodTemplate\nmetadata:\n  name: p\n"
	live := pod + ownedBy + "env: [{name: second, value: live-second}]\n"
	rendered := pod + "env: [{name: first, value: fresh-first}, {name: second, value: fresh-second}]\n"
	got := keep(t, &livingCluster{objects: map[string]string{"PodTemplate p": live}}, map[string][]string{rendered: {"/env/0/value", "/env/1/value"}})
	for pointer, want := range map[string]string{"/env/0/value": "fresh-first", "/env/1/value": "live-second"} {
		if got := value(t, got, "PodTemplate p", pointer); got != want {
			t.Errorf("%s is %v, want %s", pointer, got, want)
		}
	}
}

// authority makes certificates as charts do.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) (a authority, certPEM string) {
	t.Helper()
	a.key, certPEM, a.cert = issue(t, nil, "ca")
	return a, certPEM
}

func (a authority) sign(t *testing.T, name string) (certPEM, keyPEM string) {
	t.Helper()
	key, certPEM, _ := issue(t, &a, name)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return certPEM, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

func issue(t *testing.T, by *authority, name string) (*ecdsa.PrivateKey, string, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: by == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), cert
}

// TestCertificatesStayTogether renders a CA, a pair of it and a webhook that
// trusts it, with parts of the former ones in the cluster.
func TestCertificatesStayTogether(t *testing.T) {
	type set struct{ ca, cert, key string }
	newSet := func() set {
		a, ca := newAuthority(t)
		cert, key := a.sign(t, "web")
		return set{b64(ca), b64(cert), b64(key)}
	}
	pair := func(s set, more string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: pair\n" + more + "data: {ca.crt: " + s.ca + ", tls.crt: " + s.cert + ", tls.key: " + s.key + "}\n"
	}
	hook := func(s set, more string) string {
		return "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata:\n  name: hook\n" + more + "webhooks: [{name: a, clientConfig: {caBundle: " + s.ca + "}}]\n"
	}
	extra := func(cert, more string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\n" + more + "data: {cert: " + cert + "}\n"
	}
	old, fresh := newSet(), newSet()
	unrelated := newSet()
	tests := map[string]struct {
		live map[string]string
		want set
	}{
		"all are there":      {map[string]string{"Secret pair": pair(old, ownedBy), "MutatingWebhookConfiguration hook": hook(old, ownedBy)}, old},
		"the webhook is new": {map[string]string{"Secret pair": pair(old, ownedBy)}, old},
		"the pair is gone":   {map[string]string{"MutatingWebhookConfiguration hook": hook(old, ownedBy)}, fresh},
		"the key is gone":    {map[string]string{"Secret pair": strings.Replace(pair(old, ownedBy), ", tls.key: "+old.key, "", 1), "MutatingWebhookConfiguration hook": hook(old, ownedBy)}, fresh},
		"nothing is there":   {nil, fresh},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live := map[string]string{"ConfigMap extra": extra(unrelated.ca, ownedBy)}
			for k, v := range test.live {
				live[k] = v
			}
			other := newSet()
			got := keep(t, &livingCluster{objects: live}, map[string][]string{
				pair(fresh, ""):     {"/data/ca.crt", "/data/tls.crt", "/data/tls.key"},
				hook(fresh, ""):     {"/webhooks/0/clientConfig/caBundle"},
				extra(other.ca, ""): {"/data/cert"},
			})
			found := set{value(t, got, "Secret pair", "/data/ca.crt").(string), value(t, got, "Secret pair", "/data/tls.crt").(string), value(t, got, "Secret pair", "/data/tls.key").(string)}
			if found != test.want {
				t.Errorf("the pair is not the one that was wanted: old %v, fresh %v", found == old, found == fresh)
			}
			if ca := value(t, got, "MutatingWebhookConfiguration hook", "/webhooks/0/clientConfig/caBundle"); ca != test.want.ca {
				t.Error("the webhook trusts another CA")
			}
			if got := value(t, got, "ConfigMap extra", "/data/cert"); got != unrelated.ca {
				t.Error("a certificate that has nothing to do with them was renewed")
			}
		})
	}
}

// TestChecksumsFollowWhatTheyAreMadeOf changes a Secret beside a generated password,
// and expects the checksum of the pods to change with it, once.
func TestChecksumsFollowWhatTheyAreMadeOf(t *testing.T) {
	const pointer = "/spec/template/metadata/annotations/checksum~1secret"
	c := &livingCluster{objects: map[string]string{}}
	pass := func(random, sum, more string) string {
		t.Helper()
		got := keep(t, c, map[string][]string{
			secretA + "data: {password: " + b64(random) + more + "}\n":                                                                                  {"/data/password"},
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {metadata: {annotations: {checksum/secret: " + sum + "}}}}\n": {pointer},
		})
		for name, object := range got {
			annotated := &unstructured.Unstructured{Object: object}
			annotated.SetAnnotations(map[string]string{"axle-cd.github.io/service": "s1"})
			encoded, err := json.Marshal(annotated.Object)
			if err != nil {
				t.Fatal(err)
			}
			c.objects[name] = string(encoded)
		}
		return value(t, got, "Deployment d", pointer).(string)
	}
	first := pass("password-1", strings.Repeat("a", 64), "")
	if again := pass("password-2", strings.Repeat("b", 64), ""); again != first {
		t.Errorf("the checksum changed from %s to %s, nothing else did", first, again)
	}
	changed := pass("password-3", strings.Repeat("c", 64), ", more: eHh4")
	if changed == first {
		t.Error("the Secret has another key, and the checksum is the same")
	}
	if again := pass("password-4", strings.Repeat("d", 64), ", more: eHh4"); again != changed {
		t.Error("the checksum changed twice for one change")
	}
	if len(first) != 64 {
		t.Errorf("the checksum is %q, want it as long as the one rendered", first)
	}
}
