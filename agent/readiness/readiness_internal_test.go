package readiness

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/removals"
)

// packed is a record as Helm writes it.
func packed(t testing.TB, text string) []byte {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(zipped.Bytes()))
}

func FuzzRelease(f *testing.F) {
	for _, text := range []string{
		"# Source: a/b.yaml\napiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\n", "---\napiVersion: policy/v1beta1\n---\nkind: List\nitems: [{apiVersion: policy/v1beta1}]",
		"{\"apiVersion\":\"policy/v1beta1\",\"kind\":1}", "a: &a [extensions/v1beta1]\nb: [*a]", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		record, err := json.Marshal(release{Name: "web", Manifest: text, Hooks: []hook{{Path: "a/hook.yaml", Manifest: text}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := unpack(packed(t, string(record)))
		if err != nil {
			t.Fatalf("what was packed is not read: %v", err)
		}
		err = r.each(func(o *manifest.Object, _ string) error {
			if o.Data == nil {
				t.Error("an object without fields")
			}
			return nil
		})
		if err != nil && !errcode.Is(err, errcode.Unprocessable) {
			t.Errorf("a manifest that cannot be read: %v", err)
		}
		// The text as the record itself.
		if _, err := unpack([]byte(text)); err != nil && !errcode.Is(err, errcode.Unprocessable) {
			t.Errorf("a record that cannot be read: %v", err)
		}
	})
}

func TestProgramsOfNodesAreApart(t *testing.T) {
	for _, tc := range []struct{ to, have, want string }{
		{"1.37", "v1.37.0", ""}, {"1.37", "v1.34.0+k3s1", ""}, {"1.37", "v1.33.9", "upgrade it to 1.34 or later first"}, {"1.37", "v1.38.0", "newer than Kubernetes 1.37"},
		// Before 1.25 it was two.
		{"1.27", "v1.24.2", "at most 2 minor versions behind"}, {"1.26", "v1.24.2", ""}, {"1.37", "", ""}, {"1.37", "edge", ""},
	} {
		to, err := removals.Version(tc.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&asked{to: to}).apart("kubelet", tc.have); (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s with %s: %q, want %q", tc.have, tc.to, got, tc.want)
		}
	}
	for of, want := range map[string]string{
		"registry.k8s.io/kube-proxy:v1.36.3": "v1.36.3", "localhost:5000/kube-proxy": "", "localhost:5000/kube-proxy:v1.36.3@sha256:00": "v1.36.3", "kube-proxy@sha256:00": "",
	} {
		if _, got := image(corev1.Container{Image: of}); got != want {
			t.Errorf("the tag of %s is %q", of, got)
		}
	}
}

func TestRequestedVersions(t *testing.T) {
	to, err := removals.Version("1.37")
	if err != nil {
		t.Fatal(err)
	}
	a := &asked{to: to}
	line := `group="storage.k8s.io",removed_release="1.37",resource="volumeattributesclasses",subresource="",version="v1beta1"} 1`
	if f := a.request(line); f.GetKind() != "VolumeAttributesClass" || f.GetRemovedIn() != "1.37" || f.GetReplacement() != "storage.k8s.io/v1/VolumeAttributesClass" {
		t.Errorf("got %v", f)
	}
	for _, kept := range []string{strings.Replace(line, "1.37", "1.38", 1), strings.Replace(line, "1.37", "", 1), "}", ""} {
		if f := a.request(kept); f != nil {
			t.Errorf("%s: %v", kept, f)
		}
	}
}
