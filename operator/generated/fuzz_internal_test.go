package generated

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzTexts reads any text where a generated object has one of others: the metadata of a
// cluster of the hub, the result of a template as tags, pools and bindings, and what the
// operator noted on a Secret.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{`{"a":{"b":[1]}}`, `{"a":"b"}`, `[{"name":"p","minSize":1}]`, `[{"user":"ann"},null]`, `true`, `null`, `[]`, `{}`, ``, `{"a":1e400}`, `{{ cluster.name }}`, `{"a": {{ cluster.metadata | toJson }} }`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := &syncs{Config: Config{ClusterUID: "u"}, failures: newFailures()}
		sync := &v1alpha1.ClusterSync{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}}
		name := "a"
		sync.Spec.ClusterSpec.Metadata.Name = name
		sync.Spec.ClusterSpec.Spec = &v1alpha1.ClusterTemplateSpec{Handle: &text, Version: &name, Tags: &text, Metadata: &text, Protect: &text, NodePools: &text, Bindings: &v1alpha1.BindingsTemplate{Read: &text, Write: &text}}
		// A template may make 64 KiB of a few bytes, for each of its fields.
		taken.Few(t, 4096+16*len(text), func() {
			for _, metadata := range []string{"", text} {
				_, _ = r.render(t.Context(), sync, &hubv1.Cluster{Id: "c", Name: "n", Metadata: metadata})
			}
			_, _ = isAs([]byte(text), v1alpha1.ClusterSpec{})
			have := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{inputsOf: text, copiesOf: text}}}
			_, _, _ = (&secrets{}).kept(t.Context(), &v1alpha1.GeneratedSecret{}, have, nil)
		})
	})
}
