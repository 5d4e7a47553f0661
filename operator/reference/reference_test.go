package reference_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/operator/reference"
)

// Marks change with a Secret, and show none of its values.
func TestMarksShowNoValue(t *testing.T) {
	at := types.NamespacedName{Namespace: "a", Name: "s"}
	key := reference.Reference{Kind: reference.Secret, At: at}.Key()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "1"}, Data: map[string][]byte{"token": []byte("not a secret")}}
	marks := reference.Marks{Resolved: reference.Resolved{key: secret}}
	before, err := marks.Secret("a", "s")
	if err != nil || strings.Contains(before["token"], "not a secret") {
		t.Errorf("%q, %v", before, err)
	}
	secret.ResourceVersion = "2"
	if after, err := marks.Secret("a", "s"); err != nil || after["token"] == before["token"] {
		t.Errorf("%q after a change of %q, %v", after, before, err)
	}
}

// A value of a Secret has no last line end, as one that a command line reads from a file; what is
// before it stays.
func TestValuesOfASecretHaveNoLastLineEnd(t *testing.T) {
	at := types.NamespacedName{Namespace: "a", Name: "s"}
	key := reference.Reference{Kind: reference.Secret, At: at}.Key()
	resolved := reference.Resolved{key: &corev1.Secret{Data: map[string][]byte{"token": []byte("hunter2\n"), "dos": []byte("hunter2\r\n"), "text": []byte(" one\ntwo\n\n"), "none": []byte("hunter2")}}}
	got, err := resolved.Secret("a", "s")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"token": "hunter2", "dos": "hunter2", "text": " one\ntwo\n", "none": "hunter2"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}
